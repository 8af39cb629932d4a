package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// TestMainJobMigration does what the project is for: real migrations, through the catalog's tool, on a database on a volume. Each
// step uses both replicas.
func TestMainJobMigration(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.claim("databases")
	clients := x.replicas(2)
	a, b := clients[0], clients[1]

	tools, err := a.ListTools(x.ctx)
	x.must(err)
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	if list := strings.Join(names, " "); !strings.Contains(list, "migration_status") || !strings.Contains(list, "run_migration") {
		t.Fatalf("the tools are %s; want the samples among them", list)
	}

	steps := []struct {
		name, environment string
		isError           bool
		text              []string
	}{
		{"pending migrations", "staging", false, []string{"Applied 3 migrations to staging", "version 3"}},
		{"nothing to do", "staging", false, []string{"Nothing to do: staging is at version 3."}},
		{"bad SQL", "preview", true, []string{`near "order": syntax error`, "preview stays at version 3", "code 1"}},
	}
	for _, step := range steps {
		id := x.call(a, "run_migration", map[string]any{"environment": step.environment})
		task := x.wait(b, id)
		if task.Status != "completed" || task.Result == nil || task.Error != nil {
			t.Fatalf("%s: the task is %s (%s), result %v, error %v", step.name, task.Status, task.StatusMessage, task.Result, task.Error)
		}
		if task.Result.IsError != step.isError {
			t.Errorf("%s: isError is %v", step.name, task.Result.IsError)
		}
		for _, text := range step.text {
			if !strings.Contains(task.Result.Text(), text) {
				t.Errorf("%s: the result is %q, want %q in it", step.name, task.Result.Text(), text)
			}
		}
	}

	call, err := b.CallTool(x.ctx, "migration_status", map[string]any{"environment": "preview"})
	x.must(err)
	var status struct {
		Version int
		Pending []string
	}
	if call.Result == nil || json.Unmarshal(call.Result.StructuredContent, &status) != nil ||
		status.Version != 3 || len(status.Pending) != 1 {
		t.Errorf("migration_status says %+v, want version 3 and one pending", call.Result)
	}
}

// TestMainJobCancel_B13 cancels a migration in the middle of its work.
func TestMainJobCancel_B13(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.claim("databases")
	clients := x.replicas(2)
	a, b := clients[0], clients[1]

	id := x.call(a, "run_migration", map[string]any{"environment": "production"})
	x.waitRunning(id)
	for range 2 { // asking twice is the same as once
		x.must(b.Cancel(x.ctx, id))
	}
	task := x.wait(a, id)
	if task.Status != "cancelled" || task.Result != nil || task.Error != nil {
		t.Errorf("the task is %s, result %v, error %v", task.Status, task.Result, task.Error)
	}
	if pods, err := x.pods(x.ctx, id); err != nil || len(pods) > 0 {
		t.Errorf("%d pods are left when the task is cancelled (%v)", len(pods), err)
	}
	x.waitStopped(id)
	if reason := x.record(id).Status.Reason; reason != v1alpha1.ReasonCancelled {
		t.Errorf("the reason is %s", reason)
	}
	x.must(a.Cancel(x.ctx, id)) // acknowledged, and changes nothing
	if after := x.wait(b, id); after.Status != "cancelled" || !after.LastUpdatedAt.Equal(task.LastUpdatedAt) {
		t.Errorf("cancelling a cancelled task made it %s, updated at %s, was %s", after.Status, after.LastUpdatedAt, task.LastUpdatedAt)
	}
	if text := x.result(a, "migration_status", map[string]any{"environment": "production"}); !strings.Contains(text, "00004") {
		t.Errorf("the cancelled migration was not undone: %s", text)
	}
}
