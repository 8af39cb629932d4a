package endpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mcptasks/mcptasks/internal/mcp/endpoint"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

func withKeys(o *endpoint.Options) { o.NameKey = []byte("shared by all replicas") }

func withKey(key any) func(*mcpclient.Client) {
	return func(c *mcpclient.Client) { c.Meta = map[string]any{"mcptasks.dev/idempotency-key": key} }
}

// A20: parallel calls with one key over three replicas get the same task, callers that have to wait included.
func TestOneKeyOneTask_A20(t *testing.T) {
	f := newFixture(t, withKeys)
	replicas := []*fixture{f, newReplica(t, f.cluster, withKeys), newReplica(t, f.cluster, withKeys)}
	f.play(t, func(id string) {
		f.cluster.SetStatus(t, "team-a", id, storetest.Completed(textResult("once")))
	})
	tasks, texts := make([]string, 30), make([]string, 30)
	var group sync.WaitGroup
	for i := range tasks {
		group.Go(func() {
			replica := replicas[i%len(replicas)]
			call, err := replica.client(alice, withKey("k")).CallTool(t.Context(), "slow", json.RawMessage(`{"a":1,"b":2}`))
			if err != nil {
				t.Error(err)
				return
			}
			tasks[i] = call.Task.TaskID
			call, err = replica.client(alice, withKey("k"), withoutTasks).CallTool(t.Context(), "slow", json.RawMessage(`{"b":2, "a":1}`))
			if err != nil {
				t.Error(err)
				return
			}
			texts[i] = call.Result.Text()
		})
	}
	group.Wait()
	for i := range tasks {
		if tasks[i] != tasks[0] || texts[i] != "once" {
			t.Errorf("got %q, %q", tasks[i], texts[i])
		}
	}
	if n := len(f.cluster.Tasks(t, "team-a")); n != 1 {
		t.Errorf("%d tasks", n)
	}
}

func TestKeysAreChecked_A20(t *testing.T) {
	f := newFixture(t, withKeys)
	if _, err := f.client(alice, withKey("used")).CallTool(t.Context(), "slow", json.RawMessage(`{"n":1}`)); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		key       any
		arguments string
		words     string
	}{
		"other arguments": {"used", `{"n":1.0}`, "belongs to an earlier call with other arguments"},
		"too long":        {strings.Repeat("x", 10_000), `{"n":1}`, "1 to 256 visible ASCII characters"},
		"newline":         {"a\nb", `{"n":1}`, "1 to 256 visible ASCII characters"},
		"number":          {7, `{"n":1}`, "1 to 256 visible ASCII characters"},
		"null":            {nil, `{"n":1}`, "1 to 256 visible ASCII characters"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.client(alice, withKey(test.key)).CallTool(t.Context(), "slow", json.RawMessage(test.arguments))
			e := (*mcpclient.Error)(nil)
			if !errors.As(err, &e) || e.Code != -32602 || e.HTTPStatus != http.StatusBadRequest ||
				!strings.Contains(e.Message, test.words) {
				t.Errorf("got %v", err)
			}
		})
	}
	if n := len(f.cluster.Tasks(t, "team-a")); n != 1 {
		t.Errorf("%d tasks", n)
	}
	// Another caller's key is its own.
	if _, err := f.client(bob, withKey("used")).CallTool(t.Context(), "slow", nil); err != nil {
		t.Error(err)
	}
}

// A key that cannot be honoured is refused: a caller that relies on it would run its work twice.
func TestKeysWithoutTheSecret(t *testing.T) {
	f := newFixture(t)
	_, err := f.client(alice, withKey("k")).CallTool(t.Context(), "slow", nil)
	e := (*mcpclient.Error)(nil)
	if !errors.As(err, &e) || e.Code != -32602 || !strings.Contains(e.Message, "does not support _meta") {
		t.Errorf("got %v", err)
	}
	if n := len(f.cluster.Tasks(t, "team-a")); n != 0 {
		t.Errorf("%d tasks", n)
	}
}

// Clients of the handshake eras have keys as well.
func TestLegacyKeys(t *testing.T) {
	f := newFixture(t, withKeys)
	f.play(t, func(id string) { f.cluster.SetStatus(t, "team-a", id, storetest.Completed(textResult("once"))) })
	request := func(key string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":
			{"name":"slow","_meta":{"mcptasks.dev/idempotency-key":` + key + `}}}`
	}
	for range 2 {
		if got := f.legacy(t, "2025-11-25", request(`"k"`)); !strings.Contains(got.body, `"text":"once"`) {
			t.Errorf("got %s", got.body)
		}
	}
	if n := len(f.cluster.Tasks(t, "team-a")); n != 1 {
		t.Errorf("%d tasks", n)
	}
	if got := f.legacy(t, "2025-11-25", request(`7`)); !strings.Contains(got.body, `"code":-32602`) {
		t.Errorf("got %s", got.body)
	}
}

// A37: who hangs up on a call with a key may come back for it, and takes it from nobody else who waits.
func TestHangingUpOnACallWithAKey_A37(t *testing.T) {
	f := newFixture(t, withKeys)
	c := func() *mcpclient.Client { return f.client(alice, withKey("k"), withoutTasks) }
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	leaves, stays := make(chan error, 1), make(chan *mcpclient.Call, 1)
	go func() {
		_, err := c().CallTool(ctx, "slow", nil)
		leaves <- err
	}()
	eventually(t, "the task is there", func() bool { return len(f.cluster.Tasks(t, "team-a")) == 1 })
	go func() {
		call, err := c().CallTool(t.Context(), "slow", nil)
		if err != nil {
			t.Error(err)
		}
		stays <- call
	}()
	eventually(t, "both are waiting", func() bool { return f.metric(t, "mcptasks_endpoint_requests_in_flight") == 2 })
	hangUp()
	if err := <-leaves; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	eventually(t, "the endpoint notices", func() bool { return f.metric(t, "mcptasks_endpoint_requests_in_flight") == 1 })
	task := f.cluster.Tasks(t, "team-a")[0]
	if task.Spec.Cancel != nil {
		t.Error("the task was cancelled")
	}
	f.cluster.SetStatus(t, "team-a", task.Name, storetest.Completed(textResult("done")))
	if call := <-stays; call == nil || call.Result.Text() != "done" {
		t.Errorf("got %+v", call)
	}
	if call, err := c().CallTool(t.Context(), "slow", nil); err != nil || call.Result.Text() != "done" {
		t.Errorf("who came back got %+v, %v", call, err)
	}
}

// metric is the sum of a metric's values, counters and gauges.
func (f *fixture) metric(t *testing.T, name string) float64 {
	t.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, family := range families {
		if family.GetName() == name {
			for _, metric := range family.Metric {
				sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	return sum
}
