package listen_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/mcptasks/mcptasks/internal/mcp/listen"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

// patience is how long a test waits for what must happen soon.
const patience = 30 * time.Second

// protocols are what a stream is served over.
var protocols = map[string]func(*http.Protocols){
	"HTTP/1.1": func(p *http.Protocols) { p.SetHTTP1(true) },
	"h2c":      func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
}

// asked is the body of a test's request: what the front would have found out about it.
type asked struct {
	ID            json.RawMessage `json:"id"`
	Notifications json.RawMessage `json:"notifications,omitempty"`
	WithoutTasks  bool            `json:"withoutTasks"`
}

func (a asked) encode(t testing.TB) []byte {
	t.Helper()
	body, err := wire.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// endpoint is a real HTTP server with nothing but a listen.Service on it. All its callers are the one at the door.
type endpoint struct {
	*httptest.Server
	records *records
	toolbox *toolbox
	door    *door
	clock   *testingclock.FakeClock
	drain   context.CancelFunc
	metrics *prometheus.Registry
	ended   chan struct{} // one value for each handler that has returned
	client  *http.Client
}

type endpointOptions struct {
	protocol     func(*http.Protocols) // default: HTTP/1.1
	writeTimeout time.Duration
	perCaller    int // streams; 0: any number
	total        int // streams; 0: any number
	configure    func(*http.Server)
}

func newEndpoint(t testing.TB, options endpointOptions) *endpoint {
	t.Helper()
	draining, drain := context.WithCancel(context.Background())
	e := &endpoint{
		records: newRecords(),
		toolbox: newToolbox(),
		door:    &door{caller: alice},
		clock:   testingclock.NewFakeClock(epoch),
		drain:   drain,
		metrics: prometheus.NewRegistry(),
		ended:   make(chan struct{}, 10_000),
	}
	logger := logr.Discard()
	if test, ok := t.(*testing.T); ok {
		logger = testr.New(test)
	}
	service, err := listen.New(draining, listen.Config{
		Tasks:         e.records,
		Tools:         e.toolbox,
		Authenticator: e.door,
		Server:        wire.Server{Name: "test", Version: "1"},
		Clock:         e.clock,
		WriteTimeout:  options.writeTimeout,
		PerCaller:     options.perCaller,
		Total:         options.total,
		Registerer:    e.metrics,
		Logger:        logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	e.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { e.ended <- struct{}{} }()
		var request asked
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Errorf("decode the request: %v", err)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		caller, _ := e.door.Authenticate(r)
		err := service.Serve(w, r, listen.Request{
			ID: request.ID, Notifications: request.Notifications, Tasks: !request.WithoutTasks, Caller: caller,
		})
		if refused := (*wire.Error)(nil); errors.As(err, &refused) {
			wire.WriteError(w, refused.HTTPStatus(), request.ID, refused)
		} else if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	protocol := options.protocol
	if protocol == nil {
		protocol = protocols["HTTP/1.1"]
	}
	e.Config.Protocols = new(http.Protocols)
	protocol(e.Config.Protocols)
	if options.configure != nil {
		options.configure(e.Config)
	}
	e.Start()
	transport := &http.Transport{Protocols: e.Config.Protocols}
	e.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		drain()
		transport.CloseIdleConnections()
		e.Close()
	})
	return e
}

// post sends a request and returns a reader of the response, whatever it is.
func (e *endpoint) post(t testing.TB, request asked) *reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(request.encode(t)))
	if err != nil {
		t.Fatal(err)
	}
	response, err := e.client.Do(post)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return &reader{response: response, lines: bufio.NewReader(response.Body)}
}

// open sends a request with the filter and returns the stream with its acknowledgement read.
func (e *endpoint) open(t testing.TB, filter string) *reader {
	t.Helper()
	stream := e.post(t, asked{ID: json.RawMessage("7"), Notifications: json.RawMessage(filter)})
	if stream.response.StatusCode != http.StatusOK {
		t.Fatalf("HTTP %s instead of a stream", stream.response.Status)
	}
	if first := stream.next(t); first.Method != "notifications/subscriptions/acknowledged" {
		t.Fatalf("the stream begins with %s", first.raw)
	}
	return stream
}

