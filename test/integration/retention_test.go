package integration

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

func hours(n int) time.Duration { return time.Duration(n) * time.Hour }

// finished is a task that has been completed, with its tool's retention.
func (w *world) finished(changes ...func(*v1alpha1.MCPTool)) *v1alpha1.MCPTask {
	w.Helper()
	call := w.call(w.tool(changes...))
	pod := w.pod(call)
	w.runs(pod)
	w.exits(pod, "main", 0)
	return w.awaitState(call, v1alpha1.StateCompleted)
}

func TestRetentionOfTheTask_A16_T60(t *testing.T) {
	w := newWorld(t)
	w.controller()
	call := w.finished(kept(2*time.Second, time.Hour))
	w.awaitGone(call)
	if early := time.Until(call.Status.ExpiresAt.Time); early > 0 {
		t.Errorf("deleted %v before its time", early)
	}
	w.awaitGone(w.newJob(call)) // with its owner
}

// TestRetentionByTheClock_A16 moves the clock instead of waiting.
func TestRetentionByTheClock_A16(t *testing.T) {
	w := newWorld(t)
	now := time.Now().Truncate(time.Second)
	clock := testclock.NewFakePassiveClock(now)
	at := func(s *setup) { s.options.Clock = clock }
	stop := w.controller(at)
	shorter := w.finished(kept(hours(23), time.Hour), named("shorter"))
	call := w.finished(kept(hours(24), time.Hour), named("kept"))
	if want := metav1.NewTime(now.Add(hours(24))); !call.Status.ExpiresAt.Equal(&want) {
		t.Errorf("expires at %v, want %v", call.Status.ExpiresAt, want)
	}
	forever := w.finished(named("forever"), func(tool *v1alpha1.MCPTool) { tool.Spec.Execution.Retention.Task = nil })
	if forever.Status.ExpiresAt != nil {
		t.Errorf("a task that is kept for ever expires at %v", forever.Status.ExpiresAt)
	}
	stop()

	clock.SetTime(now.Add(hours(24) - time.Second))
	stop = w.controller(at)
	w.awaitGone(shorter)
	w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(call), &v1alpha1.MCPTask{}))
	stop()

	clock.SetTime(now.Add(hours(24)))
	w.controller(at)
	w.awaitGone(call)
	w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(forever), &v1alpha1.MCPTask{}))
}

// The Job and its pods are Kubernetes' to remove, after the result is on the record and the retention is over.
func TestRetentionOfTheJob_A16_B01(t *testing.T) {
	w := newWorld(t)
	w.logs.set("kept", nil)
	w.controller()
	call := w.finished(kept(hours(24), 500*time.Millisecond))
	// Half a second, rounded up, is what the TTL controller is told.
	if job := w.newJob(call); admin.Get(w.ctx, client.ObjectKeyFromObject(job), job) == nil {
		if ttl := job.Spec.TTLSecondsAfterFinished; ttl != nil && *ttl != 1 {
			t.Errorf("ttlSecondsAfterFinished %d, want 1", *ttl)
		}
	}
	w.awaitGone(w.newJob(call))
	now := &v1alpha1.MCPTask{}
	w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(call), now))
	if now.Status.Result != call.Status.Result || now.Status.State != v1alpha1.StateCompleted {
		t.Errorf("status %+v", now.Status)
	}
}

// A copy of a tool's execution, as the endpoint makes it, keeps "for ever" and "no time at all".
func TestRetentionSurvivesTheCopy(t *testing.T) {
	w := newWorld(t)
	call := w.call(w.tool(func(tool *v1alpha1.MCPTool) {
		tool.Spec.Execution.Retention = v1alpha1.Retention{Task: nil, Job: metav1.Duration{}}
	}))
	now := &v1alpha1.MCPTask{}
	w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(call), now))
	if r := now.Spec.Execution.Retention; r.Task != nil || r.Job.Duration != 0 {
		t.Errorf("retention %+v", r)
	}
	if now.Spec.Execution.StartupDeadline.Duration != 10*time.Minute || now.Spec.Result.From != v1alpha1.ResultFromLogs {
		t.Errorf("defaults are missing: %+v", now.Spec)
	}
}
