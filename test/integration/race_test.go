package integration

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// ends watches how tasks end: how often, as what, and that nothing changes afterwards.
type ends struct {
	mu   sync.Mutex
	last map[string]*v1alpha1.MCPTask
}

func watchEnds(w *world) *ends {
	e := &ends{last: map[string]*v1alpha1.MCPTask{}}
	ctx, cancel := context.WithCancel(context.Background())
	changes := w.watch(ctx, &v1alpha1.MCPTaskList{}, client.InNamespace(w.ns))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for change := range changes.ResultChan() {
			if now, ok := change.Object.(*v1alpha1.MCPTask); ok && change.Type == "MODIFIED" {
				e.see(w, now)
			}
		}
	}()
	w.Cleanup(func() { cancel(); <-done })
	return e
}

func (e *ends) see(w *world, now *v1alpha1.MCPTask) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if before := e.last[now.Name]; before != nil && (before.Status.State != now.Status.State ||
		before.Status.Result != now.Status.Result || !before.Status.LastUpdatedAt.Equal(now.Status.LastUpdatedAt)) {
		w.Errorf("task %s was %s and became %s after its end", now.Name, before.Status.State, now.Status.State)
	}
	if now.Status.State.Terminal() {
		e.last[now.Name] = now
	}
}

// A cancel and the end of the work fall together, in both orders: the task ends once, as one or the other, and stays so.
func TestCancelRacesWithTheEnd_A09_B41(t *testing.T) {
	const tasks = 40
	w := newWorld(t)
	w.kubelet()
	w.logs.set("done", nil)
	watchEnds(w)
	w.controller()
	tool := w.tool()
	var calls []*v1alpha1.MCPTask
	for range tasks {
		calls = append(calls, w.call(tool))
	}
	states := map[v1alpha1.TaskState]int{}
	for i, call := range calls {
		pod := w.pod(call)
		w.runs(pod)
		w.awaitReason(call, v1alpha1.ReasonRunning)
		var both sync.WaitGroup
		both.Go(func() { w.cancel(call) })
		if i%2 == 0 {
			both.Wait()
		}
		// Its pod may be gone by now, for the cancel.
		before := pod.DeepCopy()
		terminate(&pod.Status, "main", 0)
		w.must(client.IgnoreNotFound(admin.Status().Patch(w.ctx, pod, client.MergeFrom(before))))
		both.Wait()
	}
	for _, call := range calls {
		done := await(w, call, "its end", func(t *v1alpha1.MCPTask) bool { return t.Status.State.Terminal() })
		states[done.Status.State]++
	}
	if states[v1alpha1.StateCompleted]+states[v1alpha1.StateCancelled] != tasks {
		t.Errorf("the tasks ended as %v", states)
	}
	// Whatever else would come of the cancels has come once a task that is created after them has ended.
	last := w.call(tool)
	w.cancel(last)
	w.awaitState(last, v1alpha1.StateCancelled)
	for _, call := range calls {
		w.wantOneJob(call)
	}
}

// Between the controller's look at the work that is done and the record of it, somebody cancels: the work stays done.
func TestCancelBeforeTheEndIsRecorded_A09(t *testing.T) {
	w := newWorld(t)
	w.logs.set("done", nil)
	watchEnds(w)
	var call *v1alpha1.MCPTask
	var cancelled atomic.Bool
	w.controller(through(func(next http.RoundTripper) transport {
		return func(r *http.Request) (*http.Response, error) {
			if writesStatus(r) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				if strings.Contains(string(body), `"state":"completed"`) && cancelled.CompareAndSwap(false, true) {
					w.cancel(call)
				}
			}
			return next.RoundTrip(r)
		}
	}))
	call = w.call(w.tool())
	pod := w.pod(call)
	w.runs(pod)
	w.awaitReason(call, v1alpha1.ReasonRunning)
	w.exits(pod, "main", 0)
	w.awaitState(call, v1alpha1.StateCompleted)
	if !cancelled.Load() {
		t.Error("nobody cancelled: this test shows nothing")
	}
	w.wantOneJob(call)
}
