package task

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

func TestHeldUp_B42(t *testing.T) {
	record := &v1alpha1.MCPTask{}
	record.Status.State, record.Status.Reason = v1alpha1.StateWorking, v1alpha1.ReasonRunning
	for _, tc := range []struct {
		name   string
		v      Verdict
		t      *v1alpha1.MCPTask
		reason string
	}{
		{"what is known stays", Verdict{State: v1alpha1.StateWorking, Reason: v1alpha1.ReasonCancelling, Next: NextStop}, record,
			v1alpha1.ReasonCancelling},
		{"an end that has to wait is not one", Verdict{State: v1alpha1.StateFailed, Reason: v1alpha1.ReasonUnschedulable,
			Error: &v1alpha1.TaskError{Message: "m"}, Next: NextStop}, record, v1alpha1.ReasonRunning},
		{"what passes is not recorded", Verdict{State: v1alpha1.StateWorking, Reason: v1alpha1.ReasonStarting, Passing: true}, record,
			v1alpha1.ReasonRunning},
		{"a new task", Verdict{State: v1alpha1.StateWorking, Reason: v1alpha1.ReasonQueued, Passing: true}, &v1alpha1.MCPTask{},
			v1alpha1.ReasonQueued},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.v.HeldUp(tc.t, "mcptasks has no right to delete jobs")
			if got.State != v1alpha1.StateWorking || got.Reason != tc.reason || got.Error != nil || got.Next != NextNothing ||
				got.Passing || !strings.Contains(got.Message, "no right to delete jobs") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// Where events cannot be read, the message says so instead of guessing, and the deadline counts nevertheless.
func TestEventsThatCannotBeRead_B42(t *testing.T) {
	unread := func(o *Observation) { o.Events, o.NoEvents = []corev1.Event{}, "mcptasks has no right to list events" }
	for seconds, want := range map[int]v1alpha1.TaskState{10: v1alpha1.StateWorking, 601: v1alpha1.StateFailed} {
		v := Decide(newScene().job().clock(seconds).with(unread).Observation)
		if v.State != want || !strings.Contains(v.Message, "no right to list events") {
			t.Errorf("after %d s: %s (%s)", seconds, v.State, v.Message)
		}
	}
}
