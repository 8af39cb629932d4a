package endpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/mcp/endpoint"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

func withCompanions(o *endpoint.Options) { o.CompanionTools = true }

// companionResult calls a companion as a client without the Tasks extension.
func (f *fixture) companionResult(t *testing.T, token, tool string, arguments any) *mcpclient.Result {
	t.Helper()
	call, err := f.client(token, withoutTasks).CallTool(t.Context(), tool, arguments)
	if err != nil || call.Result == nil {
		t.Fatalf("%s: got %+v, %v", tool, call, err)
	}
	return call.Result
}

// newTask makes a task of alice.
func (f *fixture) newTask(t *testing.T) (id string) {
	t.Helper()
	call, err := f.client(alice).CallTool(t.Context(), "slow", nil)
	if err != nil {
		t.Fatal(err)
	}
	return call.Task.TaskID
}

// A client without Tasks finishes a job that takes longer than it was kept waiting.
func TestFinishingWithCompanions_A37(t *testing.T) {
	f := newFixture(t, withCompanions)
	call, err := f.client(alice, withoutTasks).CallTool(t.Context(), "short", nil)
	if err != nil {
		t.Fatal(err)
	}
	id := f.cluster.Tasks(t, "team-a")[0].Name
	if want := `Call the tool task_status with {"taskId": "` + id + `"}`; !strings.Contains(call.Result.Text(), want) {
		t.Fatalf("%q is not in %q", want, call.Result.Text())
	}
	none := map[string]any{"taskId": id, "waitSeconds": 0}
	if got := f.companionResult(t, alice, "task_status", none); got.IsError || !strings.Contains(got.Text(), "still at work") {
		t.Errorf("got %+v", got)
	}
	answered := make(chan *mcpclient.Result, 1)
	told := make(chan string, 10)
	go func() {
		c := f.client(alice, withoutTasks, func(c *mcpclient.Client) {
			c.Meta = map[string]any{"progressToken": 1}
			c.OnProgress = func(p mcpclient.Progress) { told <- p.Message }
		})
		call, err := c.CallTool(t.Context(), "task_status", map[string]any{"taskId": id})
		if err != nil {
			t.Error(err)
		} else {
			answered <- call.Result
		}
		close(answered)
	}()
	<-told // it waits
	f.cluster.SetStatus(t, "team-a", id, storetest.Completed(textResult("at last")))
	if got := <-answered; got == nil || got.IsError || got.Text() != "at last" {
		t.Errorf("got %+v", got)
	}
	if n := len(f.cluster.Tasks(t, "team-a")); n != 1 {
		t.Errorf("the companions made tasks: %d", n)
	}
}

