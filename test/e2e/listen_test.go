package e2e

import (
	"testing"

	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// TestProtocolListen_A23 listens at one replica to a task that another one has just created, from its first state to its result,
// and to the tools.
func TestProtocolListen_A23(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("slow", "sleep", "--label=slow").properties("seconds! number"))
	clients := x.replicas(2)
	a, b := clients[0], clients[1]
	id := x.call(a, "slow", map[string]any{"seconds": 2})
	listener, err := b.Listen(x.ctx, mcpclient.Filter{TaskIDs: []string{id}, ToolsListChanged: true})
	x.must(err)
	defer func() { _ = listener.Close() }()
	next := func() *mcpclient.Event {
		t.Helper()
		event, err := listener.Next()
		x.must(err)
		return event
	}

	var heard []*mcpclient.Task
	for len(heard) == 0 || !heard[len(heard)-1].Terminal() {
		if event := next(); event.Task != nil {
			heard = append(heard, event.Task)
		}
	}
	for i, task := range heard {
		if task.TaskID != id || (i > 0 && task.LastUpdatedAt.Before(heard[i-1].LastUpdatedAt)) {
			t.Errorf("notification %d is of task %s, updated at %s", i, task.TaskID, task.LastUpdatedAt)
		}
	}
	last := heard[len(heard)-1]
	got, err := a.Get(x.ctx, id)
	x.must(err)
	if len(heard) < 2 || last.Status != "completed" || last.Result == nil || got.Result == nil ||
		last.Result.Text() != got.Result.Text() || !last.LastUpdatedAt.Equal(got.LastUpdatedAt) {
		t.Errorf("%d notifications, the last one of %+v; tasks/get says %+v", len(heard), last, got)
	}

	x.offer(tool("another", "greet", "--name=everybody"))
	for next().Method != "notifications/tools/list_changed" {
		continue
	}
}
