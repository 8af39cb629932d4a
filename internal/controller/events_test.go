package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/task"
)

// TestEvents of tasks that ended: on a real API server a namespace that ends takes its tasks with it in no order that a test
// could rely on.
func TestEvents(t *testing.T) {
	now := metav1.Now()
	c := &taskController{client: fake.NewClientBuilder().WithObjects(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "stays"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ends", DeletionTimestamp: &now, Finalizers: []string{"kubernetes"}}},
	).Build()}
	for _, test := range []struct {
		namespace string
		state     v1alpha1.TaskState
		want      int
	}{
		{"stays", v1alpha1.StateFailed, 1},
		{"stays", v1alpha1.StateCancelled, 1},
		{"stays", v1alpha1.StateCompleted, 0},
		{"stays", v1alpha1.StateWorking, 0},
		{"ends", v1alpha1.StateFailed, 0},
		{"ends", v1alpha1.StateCancelled, 0},
		{"gone", v1alpha1.StateFailed, 0},
	} {
		recorder := events.NewFakeRecorder(10)
		c.events = recorder
		ended := &v1alpha1.MCPTask{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace, Name: "t-1"}}
		ended.Status.State, ended.Status.Reason = test.state, v1alpha1.ReasonJobDeleted
		c.announce(t.Context(), ended, task.Verdict{})
		if got := len(recorder.Events); got != test.want {
			t.Errorf("%s in a namespace that %s: %d events, want %d", test.state, test.namespace, got, test.want)
		}
	}
}
