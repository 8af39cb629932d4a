//go:build unix

package resilience

import (
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/integration/setup"
)

// atOnce is the work of a container that has nothing to do.
func atOnce(string, <-chan struct{}) {}

// until is the work of a container that is done when ended is closed.
func until(ended <-chan struct{}) func(string, <-chan struct{}) {
	return func(_ string, stop <-chan struct{}) {
		select {
		case <-ended:
		case <-stop:
		}
	}
}

// changes are the requests that a program has sent to change something other than a lease.
func changes(through *setup.Proxy) []setup.Request {
	return through.Requests(func(r setup.Request) bool { return r.Writes() && !strings.Contains(r.Path, "/leases") })
}

// A leader that is held up until another one leads writes nothing when it goes on, although there is news for it, and ends.
func TestHeldUpLeader_B30(t *testing.T) {
	w := newWorld(t)
	goOn := make(chan struct{})
	n := startNode(t, w.namespace, until(goOn))
	w.offer()
	through := setup.NewProxy(t, controllerConfig)
	old := w.controllerWith(through.Kubeconfig)
	w.awaitLeader(old)
	c := w.client(w.endpoint(endpointConfig))
	w.awaitOffered(c)
	var ids []string
	for range 10 {
		ids = append(ids, w.call(c))
	}
	for _, id := range ids {
		w.awaitReason(id, v1alpha1.ReasonRunning) // so that no write of that is under way when it is stopped
	}

	next := w.controller()
	old.Pause()
	w.awaitLeader(next)
	before := len(changes(through))
	close(goOn)
	for range 10 {
		ids = append(ids, w.call(c)) // it has heard of none of these
	}
	ends := w.watchEndings()
	w.eventually("all have ended", func() bool { return ends.ended() == len(ids) })
	old.Resume()
	if err := old.AwaitEnd(); err == nil {
		t.Error("it ended as if all were well")
	}
	for _, r := range changes(through)[before:] {
		t.Errorf("it wrote when it did not lead any more: %s %s (%d)", r.Method, r.Path, r.Status)
	}
	for _, id := range ids {
		w.wantOnce(n, w.record(id))
	}
	w.wantOneJobEach(w.tasks())
}

// Where two lead all the same, since their leases are not the same, no task has two Jobs or two ends.
func TestTwoLeaders_B30_B03(t *testing.T) {
	const calls = 60
	w := newWorld(t)
	n := startNode(t, w.namespace, atOnce)
	w.offer()
	one, two := w.controller(), w.controller("--lease-namespace", renamed)
	w.eventually("both lead", func() bool { return leads(one) && leads(two) })
	// The name is the same in every release: else an upgrade would have two leaders.
	for _, namespace := range []string{release, renamed} {
		key := types.NamespacedName{Namespace: namespace, Name: "mcptasks-controller"}
		w.must(cluster.Get(t.Context(), key, &coordinationv1.Lease{}))
	}
	c := w.client(w.endpoint(endpointConfig))
	w.awaitOffered(c)
	ends := w.watchEndings()
	var calling sync.WaitGroup
	for range calls {
		calling.Go(func() {
			if _, err := c.CallTool(t.Context(), toolName, nil); err != nil {
				t.Error(err)
			}
		})
	}
	calling.Wait()
	w.eventually("all have ended", func() bool { return ends.ended() == calls })
	tasks := w.tasks()
	if len(tasks) != calls {
		t.Errorf("%d calls have become %d tasks", calls, len(tasks))
	}
	for i := range tasks {
		w.wantOnce(n, &tasks[i])
	}
	w.wantOneJobEach(tasks)
	if !leads(one) || !leads(two) {
		t.Error("not both led all the time: this test shows nothing")
	}
}
