package integration

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

func TestLifecycleFromCallToResult_A02(t *testing.T) {
	w := newWorld(t)
	w.logs.set("hello\n", nil)
	w.controller()
	call := w.call(w.tool())

	job := w.job(call)
	if owner := metav1.GetControllerOf(job); owner == nil || owner.UID != call.UID || owner.Kind != "MCPTask" {
		t.Errorf("the Job's owner is %+v", owner)
	}
	if job.Spec.TTLSecondsAfterFinished != nil {
		t.Error("Kubernetes may remove the Job before its result is on the record")
	}
	queued := await(w, call, "the Job on the record", func(t *v1alpha1.MCPTask) bool { return t.Status.Job != nil })
	if queued.Status.Job.UID != job.UID || queued.Status.State != v1alpha1.StateWorking {
		t.Errorf("status %+v", queued.Status)
	}

	pod := w.pod(call)
	w.runs(pod)
	running := w.awaitReason(call, v1alpha1.ReasonRunning)
	if running.Status.StartedAt == nil || running.Status.State != v1alpha1.StateWorking {
		t.Errorf("status %+v", running.Status)
	}

	w.exits(pod, "main", 0)
	done := w.awaitState(call, v1alpha1.StateCompleted)
	if done.Status.Reason != v1alpha1.ReasonSucceeded || done.Status.FinishedAt == nil || done.Status.ExpiresAt == nil {
		t.Errorf("status %+v", done.Status)
	}
	if text, isError := resultText(t, done); isError || !strings.Contains(text, "hello") {
		t.Errorf("result %s", done.Status.Result)
	}
	// Only now may Kubernetes remove the Job, and its own controller agrees that it is complete.
	await(w, job, "the Job's TTL", func(j *batchv1.Job) bool {
		return j.Spec.TTLSecondsAfterFinished != nil && *j.Spec.TTLSecondsAfterFinished == 3600
	})
	await(w, job, "the Job's completion", func(j *batchv1.Job) bool { return j.Status.Succeeded == 1 })
	w.wantOneJob(call)
}

// resultText is the text of a CallToolResult.
func resultText(t *testing.T, task *v1alpha1.MCPTask) (text string, isError bool) {
	t.Helper()
	var result struct {
		Content []struct{ Type, Text string }
		IsError bool
	}
	if err := json.Unmarshal([]byte(task.Status.Result), &result); err != nil {
		t.Fatalf("result %q: %v", task.Status.Result, err)
	}
	for _, c := range result.Content {
		text += c.Text + "\n"
	}
	return text, result.IsError
}

func TestLifecycleToolErrorIsAResult_A02_A19(t *testing.T) {
	w := newWorld(t)
	w.logs.set("no such table: users", nil)
	w.controller()
	call := w.call(w.tool())
	pod := w.pod(call)
	w.runs(pod)
	w.exits(pod, "main", 3)
	done := w.awaitState(call, v1alpha1.StateCompleted)
	text, isError := resultText(t, done)
	if done.Status.Reason != v1alpha1.ReasonToolError || !isError ||
		!strings.Contains(text, "code 3") || !strings.Contains(text, "no such table") {
		t.Errorf("reason %s, result %s", done.Status.Reason, done.Status.Result)
	}
}

// A container that nobody saw running, because it was so quick, still has run.
func TestLifecycleQuickerThanTheController(t *testing.T) {
	w := newWorld(t)
	stop := w.controller()
	call := w.call(w.tool())
	pod := w.pod(call)
	stop()
	w.runs(pod)
	w.exits(pod, "main", 0)
	w.controller()
	done := w.awaitState(call, v1alpha1.StateCompleted)
	if done.Status.StartedAt == nil || done.Status.Reason != v1alpha1.ReasonSucceeded {
		t.Errorf("status %+v", done.Status)
	}
}

func TestLifecycleSidecarDoesNotKeepTheTaskOpen(t *testing.T) {
	w := newWorld(t)
	w.logs.set("done", nil)
	w.controller()
	call := w.call(w.tool(func(tool *v1alpha1.MCPTool) {
		pod := &tool.Spec.JobTemplate.Spec.Template.Spec
		pod.Containers = append(pod.Containers, corev1.Container{Name: "proxy", Image: "example.invalid/proxy:1"})
	}))
	pod := w.pod(call)
	w.runs(pod)
	w.exits(pod, "main", 0)
	w.awaitState(call, v1alpha1.StateCompleted)
	job := await(w, w.job(call), "the Job's TTL", func(j *batchv1.Job) bool { return j.Spec.TTLSecondsAfterFinished != nil })
	if d := job.Spec.ActiveDeadlineSeconds; d == nil || *d < 30 || *d > 120 {
		t.Errorf("activeDeadlineSeconds %v, want about 30 s from now: nothing else ends the proxy", d)
	}
}

func TestLifecycleGoesOnWithoutTheController(t *testing.T) {
	w := newWorld(t)
	w.logs.set("while you were out", nil)
	stop := w.controller()
	call := w.call(w.tool())
	pod := w.pod(call)
	w.runs(pod)
	w.awaitReason(call, v1alpha1.ReasonRunning)
	stop()
	w.exits(pod, "main", 0)
	await(w, w.job(call), "the Job's completion", func(j *batchv1.Job) bool { return j.Status.Succeeded == 1 })
	w.controller()
	done := w.awaitState(call, v1alpha1.StateCompleted)
	if text, _ := resultText(t, done); !strings.Contains(text, "while you were out") {
		t.Errorf("result %s", done.Status.Result)
	}
	w.wantOneJob(call)
}

