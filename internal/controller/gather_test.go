package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
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

// shelf has the logs of pods by name, or why one cannot be read, and counts how often each is asked for.
type shelf struct {
	mu     sync.Mutex
	errors map[string]error
	size   int
	asked  map[string]int
}

func (s *shelf) Tail(_ context.Context, pod types.NamespacedName, _ string, limit int64) (job.Output, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[pod.Name]++
	if err := s.errors[pod.Name]; err != nil {
		return job.Output{}, err
	}
	return job.Output{Data: bytes.Repeat([]byte("x"), min(s.size, int(limit))), Total: int64(s.size)}, nil
}

func (s *shelf) Errors(context.Context, types.NamespacedName, string, int64) ([]byte, int64, error) {
	return nil, 0, errors.New("not asked for")
}

func severalPods(n int) (o task.Observation, v task.Verdict) {
	o.Task = &v1alpha1.MCPTask{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "t-1", UID: "task"}}
	o.Task.Spec.Result.Limit = resource.MustParse("1Ki")
	for i := range n {
		name := fmt.Sprintf("p-%d", i)
		v.Pods = append(v.Pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: types.UID(name)}})
	}
	return o, v
}

func TestGatherReadsEachLogOnce(t *testing.T) {
	o, v := severalPods(20)
	logs := &shelf{asked: map[string]int{}, size: 10, errors: map[string]error{
		"p-3": errors.New("connection refused"),
		"p-5": apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "p-5"),
	}}
	c := capture{logs: logs, clock: testclock.NewFakePassiveClock(time.Now())}
	var later *notYetError
	if err := c.readAll(t.Context(), &o, v); !errors.As(err, &later) || later.after <= 0 || o.Outputs != nil {
		t.Fatalf("with a log missing: %d outputs, error %v", len(o.Outputs), err)
	}
	delete(logs.errors, "p-3")
	if err := c.readAll(t.Context(), &o, v); err != nil {
		t.Fatal(err)
	}
	for _, pod := range v.Pods {
		output, ok := o.Outputs[pod.UID]
		gone := pod.Name == "p-5"
		if !ok || (output.Unavailable != "") != gone || len(output.Data) == 10 == gone {
			t.Errorf("%s: %+v", pod.Name, output)
		}
		want := 1
		if pod.Name == "p-3" {
			want = 2
		}
		if n := logs.asked[pod.Name]; n != want {
			t.Errorf("the log of %s was read %d times, want %d", pod.Name, n, want)
		}
	}
	if len(c.gathered) != 0 || len(c.failing) != 0 {
		t.Errorf("remembered for nothing: %d tasks, %d pods", len(c.gathered), len(c.failing))
	}
}

func TestGatherGivesUpOnOneLog(t *testing.T) {
	o, v := severalPods(3)
	logs := &shelf{asked: map[string]int{}, size: 10, errors: map[string]error{"p-1": errors.New("connection refused")}}
	clock := testclock.NewFakePassiveClock(time.Now())
	c := capture{logs: logs, clock: clock}
	if err := c.readAll(t.Context(), &o, v); err == nil {
		t.Fatal("no patience")
	}
	clock.SetTime(clock.Now().Add(patience))
	if err := c.readAll(t.Context(), &o, v); err != nil {
		t.Fatal(err)
	}
	if o.Outputs["p-1"].Unavailable == "" || string(o.Outputs["p-2"].Data) != "xxxxxxxxxx" {
		t.Errorf("outputs %+v", o.Outputs)
	}
}

// However much the pods have printed, what is kept of it has a bound.
func TestGatherIsBounded(t *testing.T) {
	o, v := severalPods(500)
	c := capture{logs: &shelf{asked: map[string]int{}, size: 1 << 20}, clock: testclock.NewFakePassiveClock(time.Now())}
	if err := c.readAll(t.Context(), &o, v); err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, output := range o.Outputs {
		kept += cap(output.Data)
		if output.Total != 1<<20 || len(output.Data) == 0 {
			t.Fatalf("%d of %d bytes", len(output.Data), output.Total)
		}
	}
	// Small allocations take a few bytes more than asked for.
	if limit := 2<<10 + 16*len(o.Outputs); kept > limit {
		t.Errorf("%d bytes are kept, want at most %d", kept, limit)
	}
}

func TestGatherForgetsTasksThatAreGone(t *testing.T) {
	o, v := severalPods(2)
	logs := &shelf{asked: map[string]int{}, size: 10, errors: map[string]error{"p-1": errors.New("connection refused")}}
	c := capture{logs: logs, clock: testclock.NewFakePassiveClock(time.Now())}
	if err := c.readAll(t.Context(), &o, v); err == nil || len(c.gathered) != 1 {
		t.Fatalf("%d tasks, error %v", len(c.gathered), err)
	}
	// A task of the same name is not the same.
	o.Task.UID = "another"
	if err := c.readAll(t.Context(), &o, v); err == nil || logs.asked["p-0"] != 2 {
		t.Errorf("the log of another task's pod was read %d times, error %v", logs.asked["p-0"], err)
	}
	c.forget(client.ObjectKeyFromObject(o.Task))
	if len(c.gathered) != 0 {
		t.Errorf("%d tasks are remembered", len(c.gathered))
	}
}