// What task_status says of each state is what the call itself would have said.
func TestTaskStatus(t *testing.T) {
	for name, test := range map[string]struct {
		act     func(*v1alpha1.MCPTaskStatus)
		isError bool
		words   string
	}{
		"completed": {storetest.Completed(textResult("Hello")), false, "Hello"},
		"tool error": {
			storetest.Completed(`{"resultType":"complete","content":[{"type":"text","text":"exit 3"}],"isError":true}`), true, "exit 3",
		},
		"failed": {func(s *v1alpha1.MCPTaskStatus) {
			s.State, s.Error = v1alpha1.StateFailed, &v1alpha1.TaskError{Code: -32603, Message: "no such image"}
		}, true, "failed: no such image"},
		"cancelled": {func(s *v1alpha1.MCPTaskStatus) {
			s.State, s.Message = v1alpha1.StateCancelled, "Stopped by an operator."
		}, true, "was cancelled before it had a result. Stopped by an operator."},
		"asks": {storetest.Asks("a"), false, "waits for an answer"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, withCompanions)
			id := f.newTask(t)
			f.cluster.SetStatus(t, "team-a", id, test.act)
			got := f.companionResult(t, alice, "task_status", map[string]any{"taskId": id})
			if got.IsError != test.isError || !strings.Contains(got.Text(), test.words) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestTaskCancel(t *testing.T) {
	f := newFixture(t, withCompanions)
	id := f.newTask(t)
	for range 2 { // the second changes nothing
		got := f.companionResult(t, alice, "task_cancel", map[string]any{"taskId": id})
		if got.IsError || !strings.Contains(got.Text(), "is being stopped") {
			t.Errorf("got %+v", got)
		}
	}
	if cancel := f.cluster.Task(t, "team-a", id).Spec.Cancel; cancel == nil || cancel.By != alice {
		t.Errorf("got %+v", cancel)
	}
	ended := f.newTask(t)
	f.cluster.SetStatus(t, "team-a", ended, storetest.Completed(textResult("done")))
	got := f.companionResult(t, alice, "task_cancel", map[string]any{"taskId": ended})
	if got.IsError || !strings.Contains(got.Text(), "had ended already (completed)") {
		t.Errorf("got %+v", got)
	}
	if f.cluster.Task(t, "team-a", ended).Spec.Cancel != nil {
		t.Error("a finished task was cancelled")
	}
}

// A08: for whoever does not own a task it does not exist, and no answer tells it from one that is made up.
func TestCompanionsKnowOwnersOnly_A08(t *testing.T) {
	f := newFixture(t, withCompanions)
	id := f.newTask(t)
	const unknown = "Failed to retrieve task: Task not found"
	for _, tool := range []string{"task_status", "task_cancel"} {
		for token, ids := range map[string][]string{
			bob: {id}, mallory: {id}, alice: {"t-aaaaaaaaaaaaaaaaaaaaaaaaaa", "../x", "T-1"},
		} {
			for _, id := range ids {
				if got := f.companionResult(t, token, tool, map[string]any{"taskId": id}); !got.IsError || got.Text() != unknown {
					t.Errorf("%s as %s: got %+v", tool, token, got)
				}
			}
		}
	}
	if f.cluster.Task(t, "team-a", id).Spec.Cancel != nil {
		t.Error("a stranger cancelled the task")
	}
}

func TestCompanionArguments(t *testing.T) {
	f := newFixture(t, withCompanions)
	for arguments, words := range map[string]string{
		`{}`:                                "taskId",
		`{"taskId":7}`:                      "taskId",
		`{"taskId":"t-1","waitSeconds":26}`: "waitSeconds",
		`{"taskId":"t-1","waitSeconds":-1}`: "waitSeconds",
		`{"taskId":"t-1","wait":1}`:         "wait",
	} {
		got := f.companionResult(t, alice, "task_status", json.RawMessage(arguments))
		if !got.IsError || !strings.Contains(got.Text(), "are not valid") || !strings.Contains(got.Text(), words) {
			t.Errorf("%s: got %+v", arguments, got)
		}
	}
}

// The companions are listed in every era, in their place, and only where they are switched on; and their names are theirs.
func TestCompanionsAreListed(t *testing.T) {
	taken := storetest.Tool("mcptasks", "task_status", storetest.WithInput(`{"type":"object"}`))
	cluster := storetest.New(t, append(tools(), taken)...)
	on, off := newReplica(t, cluster, withCompanions), newReplica(t, cluster)
	listed := func(f *fixture) (names []string) {
		all, err := f.client(alice).ListTools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range all {
			names = append(names, tool.Name)
		}
		return names
	}
	names := listed(on)
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) ||
		!slices.Contains(names, "task_cancel") || !slices.Contains(names, "task_status") {
		t.Errorf("got %q", names)
	}
	if names := listed(off); slices.Contains(names, "task_cancel") || !slices.Contains(names, "task_status") {
		t.Errorf("switched off: got %q", names)
	}
	got := on.legacy(t, "2025-11-25", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if !strings.Contains(got.body, `"name":"task_cancel"`) {
		t.Errorf("legacy: got %s", got.body)
	}
	id := on.newTask(t)
	cluster.SetStatus(t, "team-a", id, storetest.Completed(textResult("old")))
	got = on.legacy(t, "2025-11-25",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task_status","arguments":{"taskId":"`+id+`"}}}`)
	if !strings.Contains(got.body, `"text":"old"`) {
		t.Errorf("legacy: got %s", got.body)
	}
	_, err := off.client(alice).CallTool(t.Context(), "task_cancel", nil)
	if e := (*mcpclient.Error)(nil); !errors.As(err, &e) || e.Code != -32602 {
		t.Errorf("switched off: got %v", err)
	}
}

// A21: who stops waiting for a task that another call started does not stop the task.
func TestHangingUpOnTaskStatus_A21(t *testing.T) {
	f := newFixture(t, withCompanions)
	id := f.newTask(t)
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	c := f.client(alice, withoutTasks, func(c *mcpclient.Client) {
		c.Meta = map[string]any{"progressToken": 1}
		c.OnProgress = func(mcpclient.Progress) { hangUp() }
	})
	if _, err := c.CallTool(ctx, "task_status", map[string]any{"taskId": id}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	eventually(t, "the endpoint notices", func() bool { return f.metric(t, "mcptasks_endpoint_requests_in_flight") == 0 })
	if f.cluster.Task(t, "team-a", id).Spec.Cancel != nil {
		t.Error("the task was cancelled")
	}
}