func TestLifecycleLogIsTriedAgain_B18(t *testing.T) {
	w := newWorld(t)
	w.logs.set("", errors.New("kubelet: connection refused"))
	w.controller()
	call := w.call(w.tool())
	pod := w.pod(call)
	w.runs(pod)
	w.exits(pod, "main", 0)
	// The condition of the controller's next failures is the log's, not the clock's.
	for deadline := time.Now().Add(patience); w.logs.reads() < 3; {
		if time.Now().After(deadline) {
			t.Fatal("the log is not tried again")
		}
		var now v1alpha1.MCPTask
		w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(call), &now))
		if now.Status.State.Terminal() {
			t.Fatalf("the task ended without its log: %+v", now.Status)
		}
	}
	w.logs.set("late, but here", nil)
	done := w.awaitState(call, v1alpha1.StateCompleted)
	if text, _ := resultText(t, done); !strings.Contains(text, "late, but here") {
		t.Errorf("result %s", done.Status.Result)
	}
}

func TestLifecycleSaysWhatItWaitsFor_A19_B05(t *testing.T) {
	w := newWorld(t)
	w.controller()
	call := w.call(w.tool())
	pod := w.pod(call)
	w.waits(pod, "ErrImagePull", `failed to pull and unpack image "example.invalid/echo:1": no such host`)
	waiting := w.awaitMessage(call, "example.invalid/echo:1 cannot be pulled: no such host")
	if waiting.Status.State != v1alpha1.StateWorking || waiting.Status.Reason != v1alpha1.ReasonStarting {
		t.Errorf("status %+v", waiting.Status)
	}
	version := waiting.ResourceVersion
	// The kubelet's other words for the same are no news; the next change is that it runs.
	w.setStatus(pod, func(s *corev1.PodStatus) {
		s.ContainerStatuses[0].State.Waiting = &corev1.ContainerStateWaiting{
			Reason: "ImagePullBackOff",
			Message: `Back-off pulling image "example.invalid/echo:1": ErrImagePull: ` +
				`failed to pull and unpack image "example.invalid/echo:1": no such host`,
		}
	})
	next := await(w, call, "nothing new, or running", func(t *v1alpha1.MCPTask) bool {
		if t.ResourceVersion == version {
			w.setStatus(pod, func(s *corev1.PodStatus) {
				s.Phase = corev1.PodRunning
				s.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
			})
			return false
		}
		return true
	})
	if next.Status.Reason != v1alpha1.ReasonRunning {
		t.Errorf("the next change after the pull error is %s: %s", next.Status.Reason, next.Status.Message)
	}
}

func TestLifecycleStartupDeadline_B06(t *testing.T) {
	w := newWorld(t)
	pass := w.timedController()
	call := w.call(w.tool(startsWithin(10 * time.Minute)))
	pod := w.pod(call)
	w.waits(pod, "CreateContainerConfigError", `secret "db" not found`)
	w.awaitMessage(call, `secret "db" not found`)
	pass(time.Hour)
	done := w.awaitState(call, v1alpha1.StateFailed)
	if done.Status.Reason != v1alpha1.ReasonCannotStart || !strings.Contains(done.Status.Error.Message, `secret "db" not found`) {
		t.Errorf("reason %s, error %+v", done.Status.Reason, done.Status.Error)
	}
	if done.Status.Error.Code != -32603 || !strings.Contains(done.Status.Error.Data, `"reason":"CannotStart"`) {
		t.Errorf("error %+v", done.Status.Error)
	}
	if took := done.Status.FinishedAt.Sub(done.CreationTimestamp.Time); took < 10*time.Minute {
		t.Errorf("given up after %v", took)
	}
	w.removes(pod)
	w.awaitGone(w.newJob(call))
}

func TestLifecycleUnusableImageFailsAtOnce_A02_B05(t *testing.T) {
	w := newWorld(t)
	w.controller()
	call := w.call(w.tool())
	pod := w.pod(call)
	w.waits(pod, "InvalidImageName", "")
	done := w.awaitState(call, v1alpha1.StateFailed)
	if done.Status.Reason != v1alpha1.ReasonImagePullFailed {
		t.Errorf("status %+v", done.Status)
	}
	w.removes(pod)
	w.awaitGone(w.newJob(call))
}

// unschedulable is the scheduler's word that no node takes the pod.
func (w *world) unschedulable(pod *corev1.Pod, message string) {
	w.Helper()
	w.setStatus(pod, func(s *corev1.PodStatus) {
		s.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
		}}
	})
}

func TestLifecycleNoNode_B07(t *testing.T) {
	w := newWorld(t)
	pass := w.timedController()
	const message = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. preemption: none"
	arrives := w.call(w.tool(named("arrives")))
	pod := w.pod(arrives)
	w.unschedulable(pod, message)
	w.awaitMessage(arrives, "Waiting for a node")
	w.runs(pod)
	w.exits(pod, "main", 0)
	w.awaitState(arrives, v1alpha1.StateCompleted)

	never := w.call(w.tool(startsWithin(10 * time.Minute)))
	pod = w.pod(never)
	w.unschedulable(pod, message)
	waiting := w.awaitMessage(never, "Waiting for a node: insufficient nvidia.com/gpu.")
	if waiting.Status.State != v1alpha1.StateWorking || waiting.Status.Reason != v1alpha1.ReasonStarting ||
		waiting.Status.StartedAt != nil {
		t.Errorf("status %+v", waiting.Status)
	}
	pass(time.Hour)
	done := w.awaitState(never, v1alpha1.StateFailed)
	if done.Status.Reason != v1alpha1.ReasonUnschedulable ||
		!strings.Contains(done.Status.Error.Message, "insufficient nvidia.com/gpu") {
		t.Errorf("status %+v", done.Status)
	}
	w.wantOneJob(arrives)
}

// newJob names the task's Job, for those who do not mind whether it still exists.
func (w *world) newJob(t *v1alpha1.MCPTask) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: t.Name}}
}
