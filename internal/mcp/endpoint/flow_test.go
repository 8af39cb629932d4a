package endpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

const serverInfo = `"_meta":{"io.modelcontextprotocol/serverInfo":` +
	`{"name":"mcptasks","title":"Kubernetes jobs as tools","version":"test"}}`

// result sends a good request and returns its raw result.
func (f *fixture) result(t *testing.T, method, name string, params map[string]any) string {
	t.Helper()
	raw, err := f.client(alice).Request(t.Context(), method, name, params)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// call makes alice's call of the tool slow a task.
func (f *fixture) call(t *testing.T) *mcpclient.Task {
	t.Helper()
	call, err := f.client(alice).CallTool(t.Context(), "slow", nil)
	if err != nil {
		t.Fatal(err)
	}
	if call.Task == nil {
		t.Fatalf("no task but %+v", call.Result)
	}
	return call.Task
}

func TestDiscover_S60_T1_T2(t *testing.T) {
	got := newFixture(t).result(t, "server/discover", "", nil)
	for _, want := range []string{
		`"resultType":"complete"`, serverInfo, `"supportedVersions":["2026-07-28","2025-11-25"`, `"cacheScope":"public"`,
		// The extension's settings are exactly {}, or clients see no tasks.
		`"capabilities":{"tools":{"listChanged":true},"extensions":{"io.modelcontextprotocol/tasks":{}}}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
}

// A30: the list is the caller's, in a stable order, and says how long it is good for.
func TestListTools_A30_S80_S81(t *testing.T) {
	f := newFixture(t)
	names := func(token string) (names []string) {
		listed, err := f.client(token).ListTools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range listed {
			names = append(names, tool.Name)
		}
		return names
	}
	if diff := cmp.Diff([]string{"greet", "must", "routed", "short", "slow", "typed"}, names(alice)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"greet", "must", "routed", "secret", "short", "slow", "typed"}, names(mallory)); diff != "" {
		t.Error(diff)
	}
	first := f.result(t, "tools/list", "", nil)
	if !strings.Contains(first, `"ttlMs":30000,"cacheScope":"private"`) || !strings.Contains(first, serverInfo) {
		t.Errorf("got %s", first)
	}
	for range 20 {
		if again := f.result(t, "tools/list", "", nil); again != first {
			t.Fatalf("got %s\nand  %s", first, again)
		}
	}
}

func TestListToolsInPages_S74(t *testing.T) {
	f := newFixture(t)
	const extra = 250
	for i := range extra {
		if err := f.cluster.Live.Create(t.Context(), storetest.Tool("team-a", fmt.Sprintf("tool-%03d", i))); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all tools are listed, once", func() bool {
		listed, err := f.client(alice).ListTools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, tool := range listed {
			seen[tool.Name] = true
		}
		return len(listed) == extra+6 && len(seen) == len(listed)
	})
	var page struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor string            `json:"nextCursor"`
	}
	if err := json.Unmarshal([]byte(f.result(t, "tools/list", "", map[string]any{"cursor": ""})), &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Tools) != 100 || page.NextCursor == "" {
		t.Errorf("the first page has %d tools and cursor %q", len(page.Tools), page.NextCursor)
	}
}

// A26: ids and arguments pass byte for byte.
func TestNothingIsReencoded_A26_S40(t *testing.T) {
	f := newFixture(t)
	arguments := `{ "id": 9007199254740993, "u":18446744073709551615, "z":-0, "d":0.10, "html":"<&>", "e":"\u00e9" }`
	body, header := f.encode(t, "tools/call", "slow", map[string]any{"name": "slow", "arguments": map[string]any{}})
	body = strings.Replace(body, `"arguments":{}`, `"arguments":`+arguments, 1)
	body = strings.Replace(body, `"id":1`, `"id":9007199254740993`, 1)
	id, code, _, _ := f.do(t, http.MethodPost, f.url, body, header).rpc(t)
	if string(id) != "9007199254740993" || code != 0 {
		t.Errorf("got id %s and code %d", id, code)
	}
	if got := f.cluster.Tasks(t, "team-a")[0].Spec.Arguments; got != arguments {
		t.Errorf("got  %s\nwant %s", got, arguments)
	}
}

func TestLifeOfATask_T6_T9_T24_T40_T41(t *testing.T) {
	f := newFixture(t)
	created := f.result(t, "tools/call", "slow", map[string]any{"name": "slow", "task": map[string]any{"ttl": 1}})
	id := f.cluster.Tasks(t, "team-a")[0].Name
	for _, want := range []string{
		`"resultType":"task"`, serverInfo, `"taskId":"` + id + `"`, `"status":"working"`, `"pollIntervalMs":2000`, `"ttlMs":`,
	} {
		if !strings.Contains(created, want) {
			t.Errorf("%s is not in %s", want, created)
		}
	}
	for _, not := range []string{`"result"`, `"error"`, `"inputRequests"`, `"task":`, `"content"`, `"requestState"`} {
		if strings.Contains(created, not) {
			t.Errorf("%s is in %s", not, created)
		}
	}
	task := f.cluster.Task(t, "team-a", id)
	if want := (v1alpha1.Owner{Issuer: "kubernetes", Subject: alice}); task.Spec.Owner != want {
		t.Errorf("got owner %+v", task.Spec.Owner)
	}

	f.cluster.SetStatus(t, "team-a", id, storetest.Completed(
		`{"resultType":"complete","content":[{"type":"text","text":"<done>"}],"structuredContent":{"n":9007199254740993}}`))
	c := f.client(alice)
	got, err := c.Wait(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != "completed" || got.Result.Text() != "<done>" {
		t.Errorf("got %+v", got)
	}
	if structured := string(got.Result.StructuredContent); structured != `{"n":9007199254740993}` {
		t.Errorf("got structured content %s", structured)
	}
	// A15: as often as one likes, the same bytes.
	first := f.result(t, "tasks/get", id, map[string]any{"taskId": id})
	if again := f.result(t, "tasks/get", id, map[string]any{"taskId": id}); again != first {
		t.Errorf("got %s\nand  %s", first, again)
	}
	// A09: a cancel that comes too late is acknowledged and changes nothing.
	acknowledged := f.result(t, "tasks/cancel", id, map[string]any{"taskId": id})
	if want := `{"resultType":"complete",` + serverInfo + `}`; acknowledged != want {
		t.Errorf("got  %s\nwant %s", acknowledged, want)
	}
	if f.cluster.Task(t, "team-a", id).Spec.Cancel != nil {
		t.Error("a finished task was cancelled")
	}
}

// A02: failed goes with an error, and a tool that went wrong is completed.
func TestFailedTask_A02_T25(t *testing.T) {
	f := newFixture(t)
	id := f.call(t).TaskID
	f.cluster.SetStatus(t, "team-a", id, func(s *v1alpha1.MCPTaskStatus) {
		s.State, s.Message = v1alpha1.StateFailed, "The image could not be pulled."
		s.Error = &v1alpha1.TaskError{Code: -32603, Message: "The image could not be pulled.", Data: `{"reason":"ImagePullFailed"}`}
	})
	got, err := f.client(alice).Wait(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != "failed" || got.Result != nil || got.Error.Code != -32603 {
		t.Errorf("got %+v", got)
	}
	if data := string(got.Error.Data); data != `{"reason":"ImagePullFailed"}` {
		t.Errorf("got data %s", data)
	}
}

// A12, A02: two questions, answered one after the other.
func TestQuestions_A02_A12_T32_T33(t *testing.T) {
	f := newFixture(t)
	c := f.client(alice)
	id := f.call(t).TaskID
	f.cluster.SetStatus(t, "team-a", id, storetest.Asks("a", "b"))
	open := func() string {
		task, err := c.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		keys := ""
		for _, key := range []string{"a", "b"} {
			if request, ok := task.InputRequests[key]; ok {
				keys += key
				if !strings.Contains(string(request), `"method":"elicitation/create"`) {
					t.Errorf("got %s", request)
				}
			}
		}
		return task.Status + " " + keys
	}
	eventually(t, "the questions are seen", func() bool { return open() == "input_required ab" })

	err := c.Update(t.Context(), id, map[string]any{"a": mcpclient.Accept(map[string]any{"confirm": "x"})})
	if e := (*mcpclient.Error)(nil); !errors.As(err, &e) || e.Code != -32602 || !strings.Contains(e.Message, "confirm") {
		t.Errorf("an answer that does not fit: %v", err)
	}
	if got := open(); got != "input_required ab" {
		t.Errorf("after a bad answer: %s", got)
	}
	for _, step := range []struct{ key, then string }{{"a", "input_required b"}, {"zzz", "input_required b"}, {"b", "working "}} {
		answer := map[string]any{step.key: mcpclient.Accept(map[string]any{"confirm": true, "name": "x"})}
		if err := c.Update(t.Context(), id, answer); err != nil {
			t.Fatal(err)
		}
		if got := open(); got != step.then { // read-your-writes, with nobody else at work
			t.Errorf("after the answer to %s: %q, want %q", step.key, got, step.then)
		}
	}
}

// A08: somebody else's task is no task, byte for byte.
func TestForeignTask_A08_T62(t *testing.T) {
	f := newFixture(t)
	id := f.call(t).TaskID
	const unknown = "t-aaaaaaaaaaaaaaaaaaaaaaaaaa"
	for _, stranger := range []string{bob, mallory} {
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			answer := func(id string) reply {
				body, header, err := f.client(stranger).Encode(method, id, map[string]any{"taskId": id, "inputResponses": map[string]any{}})
				if err != nil {
					t.Fatal(err)
				}
				return f.do(t, http.MethodPost, f.url, string(body), header)
			}
			foreign, none := answer(id), answer(unknown)
			foreign.header.Del("Date")
			none.header.Del("Date")
			if diff := cmp.Diff(none, foreign, cmp.AllowUnexported(reply{})); diff != "" {
				t.Errorf("%s by %s: %s", method, stranger, diff)
			}
			if foreign.status != http.StatusBadRequest {
				t.Errorf("got HTTP %d", foreign.status)
			}
		}
	}
	if f.cluster.Task(t, "team-a", id).Spec.Cancel != nil {
		t.Error("a stranger cancelled the task")
	}
}

// A06, A07: any replica serves any task, at once.
func TestTwoReplicas_A06_A07_T10(t *testing.T) {
	a := newFixture(t)
	b := newReplica(t, a.cluster)
	a.cluster.Hold()
	for range 50 {
		id := a.call(t).TaskID
		if _, err := b.client(alice).Get(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if err := b.client(alice).Cancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBadArgumentsCreateNothing_S87_S88(t *testing.T) {
	f := newFixture(t)
	for arguments, want := range map[string]string{
		`{}`:                      "name",
		`{"name":7}`:              "name",
		`{"name":"a","name":"b"}`: "name",
		`{"name":"` + strings.Repeat("x", 200_000) + `"}`: "131072 bytes",
	} {
		call, err := f.client(alice).CallTool(t.Context(), "greet", json.RawMessage(arguments))
		if err != nil {
			t.Fatal(err)
		}
		if call.Result == nil || !call.Result.IsError || call.Result.ResultType != "complete" {
			t.Fatalf("%.40s: got %+v", arguments, call)
		}
		if text := call.Result.Text(); !strings.Contains(text, want) || len(text) > 1000 {
			t.Errorf("%.40s: %q", arguments, text)
		}
	}
	if n := len(f.cluster.Tasks(t, "team-a")); n != 0 {
		t.Errorf("%d tasks were created", n)
	}
}

func TestToolThatIsNotReadySaysWhy(t *testing.T) {
	_, err := newFixture(t).client(alice).CallTool(t.Context(), "broken", nil)
	if e := (*mcpclient.Error)(nil); !errors.As(err, &e) || !strings.Contains(e.Message, "The template has no container.") {
		t.Errorf("got %v", err)
	}
}

func TestFullQuota(t *testing.T) {
	f := newFixture(t)
	f.cluster.Refuse = func(client.Object) error { return errQuota }
	_, err := f.client(alice).CallTool(t.Context(), "slow", nil)
	e := (*mcpclient.Error)(nil)
	if !errors.As(err, &e) || e.Code != -32603 || !strings.Contains(e.Message, "quota") {
		t.Fatalf("got %v", err)
	}
	if data := string(e.Data); data != `{"reason":"QuotaExceeded"}` {
		t.Errorf("got data %s", data)
	}
}

func TestTroubleIsLoggedAndNotTold(t *testing.T) {
	f := newFixture(t)
	f.cluster.Refuse = func(client.Object) error { return errors.New("etcd on 10.0.0.7 is on fire") }
	_, err := f.client(alice).CallTool(t.Context(), "slow", nil)
	e := (*mcpclient.Error)(nil)
	if !errors.As(err, &e) || e.Code != -32603 || strings.Contains(e.Message, "etcd") {
		t.Errorf("the client is told %v", err)
	}
	if !strings.Contains(f.log.String(), "etcd on 10.0.0.7 is on fire") {
		t.Error("the log does not say what was wrong")
	}
}

func TestMetrics(t *testing.T) {
	f := newFixture(t)
	f.call(t)
	_, _ = f.client(alice).Get(t.Context(), "t-aaaaaaaaaaaaaaaaaaaaaaaaaa")
	_, _ = f.client("stolen").Get(t.Context(), "x")
	eventually(t, "the requests are counted", func() bool {
		counts := map[string]float64{}
		families, err := f.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, metric := range family.Metric {
				name := family.GetName()
				for _, label := range metric.Label {
					name += " " + label.GetValue()
				}
				counts[name] = metric.GetCounter().GetValue()
			}
		}
		const total = "mcptasks_endpoint_requests_total "
		return counts[total+"0 tools/call 200"] == 1 && counts[total+"-32602 tasks/get 400"] == 1 && counts[total+"-32600  401"] == 1
	})
}

// The process survives what a request makes panic.
func TestPanic(t *testing.T) {
	f := newFixture(t)
	f.cluster.Refuse = func(client.Object) error { panic("boom in 10.0.0.7") }
	body, header := f.encode(t, "tools/call", "slow", map[string]any{"name": "slow"})
	got := f.do(t, http.MethodPost, f.url, body, header)
	if got.status != http.StatusInternalServerError || strings.Contains(got.body, "boom") {
		t.Errorf("got HTTP %d: %s", got.status, got.body)
	}
	if !strings.Contains(f.log.String(), "boom in 10.0.0.7") {
		t.Error("the log does not say what happened")
	}
	header.Del("Mcp-Method")
	header.Set("MCP-Protocol-Version", "2025-11-25")
	legacy := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`
	got = f.do(t, http.MethodPost, f.url, legacy, header)
	if strings.Contains(got.body, "boom") || !strings.Contains(got.body, "-32603") {
		t.Errorf("legacy: %s", got.body)
	}
	f.cluster.Refuse = nil
	f.call(t)
}

// A06: nothing is left behind by requests.
func TestNoGoroutineIsLeftBehind_A06(t *testing.T) {
	f := newFixture(t)
	id := f.call(t).TaskID
	legacy := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	header := http.Header{
		"Content-Type": {"application/json"}, "Authorization": {"Bearer " + alice}, "Mcp-Protocol-Version": {"2025-06-18"},
	}
	load := func(n int) {
		for range n {
			if _, err := f.client(alice).Get(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			f.do(t, http.MethodPost, f.url, legacy, header)
		}
	}
	load(10)
	before := runtime.NumGoroutine()
	load(500)
	eventually(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before+5 })
}

func TestBodyOfUnknownLength(t *testing.T) {
	f := newFixture(t)
	body, header := f.encode(t, "server/discover", "", nil)
	for size, want := range map[int]int{len(body): 200, 2 << 20: 413} {
		reader := io.MultiReader(strings.NewReader(body), strings.NewReader(strings.Repeat(" ", size-len(body))))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url, reader)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = header
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%d bytes: HTTP %d", size, response.StatusCode)
		}
	}
}

// A21: hanging up after the answer does not touch the task.
func TestHangingUpAfterTheAnswer_A21_T43(t *testing.T) {
	f := newFixture(t)
	ctx, hangUp := context.WithCancel(t.Context())
	call, err := f.client(alice).CallTool(ctx, "slow", nil)
	if err != nil {
		t.Fatal(err)
	}
	hangUp()
	f.result(t, "server/discover", "", nil)
	if f.cluster.Task(t, "team-a", call.Task.TaskID).Spec.Cancel != nil {
		t.Error("the task was cancelled")
	}
}

func TestWaitHonoursThePollInterval(t *testing.T) {
	f := newFixture(t)
	id := f.call(t).TaskID
	begin := time.Now()
	polls := 0
	_, err := f.client(alice).WaitFor(t.Context(), id, func(*mcpclient.Task) bool { polls++; return polls == 2 }, nil)
	if took := time.Since(begin); err != nil || took < 2*time.Second {
		t.Errorf("two polls took %s, %v", took, err)
	}
}
