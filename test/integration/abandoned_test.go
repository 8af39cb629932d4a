package integration

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// Work that nobody asks for any more ends by its deadline, and at once when an operator deletes its task.
func TestAbandonedWork_A18(t *testing.T) {
	w := newWorld(t)
	w.kubelet()
	w.controller()
	call := w.call(w.tool(func(tool *v1alpha1.MCPTool) {
		tool.Spec.Execution.Deadline = metav1.Duration{Duration: 90 * time.Minute}
	}))
	pod := w.pod(call)
	if limit := pod.Spec.ActiveDeadlineSeconds; limit == nil || *limit != 5400 {
		t.Errorf("the pod may run for %v seconds", limit)
	}
	w.runs(pod)
	w.awaitReason(call, v1alpha1.ReasonRunning)
	w.must(admin.Delete(w.ctx, call))
	w.awaitGone(pod)
	w.awaitGone(w.newJob(call))
}
