package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// journal notes all requests that change something at the API server.
type journal struct {
	mu      sync.Mutex
	entries []string
}

func (j *journal) through() func(*setup) {
	return through(func(next http.RoundTripper) transport {
		return func(r *http.Request) (*http.Response, error) {
			answer, err := next.RoundTrip(r)
			if r.Method != http.MethodGet && !strings.Contains(r.URL.RawQuery, "dryRun") {
				status := "no answer"
				if err == nil {
					status = answer.Status
				}
				j.mu.Lock()
				j.entries = append(j.entries, fmt.Sprintf("%s %s: %s", r.Method, r.URL.Path, status))
				j.mu.Unlock()
			}
			return answer, err
		}
	})
}

// about are the entries about the task or its Job.
func (j *journal) about(t *v1alpha1.MCPTask) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(j.entries), func(entry string) bool {
		return !strings.Contains(entry, t.Name) && !strings.Contains(entry, "/jobs:")
	})
}

func TestWritesPerTask_B31(t *testing.T) {
	w := newWorld(t)
	w.logs.set("done", nil)
	var writes journal
	w.controller(writes.through())
	call := w.call(w.tool())
	pod := w.pod(call)
	w.runs(pod)
	w.awaitReason(call, v1alpha1.ReasonRunning)
	w.exits(pod, "main", 0)
	w.awaitState(call, v1alpha1.StateCompleted)
	await(w, w.job(call), "the Job to be let go and complete", func(j *batchv1.Job) bool {
		return j.Spec.TTLSecondsAfterFinished != nil && j.Status.Succeeded == 1
	})
	// The events of the Job and of the pod have all been seen once another task has been through.
	other := w.call(w.newToolRef(call))
	w.cancel(other)
	w.awaitState(other, v1alpha1.StateCancelled)

	got := slices.DeleteFunc(writes.about(call), func(entry string) bool { return strings.Contains(entry, other.Name) })
	jobs := slices.DeleteFunc(slices.Clone(got), func(entry string) bool { return !strings.HasPrefix(entry, "POST") })
	if len(got)-len(jobs) > 4 || len(jobs) > 2 {
		t.Errorf("%d writes for one task, want at most 5:\n%s", len(got), strings.Join(got, "\n"))
	}
	for _, entry := range got {
		if !strings.Contains(entry, ": 20") {
			t.Errorf("a write in vain: %s", entry)
		}
	}
}

// A controller that starts and finds everything as it should be writes nothing.
func TestWritesNothingWhereNothingChanges_B31(t *testing.T) {
	w := newWorld(t)
	w.logs.set("done", nil)
	stop := w.controller()
	tool := w.tool()
	finished, running, waiting := w.call(tool), w.call(tool), w.call(tool)
	pod := w.pod(finished)
	w.runs(pod)
	w.exits(pod, "main", 0)
	w.awaitState(finished, v1alpha1.StateCompleted)
	await(w, w.job(finished), "the Job to be let go", func(j *batchv1.Job) bool { return j.Spec.TTLSecondsAfterFinished != nil })
	w.runs(w.pod(running))
	w.awaitReason(running, v1alpha1.ReasonRunning)
	w.pod(waiting)
	w.awaitMessage(waiting, "node")
	stop()

	var writes journal
	w.controller(writes.through())
	last := w.call(tool)
	w.pod(last)
	w.awaitMessage(last, "node")
	for _, t := range []*v1alpha1.MCPTask{finished, running, waiting} {
		for _, entry := range writes.about(t) {
			if strings.Contains(entry, t.Name) {
				w.Errorf("written without need: %s", entry)
			}
		}
	}
	now := &v1alpha1.MCPTool{}
	w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(tool), now))
	if got := now.Status.ObservedGeneration; got != tool.Generation {
		t.Errorf("the tool's observedGeneration is %d", got)
	}
}
