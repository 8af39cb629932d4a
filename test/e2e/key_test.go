package e2e

import (
	"context"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/kube"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// keyed is a client whose calls have an idempotency key.
func keyed(c *mcpclient.Client, key string) *mcpclient.Client {
	return &mcpclient.Client{URL: c.URL, Token: c.Token, Meta: map[string]any{"mcptasks.dev/idempotency-key": key}}
}

// Fifty calls at once with one key, over two replicas, run one Job, and so does a call that its client gave up on and repeated.
func TestProtocol_A20_OneKeyRunsOneJob(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.counter()
	replicas := x.replicas(2)

	ids := make([]string, 50)
	var calling sync.WaitGroup
	for i := range ids {
		calling.Go(func() {
			called, err := keyed(replicas[i%2], "at-once").CallTool(x.ctx, "count", map[string]any{"sleep": 1})
			switch {
			case err != nil:
				t.Error(err)
			case called.Task == nil:
				t.Errorf("call %d was answered by %+v", i, called)
			default:
				ids[i] = called.Task.TaskID
			}
		})
	}
	calling.Wait()
	for i, id := range ids {
		if id != ids[0] {
			t.Fatalf("call 0 has become task %q, and call %d task %q", ids[0], i, id)
		}
	}
	if task := x.wait(replicas[1], ids[0]); task.Status != "completed" || task.Result.Text() != "1" {
		t.Errorf("the task is %s, result %+v", task.Status, task.Result)
	}
	x.wantJobs("count", 1)

	// This client waits for the result, loses patience, and comes back with the same key.
	impatient := keyed(replicas[0], "again")
	impatient.WithoutTasks = true
	arguments := map[string]any{"sleep": 5}
	ctx, hangUp := context.WithCancel(x.ctx)
	answered := make(chan error, 1)
	go func() {
		_, err := impatient.CallTool(ctx, "count", arguments)
		answered <- err
	}()
	x.waitRunning(x.otherTask("count", ids[0]))
	hangUp()
	if err := <-answered; err == nil {
		t.Error("the call was answered before its client gave up")
	}
	called, err := keyed(replicas[1], "again").CallTool(x.ctx, "count", arguments)
	x.must(err)
	if task := x.wait(replicas[0], called.Task.TaskID); task.Status != "completed" || task.Result.Text() != "2" {
		t.Errorf("the repeated call's task is %s, result %+v", task.Status, task.Result)
	}
	x.wantJobs("count", 2)
	x.wantMarks(replicas[0], 2)
}

// otherTask waits for a tool's task besides one that there is, and returns its id.
func (x *tenant) otherTask(tool, known string) (id string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	x.must(kube.Poll(ctx, func(ctx context.Context) (bool, error) {
		tasks := &v1alpha1.MCPTaskList{}
		err := cluster.List(ctx, tasks, client.InNamespace(x.namespace), client.MatchingLabels{v1alpha1.LabelTool: tool})
		for i := range tasks.Items {
			if tasks.Items[i].Name != known {
				id = tasks.Items[i].Name
			}
		}
		return id != "", err
	}))
	return id
}

// wantJobs fails the test unless there are so many Jobs of a tool.
func (x *tenant) wantJobs(tool string, n int) {
	x.t.Helper()
	jobs := &batchv1.JobList{}
	x.must(cluster.List(x.ctx, jobs, client.InNamespace(x.namespace), client.MatchingLabels{v1alpha1.LabelTool: tool}))
	if len(jobs.Items) != n {
		x.t.Errorf("there are %d Jobs of %s, want %d", len(jobs.Items), tool, n)
	}
}
