package integration

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// cancel asks to stop a task, as the endpoint does.
func (w *world) cancel(t *v1alpha1.MCPTask) {
	w.Helper()
	before := &v1alpha1.MCPTask{}
	w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(t), before))
	after := before.DeepCopy()
	after.Spec.Cancel = &v1alpha1.Cancellation{At: metav1.NowMicro(), By: "agent", Reason: "no longer needed"}
	w.must(admin.Patch(w.ctx, after, client.MergeFrom(before)))
}

func TestCancelBeforeTheJobExists_A10(t *testing.T) {
	w := newWorld(t)
	call := w.call(w.tool())
	w.cancel(call)
	w.controller()
	done := w.awaitState(call, v1alpha1.StateCancelled)
	if done.Status.Reason != v1alpha1.ReasonCancelled || !strings.Contains(done.Status.Message, "no longer needed") {
		t.Errorf("status %+v", done.Status)
	}
	if n := w.jobsOf(call); n != 0 {
		t.Errorf("%d Jobs were created for a task that was cancelled before", n)
	}
}

func TestCancelBeforeItHasANode(t *testing.T) {
	w := newWorld(t)
	w.controller()
	call := w.call(w.tool())
	pod := w.pod(call)
	w.cancel(call)
	w.awaitState(call, v1alpha1.StateCancelled)
	w.awaitGone(pod)
	w.awaitGone(w.newJob(call))
}

func TestCancelWaitsUntilThePodsAreGone_B13(t *testing.T) {
	w := newWorld(t)
	w.controller()
	call := w.call(w.tool())
	pod := w.pod(call)
	w.runs(pod)
	w.awaitReason(call, v1alpha1.ReasonRunning)
	w.cancel(call)
	stopping := w.awaitReason(call, v1alpha1.ReasonCancelling)
	if stopping.Status.State != v1alpha1.StateWorking {
		t.Errorf("state %s while the pod still runs", stopping.Status.State)
	}
	job := await(w, w.job(call), "the Job's deletion to begin", func(j *batchv1.Job) bool { return j.DeletionTimestamp != nil })
	if len(job.Finalizers) == 0 {
		t.Errorf("the Job is not deleted in the foreground: finalizers %v", job.Finalizers)
	}
	w.stops(pod, 143)
	done := w.awaitState(call, v1alpha1.StateCancelled)
	if done.Status.Reason != v1alpha1.ReasonCancelled || done.Status.Result != "" || done.Status.Error != nil {
		t.Errorf("status %+v", done.Status)
	}
	w.wantOneJob(call)
}

// What a tool leaves when it is told to stop is no result, also if it exits with 0.
func TestCancelIsCancelledThoughTheToolExitsWithZero_B41(t *testing.T) {
	w := newWorld(t)
	w.controller()
	call := w.call(w.tool())
	pod := w.pod(call)
	w.runs(pod)
	w.awaitReason(call, v1alpha1.ReasonRunning)
	w.cancel(call)
	w.awaitReason(call, v1alpha1.ReasonCancelling)
	w.stops(pod, 0)
	w.awaitState(call, v1alpha1.StateCancelled)
}

func TestCancelAfterTheEndChangesNothing_A09(t *testing.T) {
	w := newWorld(t)
	w.logs.set("done", nil)
	w.controller()
	call := w.call(w.tool())
	pod := w.pod(call)
	w.runs(pod)
	w.exits(pod, "main", 0)
	done := w.awaitState(call, v1alpha1.StateCompleted)
	w.cancel(call)
	// Another task that is cancelled later proves that the controller has had its chance at this one.
	other := w.call(w.newToolRef(call))
	w.cancel(other)
	w.awaitState(other, v1alpha1.StateCancelled)
	now := &v1alpha1.MCPTask{}
	w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(call), now))
	if now.Status.State != v1alpha1.StateCompleted || now.Status.Result != done.Status.Result ||
		!now.Status.LastUpdatedAt.Equal(done.Status.LastUpdatedAt) {
		t.Errorf("status %+v, was %+v", now.Status, done.Status)
	}
}

// newToolRef is the tool that a task has called.
func (w *world) newToolRef(t *v1alpha1.MCPTask) *v1alpha1.MCPTool {
	w.Helper()
	tool := &v1alpha1.MCPTool{}
	w.must(admin.Get(w.ctx, client.ObjectKey{Namespace: t.Spec.Tool.Namespace, Name: t.Spec.Tool.Name}, tool))
	return tool
}

func TestCancelSurvivesTheController_A10(t *testing.T) {
	w := newWorld(t)
	stop := w.controller()
	call := w.call(w.tool())
	pod := w.pod(call)
	w.runs(pod)
	w.awaitReason(call, v1alpha1.ReasonRunning)
	stop()
	w.cancel(call)
	w.controller()
	w.removes(pod)
	w.awaitState(call, v1alpha1.StateCancelled)
}

func TestCancelByDeletingTheJob_B02(t *testing.T) {
	w := newWorld(t)
	w.controller()
	call := w.call(w.tool())
	pod := w.pod(call)
	w.runs(pod)
	w.awaitReason(call, v1alpha1.ReasonRunning)
	w.must(admin.Delete(w.ctx, w.newJob(call), client.PropagationPolicy(metav1.DeletePropagationBackground)))
	stopping := w.awaitReason(call, v1alpha1.ReasonCancelling)
	if stopping.Status.State != v1alpha1.StateWorking {
		t.Errorf("state %s while the pod still runs", stopping.Status.State)
	}
	w.stops(pod, 143)
	done := w.awaitState(call, v1alpha1.StateCancelled)
	if done.Status.Reason != v1alpha1.ReasonJobDeleted {
		t.Errorf("status %+v", done.Status)
	}
	w.wantOneJob(call)
}
