package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/task"
)

// logOf is a log that reads as it does.
type logOf func() (job.Output, error)

func (l logOf) Tail(context.Context, types.NamespacedName, string, int64) (job.Output, error) {
	return l()
}

func TestCaptureIsPatientButNotForEver(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Now())
	answer := logOf(func() (job.Output, error) { return job.Output{}, errors.New("connection refused") })
	c := capture{logs: answer, clock: clock}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "pod"}}
	read := func() (*job.Output, error) {
		o := task.Observation{Task: &v1alpha1.MCPTask{}}
		err := c.read(t.Context(), &o, task.Verdict{Pod: pod, Container: "main"})
		return o.Output, err
	}
	for began := clock.Now(); clock.Since(began) < patience; {
		out, err := read()
		var later *notYetError
		if out != nil || !errors.As(err, &later) || later.after <= 0 || later.after > 5*time.Second {
			t.Fatalf("after %v: output %v, error %v", clock.Since(began), out, err)
		}
		clock.SetTime(clock.Now().Add(later.after))
	}
	out, err := read()
	if err != nil || out == nil || out.Unavailable == "" {
		t.Fatalf("in the end: output %v, error %v", out, err)
	}
	if len(c.failing) != 0 {
		t.Errorf("%d pods are remembered for nothing", len(c.failing))
	}
}

func TestCaptureDoesNotWaitForWhatIsGone(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "p")
	answer := logOf(func() (job.Output, error) { return job.Output{}, gone })
	c := capture{logs: answer, clock: testclock.NewFakePassiveClock(time.Now())}
	o := task.Observation{Task: &v1alpha1.MCPTask{}}
	err := c.read(t.Context(), &o, task.Verdict{Pod: &corev1.Pod{}})
	if err != nil || o.Output == nil || o.Output.Unavailable == "" {
		t.Errorf("output %v, error %v", o.Output, err)
	}
}
