package integration

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// queued makes a tool whose Jobs begin suspended, in a queue.
func queued(t *v1alpha1.MCPTool) {
	yes := true
	t.Spec.JobTemplate.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "user-queue"}
	t.Spec.JobTemplate.Spec.Suspend = &yes
}

func retried(t *v1alpha1.MCPTool) { t.Spec.Execution.Retries = 1 }

func queuesFor(d time.Duration) func(*v1alpha1.MCPTool) {
	return func(t *v1alpha1.MCPTool) { t.Spec.Execution.QueueDeadline.Duration = d }
}

// suspend does what a queue does to a task's Job.
func (w *world) suspend(t *v1alpha1.MCPTask, suspended bool) {
	w.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"suspend": suspended}})
	w.must(err)
	w.must(admin.Patch(w.ctx, w.newJob(t), client.RawPatch(types.MergePatchType, patch)))
}

// TestQueue_B38_BackAndForth takes a Job in, sends it back while it runs, and takes it in again, as a queue does.
func TestQueue_B38_BackAndForth(t *testing.T) {
	w := newWorld(t)
	w.logs.set("done\n", nil)
	w.controller()
	call := w.call(w.tool(queued, retried))
	first := w.awaitMessage(call, "Queued until the queue user-queue admits it.")
	if first.Status.State != v1alpha1.StateWorking || first.Status.Reason != v1alpha1.ReasonQueued || first.Status.AdmitBy == nil {
		t.Fatalf("status %+v", first.Status)
	}
	if by := first.Status.AdmitBy.Sub(first.CreationTimestamp.Time); by < 24*time.Hour || by > 25*time.Hour {
		t.Errorf("it has to be admitted after %v, want a day", by)
	}

	w.suspend(call, false)
	pod := w.pod(call)
	w.runs(pod)
	w.awaitReason(call, v1alpha1.ReasonRunning)

	w.suspend(call, true)
	w.stops(pod, 143)
	again := w.awaitMessage(call, "Queued until")
	if again.Status.State != v1alpha1.StateWorking || again.Status.AdmitBy.Before(first.Status.AdmitBy) {
		t.Errorf("status %+v, after %v", again.Status, first.Status.AdmitBy)
	}

	w.suspend(call, false)
	pod = w.pod(call)
	w.runs(pod)
	w.exits(pod, "main", 0)
	done := w.awaitState(call, v1alpha1.StateCompleted)
	if text, isError := resultText(t, done); isError || !strings.Contains(text, "done") {
		t.Errorf("result %s", done.Status.Result)
	}
	w.wantOneJob(call)
}

// TestQueue_B38_NothingIsRunTwice: without a retry, what was stopped by a suspension has had its one run.
func TestQueue_B38_NothingIsRunTwice(t *testing.T) {
	w := newWorld(t)
	w.controller()
	call := w.call(w.tool())
	pod := w.pod(call)
	w.runs(pod)
	w.awaitReason(call, v1alpha1.ReasonRunning)
	w.suspend(call, true)
	w.stops(pod, 143)
	done := w.awaitState(call, v1alpha1.StateFailed)
	if done.Status.Reason != v1alpha1.ReasonDisrupted || !strings.Contains(done.Status.Error.Message, "its Job was suspended") {
		t.Errorf("status %+v", done.Status)
	}
	w.wantOneJob(call)
}

// TestQueue_B38_NobodyAdmitsIt: a queue that does not exist is given up in the end, and nothing is left. The time to start is
// shorter than that, and does not count.
func TestQueue_B38_NobodyAdmitsIt(t *testing.T) {
	w := newWorld(t)
	pass := w.timedController()
	call := w.call(w.tool(queued, startsWithin(10*time.Minute), queuesFor(time.Hour)))
	w.awaitMessage(call, "Queued until the queue user-queue admits it.")
	pass(2 * time.Hour)
	done := w.awaitState(call, v1alpha1.StateFailed)
	if done.Status.Reason != v1alpha1.ReasonNotAdmitted ||
		!strings.HasPrefix(done.Status.Error.Message, "It was not admitted within 1h.") {
		t.Errorf("status %+v", done.Status)
	}
	if took := done.Status.FinishedAt.Sub(done.CreationTimestamp.Time); took < time.Hour {
		t.Errorf("given up after %v", took)
	}
	w.awaitGone(w.newJob(call))
}

// TestQueue_B38_RemovedWhileItWaits: the Job goes with its task, as does one that runs.
func TestQueue_B38_RemovedWhileItWaits(t *testing.T) {
	w := newWorld(t)
	w.controller()
	call := w.call(w.tool(queued))
	w.awaitMessage(call, "Queued until")
	w.must(admin.Delete(w.ctx, call))
	w.awaitGone(&batchv1.Job{ObjectMeta: w.newJob(call).ObjectMeta})
}
