package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// listen opens a stream about tasks, all of which must be honoured.
func listen(t *testing.T, c *mcpclient.Client, ids ...string) *mcpclient.Listener {
	t.Helper()
	listener, err := c.Listen(t.Context(), mcpclient.Filter{TaskIDs: ids})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	if !reflect.DeepEqual(listener.Honoured.TaskIDs, ids) {
		t.Fatalf("honoured are %q of %q", listener.Honoured.TaskIDs, ids)
	}
	return listener
}

// hear waits for the next notification, which must say this of the task.
func hear(t *testing.T, listener *mcpclient.Listener, id, status, message string) *mcpclient.Event {
	t.Helper()
	event, err := listener.Next()
	if err != nil {
		t.Fatal(err)
	}
	if event.Task == nil || event.Task.TaskID != id || event.Task.Status != status ||
		!strings.Contains(event.Task.StatusMessage, message) {
		t.Fatalf("got %s %s; want task %s %s: %s", event.Method, event.Params, id, status, message)
	}
	return event
}

func says(message string) func(*v1alpha1.MCPTaskStatus) {
	return func(s *v1alpha1.MCPTaskStatus) {
		s.State, s.Reason, s.Message = v1alpha1.StateWorking, v1alpha1.ReasonRunning, message
	}
}

const done = `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`

// T-50, A23: whichever replica a client listens to, it hears of its task from the beginning to the end, as tasks/get has it.
func TestListen_A23_T50(t *testing.T) {
	a, b := startReplica(t), startReplica(t)
	tool(t, "heard")
	first, second := a.client(t, tenant, agent), b.client(t, tenant, agent)
	awaitTool(t, first, "heard")
	id := call(t, first, "heard", nil)
	listener := listen(t, second, id)
	hear(t, listener, id, "working", "")
	setStatus(t, id, says("Half of it."))
	hear(t, listener, id, "working", "Half of it.")
	if err := first.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	hear(t, listener, id, "working", "Cancel")
	setStatus(t, id, completed(done))
	event := hear(t, listener, id, "completed", "")

	raw, err := first.Request(t.Context(), "tasks/get", id, map[string]any{"taskId": id})
	if err != nil {
		t.Fatal(err)
	}
	_, want, _ := strings.Cut(string(raw), `"taskId"`)
	if _, got, _ := strings.Cut(string(event.Params), `"taskId"`); got != want {
		t.Errorf("notification %s\ntasks/get    %s", got, want)
	}

	others, err := b.client(t, tenant, other).Listen(t.Context(), mcpclient.Filter{TaskIDs: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = others.Close() }()
	if len(others.Honoured.TaskIDs) != 0 {
		t.Error("somebody else may listen to the task")
	}
}

// A23: however the end of a task and the beginning of a stream fall together, the end is heard of exactly once.
func TestTheEndIsHeardOfOnce_A23(t *testing.T) {
	const workers, rounds, longest = 10, 20, 300 * time.Millisecond
	a, b := startReplica(t), startReplica(t)
	tool(t, "ends")
	first, second := a.client(t, tenant, agent), b.client(t, tenant, agent)
	awaitTool(t, first, "ends")
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			fence := call(t, first, "ends", nil)
			for round := range rounds {
				random := rand.New(rand.NewPCG(uint64(worker), uint64(round)))
				id := call(t, first, "ends", nil)
				var ending sync.WaitGroup
				ending.Go(func() {
					<-time.After(time.Duration(random.Int64N(int64(longest))))
					setStatus(t, id, completed(done))
				})
				<-time.After(time.Duration(rand.Int64N(int64(longest))))
				listener := listen(t, second, fence, id)
				ending.Wait()
				mark := fmt.Sprintf("after round %d", round)
				setStatus(t, fence, says(mark))
				if n := endings(t, listener, fence, mark); n != 1 {
					t.Errorf("the end of task %s was heard of %d times", id, n)
				}
				_ = listener.Close()
			}
		})
	}
	all.Wait()
}

// endings listens until the fence says the mark and returns how often another task was completed. What was heard of the end
// after the mark counts, too: news of two tasks need not come in order.
func endings(t *testing.T, listener *mcpclient.Listener, fence, mark string) (n int) {
	for marked := false; !marked || n == 0; {
		event, err := listener.Next()
		switch {
		case err != nil:
			t.Error(err)
			return n
		case event.Task.TaskID == fence:
			marked = event.Task.StatusMessage == mark
		case event.Task.Status == "completed":
			n++
		}
	}
	return n
}

// A24: a replica has one watch of tasks, however many listen, and loses nothing when it breaks, when what it knew is too old
// to go on from, or when the API server is away.
func TestListenThroughTrouble_A24(t *testing.T) {
	const listeners = 200
	trouble := newProxy(t)
	a, b := startReplica(t), startReplicaWith(t, trouble.Kubeconfig, "--caller-streams=0")
	tool(t, "troubled")
	first, second := a.client(t, tenant, agent), b.client(t, tenant, agent)
	awaitTool(t, first, "troubled")
	before := trouble.begun()
	ids := make([]string, listeners)
	heard := make([]*mcpclient.Listener, listeners)
	for i := range ids {
		ids[i] = call(t, first, "troubled", nil)
		heard[i] = listen(t, second, ids[i])
		hear(t, heard[i], ids[i], "working", "")
	}
	if n := trouble.begun() - before; n != 0 {
		t.Errorf("%d listeners took %d more watches", listeners, n)
	}
	for step, begin := range map[string]func(){
		"broken":  trouble.BreakOff,
		"expired": func() { trouble.expire(2); trouble.BreakOff() },
		"away":    func() { trouble.leave(); trouble.BreakOff() },
	} {
		begin()
		for _, id := range ids {
			setStatus(t, id, says(step))
		}
		if step == "away" {
			trouble.Meddle(nil)
		}
		for i, listener := range heard {
			hear(t, listener, ids[i], "working", step)
		}
	}
	if n := trouble.expired.Load(); n > 0 {
		t.Errorf("%d watches were not told that they are too late", n)
	}
}

// S-113: listeners hear when their list of tools has changed.
func TestListenToTools_S113(t *testing.T) {
	r := startReplica(t)
	c := r.client(t, tenant, agent)
	listener, err := c.Listen(t.Context(), mcpclient.Filter{ToolsListChanged: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	tool(t, "appears")
	for {
		event, err := listener.Next()
		if err != nil || event.Method != "notifications/tools/list_changed" {
			t.Fatalf("got %+v, %v", event, err)
		}
		tools, err := c.ListTools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools {
			if tool.Name == "appears" {
				return
			}
		}
	}
}

// A21 (3), A22: neither a client that hangs up nor a replica that ends touches the tasks that were listened to, and the end
// of the replica is an orderly end of its streams.
func TestTheEndOfListening_A21_A22(t *testing.T) {
	r := startReplica(t)
	tool(t, "goes-on")
	c := r.client(t, tenant, agent)
	awaitTool(t, c, "goes-on")
	id := call(t, c, "goes-on", nil)
	before := getTask(t, id)
	left, stayed := listen(t, c, id), listen(t, c, id)
	hear(t, left, id, "working", "")
	hear(t, stayed, id, "working", "")
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	r.Terminate()
	if event, err := stayed.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %+v, %v; want the result and the end", event, err)
	}
	after := getTask(t, id)
	if got, want := asJSON(t, after.Spec), asJSON(t, before.Spec); got != want {
		t.Errorf("the task was touched: %s, before %s", got, want)
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
