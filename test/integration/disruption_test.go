package integration

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

func idempotent(tool *v1alpha1.MCPTool) {
	yes := true
	tool.Spec.Annotations = &v1alpha1.ToolAnnotations{IdempotentHint: &yes}
}

func retries(n int32) func(*v1alpha1.MCPTool) {
	return func(tool *v1alpha1.MCPTool) { tool.Spec.Execution.Retries = n }
}

// evicts asks for a pod's eviction, as a drained node or an autoscaler does.
func (w *world) evicts(pod *corev1.Pod) {
	w.Helper()
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	w.must(admin.SubResource("eviction").Create(w.ctx, pod, eviction))
}

// podAfter is the task's next pod after one that is gone.
func (w *world) podAfter(t *v1alpha1.MCPTask, gone *corev1.Pod) *corev1.Pod {
	w.Helper()
	next := w.pod(t)
	if next.UID == gone.UID {
		w.Fatalf("pod %s is still there", gone.Name)
	}
	return next
}

// podsOf are the task's pods as they are now.
func (w *world) podsOf(t *v1alpha1.MCPTask) []corev1.Pod {
	w.Helper()
	var pods corev1.PodList
	w.must(admin.List(w.ctx, &pods, client.InNamespace(w.ns), client.MatchingLabels{v1alpha1.LabelTask: t.Name}))
	return pods.Items
}

// Autoscalers are asked to leave the pod alone; where one is evicted all the same, the tool's word says what becomes of the work.
func TestEviction_B39(t *testing.T) {
	t.Run("B39: told as what it was", func(t *testing.T) {
		w := newWorld(t)
		w.controller()
		call := w.call(w.tool())
		pod := w.pod(call)
		for name, want := range map[string]string{
			"karpenter.sh/do-not-disrupt": "true", "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
		} {
			if pod.Annotations[name] != want {
				t.Errorf("the pod has %s: %q", name, pod.Annotations[name])
			}
		}
		w.runs(pod)
		w.awaitReason(call, v1alpha1.ReasonRunning)
		w.evicts(pod)
		w.stops(pod, 143)
		done := w.awaitState(call, v1alpha1.StateFailed)
		if done.Status.Reason != v1alpha1.ReasonDisrupted || !strings.Contains(done.Status.Error.Message, "evicted") ||
			!strings.Contains(done.Status.Error.Message, "may have had effects") {
			t.Errorf("reason %s, error %+v", done.Status.Reason, done.Status.Error)
		}
		w.wantOneJob(call)
	})
	t.Run("B39: retried by the tool's word, and not counted", func(t *testing.T) {
		w := newWorld(t)
		w.logs.set("done", nil)
		w.controller()
		call := w.call(w.tool(idempotent))
		pod := w.pod(call)
		for range 2 {
			w.runs(pod)
			w.awaitReason(call, v1alpha1.ReasonRunning)
			w.evicts(pod)
			w.exits(pod, "main", 143)
			w.awaitMessage(call, "was stopped: its pod was evicted; waiting for the next one")
			w.removes(pod)
			pod = w.podAfter(call, pod)
		}
		w.runs(pod)
		w.exits(pod, "main", 0)
		w.awaitState(call, v1alpha1.StateCompleted)
		if job := w.job(call); job.Status.Failed != 0 {
			t.Errorf("%d disruptions are counted as failures", job.Status.Failed)
		}
		w.wantOneJob(call)
	})
}

// A node that does not answer any more leaves a pod that is told to stop, and of which nobody says whether it has.
func TestLostNode_B15(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	clock := testclock.NewFakePassiveClock(now)
	at := func(s *setup) { s.options.Clock = clock }
	stop := w.controller(at)
	call := w.call(w.tool())
	pod := w.pod(call)
	w.runs(pod)
	w.awaitReason(call, v1alpha1.ReasonRunning)
	w.must(admin.Delete(w.ctx, pod))
	w.setStatus(pod, func(s *corev1.PodStatus) {
		s.Phase, s.Reason, s.ContainerStatuses = corev1.PodUnknown, "NodeLost", nil
	})
	stop()
	clock.SetTime(now.Add(10 * time.Minute))
	w.controller(at)
	done := w.awaitState(call, v1alpha1.StateFailed)
	if done.Status.Reason != v1alpha1.ReasonDisrupted || !strings.Contains(done.Status.Error.Message, "may still be going on") {
		t.Errorf("reason %s, error %+v", done.Status.Reason, done.Status.Error)
	}
	w.wantOneJob(call)
	if pods := w.podsOf(call); len(pods) != 1 || pods[0].UID != pod.UID {
		t.Errorf("pods %v beside the one that is lost", pods)
	}
	w.removes(pod) // The node is back, or somebody has seen that it never will be.
	w.awaitGone(w.newJob(call))
}

// Where a tool allows retries, the second copy waits until the first is known to have ended.
func TestLostNodeAndRetries_B15(t *testing.T) {
	w := newWorld(t)
	w.logs.set("done", nil)
	w.controller()
	tool := w.tool(retries(1))
	call := w.call(tool)
	pod := w.pod(call)
	w.runs(pod)
	w.awaitReason(call, v1alpha1.ReasonRunning)
	w.must(admin.Delete(w.ctx, pod))
	// The Job controller, which has had its chance once it has made the pod of a later Job, makes no second one.
	w.pod(w.call(tool))
	if pods := w.podsOf(call); len(pods) != 1 {
		t.Fatalf("%d pods while the first may still run", len(pods))
	}
	w.stops(pod, 143)
	second := w.podAfter(call, pod)
	w.runs(second)
	w.exits(second, "main", 0)
	w.awaitState(call, v1alpha1.StateCompleted)
	w.wantOneJob(call)
}
