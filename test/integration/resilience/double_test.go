//go:build unix

package resilience

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// A Job has a second pod, as after a create whose answer was lost. The Job controller deletes one of the two when it notices; the
// task goes on with the other one and has its result.
func TestDouble_B36(t *testing.T) {
	w := newWorld(t)
	finish := make(chan struct{})
	n := startNode(t, w.namespace, until(finish))
	w.offer()
	w.awaitLeader(w.controller())
	c := w.client(w.endpoint(endpointConfig))
	w.awaitOffered(c)
	id := w.call(c)
	w.awaitReason(id, v1alpha1.ReasonRunning)

	pods := func() []corev1.Pod {
		t.Helper()
		var list corev1.PodList
		w.must(cluster.List(t.Context(), &list, client.InNamespace(w.namespace), client.MatchingLabels{v1alpha1.LabelTask: id}))
		return list.Items
	}
	first := pods()
	if len(first) != 1 {
		t.Fatalf("there are %d pods", len(first))
	}
	job := &batchv1.Job{}
	w.must(cluster.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: id}, job))
	of := first[0].ObjectMeta
	double := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, GenerateName: of.GenerateName, Labels: of.Labels, Annotations: of.Annotations,
			OwnerReferences: of.OwnerReferences, Finalizers: of.Finalizers,
		},
		Spec: job.Spec.Template.Spec,
	}
	w.must(cluster.Create(t.Context(), double))
	w.eventually("one of the two pods is gone", func() bool {
		left := pods()
		return len(left) == 1 && left[0].DeletionTimestamp == nil
	})
	if task := w.record(id); task.Status.Reason != v1alpha1.ReasonRunning || strings.Contains(task.Status.Message, "stopped") {
		t.Errorf("the task is %s (%s: %s) while its other pod runs", task.Status.State, task.Status.Reason, task.Status.Message)
	}
	close(finish)
	w.eventually("the task has ended", func() bool { return w.record(id).Status.State.Terminal() })
	task := w.record(id)
	w.wantDone(n, task)
	w.wantOneJobEach([]v1alpha1.MCPTask{*task})
}
