package endpoint

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// A client without Tasks finishes by task_status what its call did not, on another replica, and stops work by task_cancel.
func TestCompanionTools(t *testing.T) {
	a, b := startReplica(t, "--companion-tools"), startReplica(t, "--companion-tools")
	tool(t, "companions", func(s *v1alpha1.MCPToolSpec) { s.Execution.BlockFor = metav1.Duration{Duration: time.Second} })
	first, second := a.client(t, tenant, agent), b.client(t, tenant, agent)
	first.WithoutTasks, second.WithoutTasks = true, true
	awaitTool(t, first, "companions")
	awaitTool(t, second, "task_status")

	called := func(c *mcpclient.Client, tool string, arguments any) *mcpclient.Result {
		t.Helper()
		call, err := c.CallTool(t.Context(), tool, arguments)
		if err != nil || call.Result == nil {
			t.Fatalf("%s: got %+v, %v", tool, call, err)
		}
		return call.Result
	}
	said := called(first, "companions", nil).Text()
	id := onlyTask(t, "companions")
	if !strings.Contains(said, "task_status") || !strings.Contains(said, id) {
		t.Fatalf("got %q", said)
	}
	task := map[string]any{"taskId": id}
	if got := called(second, "task_cancel", task); got.IsError || getTask(t, id).Spec.Cancel == nil {
		t.Errorf("got %+v", got)
	}
	answered := make(chan string, 1)
	go func() {
		call, err := second.CallTool(t.Context(), "task_status", task)
		if err != nil {
			t.Error(err)
			close(answered)
			return
		}
		answered <- call.Result.Text()
	}()
	// It ended before it could be stopped.
	setStatus(t, id, completed(`{"resultType":"complete","content":[{"type":"text","text":"done"}]}`))
	if text := <-answered; text != "done" {
		t.Errorf("got %q", text)
	}
	stranger := a.client(t, tenant, other)
	stranger.WithoutTasks = true
	if got := called(stranger, "task_status", task); !got.IsError || got.Text() != "Failed to retrieve task: Task not found" {
		t.Errorf("got %+v", got)
	}
}