// waitEnded waits until a handler has returned.
func (e *endpoint) waitEnded(t testing.TB) {
	t.Helper()
	select {
	case <-e.ended:
	case <-time.After(patience):
		t.Fatal("the stream has not ended")
	}
}

// endings returns how many streams ended for the reason.
func (e *endpoint) endings(t testing.TB, reason string) float64 {
	t.Helper()
	families, err := e.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if family.GetName() == "mcptasks_endpoint_listen_ended_total" && label.GetValue() == reason {
					return metric.GetCounter().GetValue()
				}
			}
		}
	}
	t.Fatalf("no metric for streams that ended for the reason %q", reason)
	return 0
}

// reader reads a stream.
type reader struct {
	response *http.Response
	lines    *bufio.Reader
}

// received is a JSON-RPC message.
type received struct {
	raw    []byte
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
}

// subscriptionID is the id in the message's _meta, as it is on the wire.
func (m received) subscriptionID(t testing.TB) string {
	t.Helper()
	var body struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	raw := m.Params
	if m.Method == "" {
		raw = m.Result
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatal(err)
	}
	return string(body.Meta["io.modelcontextprotocol/subscriptionId"])
}

// task is what clients look at in a notification.
type task struct {
	TaskID        string `json:"taskId"`
	Status        string `json:"status"`
	StatusMessage string `json:"statusMessage"`
}

func (m received) task(t testing.TB) task {
	t.Helper()
	var seen task
	if m.Method != "notifications/tasks" {
		t.Fatalf("not a task: %s", m.raw)
	}
	if err := json.Unmarshal(m.Params, &seen); err != nil {
		t.Fatal(err)
	}
	return seen
}

// read returns the next message, or an empty one for a comment.
func (r *reader) read() (received, error) {
	for {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			return received{}, err
		}
		if strings.HasPrefix(line, ":") {
			return received{}, nil
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			message := received{raw: []byte(data)}
			return message, json.Unmarshal(message.raw, &message)
		}
	}
}

// next returns the next message.
func (r *reader) next(t testing.TB) received {
	t.Helper()
	for {
		message, err := r.read()
		if err != nil {
			t.Fatalf("the stream broke: %v", err)
		}
		if message.raw != nil {
			return message
		}
	}
}

// expect reads the next message, which must be about the task and say the message.
func (r *reader) expect(t testing.TB, id, message string) received {
	t.Helper()
	got := r.next(t)
	if seen := got.task(t); seen.TaskID != id || seen.StatusMessage != message {
		t.Fatalf("got %s; want task %s with the message %q", got.raw, id, message)
	}
	return got
}

// comment reads the next comment, before which there must be no message.
func (r *reader) comment(t testing.TB) {
	t.Helper()
	message, err := r.read()
	if err != nil || message.raw != nil {
		t.Fatalf("got %s, %v; want a comment", message.raw, err)
	}
}

// end reads the result and the end of the stream.
func (r *reader) end(t testing.TB) received {
	t.Helper()
	last := r.next(t)
	if last.Method != "" || last.Result == nil {
		t.Fatalf("the stream ends with %s instead of a result", last.raw)
	}
	if rest, err := io.ReadAll(r.lines); err != nil || strings.TrimSpace(string(rest)) != "" {
		t.Fatalf("%q, %v after the result", rest, err)
	}
	return last
}

// accepted is what a new task says.
const accepted = "Accepted; waiting to be started."

// waitFor polls until something is so that nobody tells of.
func waitFor(t testing.TB, what string, so func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if wait.PollUntilContextCancel(ctx, time.Millisecond, true, func(context.Context) (bool, error) { return so(), nil }) != nil {
		t.Fatalf("waited for %s", what)
	}
}

// filterOf is a filter with these tasks.
func filterOf(ids ...string) string {
	filter, err := json.Marshal(map[string]any{"taskIds": ids})
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(filter)
}
