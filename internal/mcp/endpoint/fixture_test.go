package endpoint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/mcp/endpoint"
	"github.com/mcptasks/mcptasks/internal/store"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// Callers. A token is its service account's name; the API server of these tests believes it.
const (
	alice   = "system:serviceaccount:team-a:alice"
	bob     = "system:serviceaccount:team-a:bob"
	mallory = "system:serviceaccount:team-b:mallory"
)

// fixture is an endpoint with its whole chain of handlers behind a real HTTP server, on an API server in memory.
type fixture struct {
	cluster  *storetest.Cluster
	url      string
	drain    context.CancelFunc
	registry *prometheus.Registry
	log      *logBuffer
	logs     *podLogs
}

// textResult is a CallToolResult with one text.
func textResult(text string) string {
	return `{"resultType":"complete","content":[{"type":"text","text":"` + text + `"}]}`
}

func blockFor(d time.Duration) func(*v1alpha1.MCPTool) {
	return func(t *v1alpha1.MCPTool) { t.Spec.Execution.BlockFor = metav1.Duration{Duration: d} }
}

// tools of the catalog. The suite's http-header-validation calls the first one, so that must not require tasks.
func tools() []client.Object {
	const empty = `{"type":"object"}`
	return []client.Object{
		storetest.Namespace("team-a", "a"), storetest.Namespace("team-b", "b"), storetest.Namespace("mcptasks", "platform"),
		storetest.Tool("mcptasks", "greet", storetest.WithMode(v1alpha1.ModeForbidden), storetest.WithInput(
			`{"type":"object","required":["name"],"properties":{"name":{"type":"string","maxLength":20}}}`)),
		storetest.Tool("mcptasks", "slow", storetest.WithInput(empty)),
		storetest.Tool("mcptasks", "short", storetest.WithInput(empty), blockFor(time.Second)),
		storetest.Tool("mcptasks", "typed", storetest.WithInput(empty), blockFor(time.Second), func(t *v1alpha1.MCPTool) {
			t.Spec.OutputSchema = t.Spec.InputSchema
		}),
		storetest.Tool("mcptasks", "must", storetest.WithMode(v1alpha1.ModeRequired), storetest.WithInput(empty)),
		storetest.Tool("mcptasks", "broken", storetest.NotReady(v1alpha1.ToolReasonInvalidTemplate, "The template has no container.")),
		storetest.Tool("mcptasks", "routed", storetest.WithInput(
			`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)),
		storetest.Tool("team-b", "secret", storetest.WithInput(empty)),
	}
}

func newFixture(t *testing.T, edit ...func(*endpoint.Options)) *fixture {
	t.Helper()
	cluster := storetest.New(t, tools()...)
	return newReplica(t, cluster, edit...)
}

// newReplica starts one more endpoint on the cluster.
func newReplica(t *testing.T, cluster *storetest.Cluster, edit ...func(*endpoint.Options)) *fixture {
	t.Helper()
	return newReplicaAt(t, cluster, clock.RealClock{}, edit...)
}

// newReplicaAt is newReplica with another idea of the time.
func newReplicaAt(
	t *testing.T, cluster *storetest.Cluster, now clock.WithTickerAndDelayedExecution, edit ...func(*endpoint.Options),
) *fixture {
	t.Helper()
	options := endpoint.Options{CatalogNamespace: "mcptasks", Audience: "mcptasks", Version: "test"}
	for _, e := range edit {
		e(&options)
	}
	cluster.Review = believe
	health := store.NewHealth(now)
	informers := cluster.NewCache(t, func(source toolscache.ListerWatcher, object runtime.Object) toolscache.SharedIndexInformer {
		return health.NewInformer(source, object, 0, toolscache.Indexers{})
	}, store.CacheOptions().Transform)
	draining, drain := context.WithCancel(t.Context())
	f := &fixture{cluster: cluster, drain: drain, registry: prometheus.NewRegistry(), log: &logBuffer{}, logs: &podLogs{}}
	handler, err := endpoint.NewHandler(draining,
		endpoint.Cluster{Client: cluster.Live, Live: cluster.Live, Cache: informers, Health: health, Clock: now, Logs: f.logs},
		options, f.registry, f.log.logger())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(drain) // before Close, which waits for what is in flight
	f.url = server.URL + endpoint.Path
	return f
}

func believe(review *authenticationv1.TokenReview) error {
	if review.Spec.Token == "unavailable" {
		return errors.New("connection refused")
	}
	review.Status = authenticationv1.TokenReviewStatus{
		Authenticated: strings.HasPrefix(review.Spec.Token, "system:"),
		Audiences:     review.Spec.Audiences,
		User:          authenticationv1.UserInfo{Username: review.Spec.Token},
	}
	return nil
}

func (f *fixture) client(token string, edit ...func(*mcpclient.Client)) *mcpclient.Client {
	c := &mcpclient.Client{URL: f.url, Token: token}
	for _, e := range edit {
		e(c)
	}
	return c
}

// play plays the controller: for each task of team-a that appears, act is called once.
func (f *fixture) play(t *testing.T, act func(id string)) {
	t.Helper()
	watch, err := f.cluster.Watch(t.Context(), &v1alpha1.MCPTaskList{})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	t.Cleanup(func() { watch.Stop(); group.Wait() })
	group.Go(func() {
		seen := map[string]bool{}
		for event := range watch.ResultChan() {
			if task, ok := event.Object.(*v1alpha1.MCPTask); ok && !seen[task.Name] {
				seen[task.Name] = true
				act(task.Name)
			}
		}
	})
}

// reply is an HTTP answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

// rpc decodes the JSON-RPC message of a reply.
func (r reply) rpc(t *testing.T) (id json.RawMessage, code int, message string, data json.RawMessage) {
	t.Helper()
	var m struct {
		ID    json.RawMessage `json:"id"`
		Error struct {
			Code    int             `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		} `json:"error"`
	}
	if got := r.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q with %s", got, r.body)
	}
	if err := json.Unmarshal([]byte(r.body), &m); err != nil {
		t.Fatalf("no JSON: %q", r.body)
	}
	return m.ID, m.Error.Code, m.Error.Message, m.Error.Data
}

// do sends one HTTP request as it is.
func (f *fixture) do(t *testing.T, method, url, body string, header http.Header) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	if host := header.Get("Host"); host != "" {
		request.Host = host
		header.Del("Host")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(read)}
}

// encode returns a good request to be spoiled.
func (f *fixture) encode(t *testing.T, method, name string, params map[string]any) (string, http.Header) {
	t.Helper()
	body, header, err := f.client(alice).Encode(method, name, params)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), header
}

// logBuffer is a log that tests can look into.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) logger() logr.Logger {
	return funcr.New(func(prefix, args string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.buf.WriteString(prefix + args + "\n")
	}, funcr.Options{})
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}

// errQuota is what the API server says when a quota of tasks is full.
var errQuota = apierrors.NewForbidden(schema.GroupResource{Group: v1alpha1.Group, Resource: "mcptasks"}, "t-1",
	errors.New("exceeded quota: tasks, requested: count/mcptasks.mcptasks.dev=1, used: 5, limited: 5"))
