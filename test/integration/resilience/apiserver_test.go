//go:build unix

package resilience

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// The API server goes away while fifty calls are made. Each of them gets a task or an error in words; who got an error and calls
// again with the same key gets the one task that the call is, and each task is run once.
func TestCallsWhileTheAPIServerIsAway_A20_B36(t *testing.T) {
	const calls, before = 50, 10
	w := newWorld(t)
	components := w.breakable()
	n := startNode(t, w.namespace, atOnce)
	w.offer()
	controller := w.controller()
	w.awaitLeader(controller)
	replicas := []*replica{w.endpoint(endpointConfig), w.endpoint(endpointConfig)}
	for _, r := range replicas {
		w.awaitOffered(w.client(r))
	}
	call := func(i int) (*mcpclient.Call, error) {
		c := keyed(w.client(replicas[i%len(replicas)]), fmt.Sprintf("call-%d", i))
		return c.CallTool(t.Context(), toolName, map[string]any{"n": i})
	}
	ids, failures := make([]string, calls), make([]error, calls)
	attempt := func(i int) {
		called, err := call(i)
		if failures[i] = err; err == nil {
			ids[i] = called.Task.TaskID
		}
	}
	for i := range before {
		attempt(i)
	}
	var calling sync.WaitGroup
	for i := before; i < calls; i++ {
		calling.Go(func() { attempt(i) })
	}
	components.Stop("kube-apiserver") // while they are under way
	if _, err := call(0); err == nil {
		t.Error("a call was answered while the API server was away: this test shows nothing")
	}
	calling.Wait()
	components.Start("kube-apiserver")

	refused := 0
	for i, err := range failures {
		var told *mcpclient.Error
		switch {
		case err == nil:
			continue
		case !errors.As(err, &told) || told.Message == "":
			t.Errorf("call %d was answered neither by a task nor by an error of the protocol: %v", i, err)
		}
		refused++
	}
	t.Logf("%d of %d calls were answered by an error", refused, calls)
	for i, first := range ids {
		called, err := insist(t.Context(), func() (*mcpclient.Call, error) { return call(i) })
		switch {
		case err != nil:
			t.Fatalf("call %d: %v", i, err)
		case first != "" && called.Task.TaskID != first:
			t.Errorf("call %d has become the tasks %s and %s", i, first, called.Task.TaskID)
		}
		ids[i] = called.Task.TaskID
	}
	w.eventually("all have ended", func() bool {
		if controller.HasEnded() { // its lease could not be renewed
			controller = w.controller()
		}
		return !slices.ContainsFunc(w.tasks(), func(t v1alpha1.MCPTask) bool { return !t.Status.State.Terminal() })
	})
	tasks := w.tasks()
	if len(tasks) != calls {
		t.Errorf("%d calls have become %d tasks", calls, len(tasks))
	}
	for i := range tasks {
		w.wantOnce(n, &tasks[i])
	}
	w.wantOneJobEach(tasks)
}

// The API server is restarted while an endpoint with hundreds of listeners is held up: it remembers nothing of what the endpoint
// missed. All of them hear of it, and of what comes after.
func TestListenersThroughARestartOfTheAPIServer_A24(t *testing.T) {
	const listeners = 300
	w := newWorld(t)
	components := w.breakable()
	w.ready(w.offer())
	r := w.endpoint(endpointConfig, "--caller-streams", "0", "--streams", "0")
	c := w.client(r)
	w.awaitOffered(c)
	ids, heard := make([]string, listeners), make([]*mcpclient.Listener, listeners)
	for i := range ids {
		ids[i] = w.call(c)
		var err error
		heard[i], err = c.Listen(t.Context(), mcpclient.Filter{TaskIDs: ids[i : i+1]})
		w.must(err)
		defer func() { _ = heard[i].Close() }()
		w.hear(heard[i], ids[i], "working", "")
	}

	r.Pause()
	w.each(ids, "missed", v1alpha1.StateWorking)
	components.Restart("kube-apiserver")
	r.Resume()
	for i := range ids {
		w.hear(heard[i], ids[i], "working", "missed")
	}
	w.each(ids, "the end", v1alpha1.StateCompleted)
	for i := range ids {
		w.hear(heard[i], ids[i], "completed", "the end")
	}
}

// each changes the status of all tasks, as the controller does.
func (w *world) each(ids []string, message string, state v1alpha1.TaskState) {
	w.Helper()
	var writing sync.WaitGroup
	turns := make(chan struct{}, 16)
	for _, id := range ids {
		turns <- struct{}{}
		writing.Go(func() {
			defer func() { <-turns }()
			task := &v1alpha1.MCPTask{}
			err := cluster.Get(w.Context(), types.NamespacedName{Namespace: w.namespace, Name: id}, task)
			if err == nil {
				now := metav1.NowMicro()
				s := &task.Status
				s.State, s.Reason, s.Message, s.LastUpdatedAt = state, v1alpha1.ReasonRunning, message, &now
				if state == v1alpha1.StateCompleted {
					s.Reason, s.FinishedAt = v1alpha1.ReasonSucceeded, &now
					s.Result = `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`
				}
				err = cluster.Status().Update(w.Context(), task)
			}
			if err != nil {
				w.Errorf("change task %s: %v", id, err)
			}
		})
	}
	writing.Wait()
}

// hear waits for a notification that says this of a task. It may follow others.
func (w *world) hear(listener *mcpclient.Listener, id, status, message string) {
	w.Helper()
	for {
		event, err := listener.Next()
		switch {
		case err != nil:
			w.Fatalf("the stream about task %s: %v", id, err)
		case event.Task == nil || event.Task.TaskID != id:
			w.Fatalf("the stream about task %s says %s %s", id, event.Method, event.Params)
		case event.Task.Status == status && strings.Contains(event.Task.StatusMessage, message):
			return
		}
	}
}
