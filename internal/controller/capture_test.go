package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/task"
)

// logOf is a log that reads as it does, of a cluster that keeps no streams apart.
type logOf func() (job.Output, error)

func (l logOf) Tail(context.Context, types.NamespacedName, string, int64) (job.Output, error) {
	return l()
}

func (l logOf) Errors(context.Context, types.NamespacedName, string, int64) ([]byte, int64, error) {
	return nil, 0, errors.New("may not be specified")
}

// splitLog is a log of a cluster that keeps the streams apart.
type splitLog struct {
	logOf
	asked int64
}

func (l *splitLog) Errors(_ context.Context, _ types.NamespacedName, _ string, limit int64) ([]byte, int64, error) {
	l.asked = limit
	return []byte("no such table"), 13, nil
}

func TestCapture_B18_IsPatientButNotForEver(t *testing.T) {
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
		t.Errorf("%d tasks are remembered for nothing", len(c.failing))
	}
}

// TestCaptureCountsEachPodForItself: a retry's log has its own minute.
func TestCaptureCountsEachPodForItself(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Now())
	c := capture{logs: logOf(func() (job.Output, error) { return job.Output{}, errors.New("connection refused") }), clock: clock}
	o := task.Observation{Task: &v1alpha1.MCPTask{}}
	for _, uid := range []types.UID{"first", "second"} {
		err := c.read(t.Context(), &o, task.Verdict{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}}})
		if o.Output != nil || err == nil {
			t.Errorf("%s: output %v, error %v", uid, o.Output, err)
		}
		clock.SetTime(clock.Now().Add(patience))
	}
	c.forget(client.ObjectKey{})
	if len(c.failing) != 0 {
		t.Errorf("%d tasks are remembered for nothing", len(c.failing))
	}
}

func TestCaptureReadsErrorOutput(t *testing.T) {
	whole, cut := job.Output{Data: []byte("hello"), Total: 5}, job.Output{Data: []byte("hello"), Total: 1 << 20}
	for _, tt := range []struct {
		name   string
		failed bool
		log    job.Output
		want   string
	}{
		{"of a tool that failed, where the log is cut", true, cut, "no such table"},
		{"not where the log has it", true, whole, ""},
		{"not of a tool that succeeded", false, cut, ""},
	} {
		logs := &splitLog{logOf: func() (job.Output, error) { return tt.log, nil }}
		c := capture{logs: logs, clock: testclock.NewFakePassiveClock(time.Now())}
		o := task.Observation{Task: &v1alpha1.MCPTask{}}
		o.Task.Spec.Result.Limit = resource.MustParse("256Ki")
		if err := c.read(t.Context(), &o, task.Verdict{Pod: &corev1.Pod{}, Errors: tt.failed}); err != nil {
			t.Fatal(err)
		}
		if got := string(o.Output.Errors); got != tt.want || (logs.asked > 0) != (tt.want != "") {
			t.Errorf("%s: got %q, asked for %d bytes", tt.name, got, logs.asked)
		}
	}
	c := capture{logs: logOf(func() (job.Output, error) { return cut, nil }), clock: testclock.NewFakePassiveClock(time.Now())}
	o := task.Observation{Task: &v1alpha1.MCPTask{}}
	err := c.read(t.Context(), &o, task.Verdict{Pod: &corev1.Pod{}, Errors: true})
	if err != nil || o.Output == nil || o.Output.Errors != nil || o.Output.Unavailable != "" {
		t.Errorf("a cluster that keeps no streams apart: %+v, %v", o.Output, err)
	}
}

func TestCaptureLinksToTheLog(t *testing.T) {
	for _, linked := range []bool{true, false} {
		c := capture{logs: logOf(func() (job.Output, error) { return job.Output{}, nil }), linked: linked}
		o := task.Observation{Task: &v1alpha1.MCPTask{ObjectMeta: metav1.ObjectMeta{Name: "t-abc"}}}
		if err := c.read(t.Context(), &o, task.Verdict{Pod: &corev1.Pod{}}); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]string{true: "mcptasks:///t-abc/log"}[linked]; o.Output.URI != want {
			t.Errorf("linked %t: %q", linked, o.Output.URI)
		}
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
