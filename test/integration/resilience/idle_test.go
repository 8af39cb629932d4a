//go:build unix

package resilience

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/integration/setup"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// renewals are how often a controller has renewed its lease.
func renewals(through *setup.Proxy) int {
	return len(through.Requests(func(r setup.Request) bool {
		return r.Method == http.MethodPut && strings.Contains(r.Path, "/leases/") && r.Status == http.StatusOK
	}))
}

// While nothing happens, nothing is written but the lease, and no task is looked at; and what happens to one task costs the
// writes that it takes.
func TestIdleClusterIsNotWrittenTo_B31(t *testing.T) {
	const finished, running, quiet = 5, 40, 10
	w := newWorld(t)
	var hold atomic.Bool
	n := startNode(t, w.namespace, func(_ string, stop <-chan struct{}) {
		if hold.Load() {
			<-stop
		}
	})
	w.offer()
	ofController, ofEndpoint := setup.NewProxy(t, controllerConfig), setup.NewProxy(t, endpointConfig)
	leader := w.controllerWith(ofController.Kubeconfig)
	w.awaitLeader(leader)
	c := w.client(w.endpoint(ofEndpoint.Kubeconfig))
	w.awaitOffered(c)

	for range finished {
		id := w.call(c)
		w.awaitReason(id, v1alpha1.ReasonSucceeded)
		w.eventually("its Job is let go", func() bool {
			job := &batchv1.Job{}
			w.must(cluster.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: id}, job))
			return job.Spec.TTLSecondsAfterFinished != nil
		})
	}
	hold.Store(true)
	var ids []string
	for range running {
		ids = append(ids, w.call(c))
	}
	for _, id := range ids {
		w.awaitReason(id, v1alpha1.ReasonRunning)
	}
	listener, err := c.Listen(t.Context(), mcpclient.Filter{TaskIDs: ids, ToolsListChanged: true})
	w.must(err)
	defer func() { _ = listener.Close() }()

	passes := func() float64 { return leader.Metric("controller_runtime_reconcile_total") }
	// The lease tells the time.
	elapse := func(times int) {
		t.Helper()
		until := renewals(ofController) + times
		w.eventually("time passes", func() bool { return renewals(ofController) >= until })
	}
	// Once the news of what has happened are through, nothing but the lease is written for so long.
	still := func() {
		t.Helper()
		w.eventually("all news are through", func() bool {
			before := passes()
			elapse(1)
			return passes() == before
		})
		written, served, before := len(changes(ofController)), len(changes(ofEndpoint)), passes()
		elapse(quiet)
		for _, r := range slices.Concat(changes(ofController)[written:], changes(ofEndpoint)[served:]) {
			t.Errorf("written without need: %s %s (%d)", r.Method, r.Path, r.Status)
		}
		if more := passes() - before; more > 0 {
			t.Errorf("%g passes over what has not changed", more)
		}
	}
	still()

	before := len(changes(ofController))
	id := ids[0]
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: id}}
	w.must(cluster.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	w.eventually("the task has ended, and an event says so", func() bool {
		return w.record(id).Status.State.Terminal() &&
			slices.ContainsFunc(changes(ofController)[before:], func(r setup.Request) bool { return strings.HasSuffix(r.Path, "/events") })
	})
	still()
	var about []string
	for _, r := range changes(ofController)[before:] {
		if strings.Contains(r.Path, id) {
			about = append(about, r.Method+" "+r.Path)
		}
	}
	if len(about) > 2 {
		t.Errorf("%d writes for the task whose Job was deleted:\n%s", len(about), strings.Join(about, "\n"))
	}
	if n.executions(id) != 1 {
		t.Errorf("the container of %s was started %d times", id, n.executions(id))
	}
}

// However much of other people's there is in the cluster, the programs keep, and are sent, only what belongs to tasks.
func TestWhatIsKeptInMemory_B33(t *testing.T) {
	const pods, secrets, padding, enough = 300, 60, 8 << 10, 1 << 20
	w := newWorld(t)
	for kind, n := range map[string]int{"Pod": pods, "Secret": secrets} {
		w.litter(kind, n, padding)
	}
	ofController, ofEndpoint := setup.NewProxy(t, controllerConfig), setup.NewProxy(t, endpointConfig)
	w.awaitLeader(w.controllerWith(ofController.Kubeconfig))
	w.endpoint(ofEndpoint.Kubeconfig)
	w.offer()
	w.awaitOffered(w.client(w.endpoint(ofEndpoint.Kubeconfig)))

	const ofTasks = "?" + v1alpha1.LabelTask
	for _, program := range []struct {
		name    string
		through *setup.Proxy
		want    []string
	}{
		{"controller", ofController, []string{
			"/api/v1/namespaces", "/api/v1/pods" + ofTasks, "/apis/batch/v1/jobs" + ofTasks,
			"/apis/mcptasks.dev/v1alpha1/mcptasks", "/apis/mcptasks.dev/v1alpha1/mcptools",
		}},
		{"endpoint", ofEndpoint, []string{
			"/api/v1/namespaces?" + v1alpha1.LabelTenant,
			"/apis/mcptasks.dev/v1alpha1/mcptasks", "/apis/mcptasks.dev/v1alpha1/mcptools",
		}},
	} {
		kept := map[string]bool{}
		for _, r := range program.through.Requests(setup.Request.Watches) {
			what := r.Path
			if selector := r.Query.Get("labelSelector"); selector != "" {
				what += "?" + selector
			}
			kept[what] = true
		}
		if got := slices.Sorted(maps.Keys(kept)); !slices.Equal(got, program.want) {
			t.Errorf("the %s keeps %q, want %q", program.name, got, program.want)
		}
		if n := program.through.Received(); n > enough {
			t.Errorf("the %s was sent %d bytes", program.name, n)
		}
	}
}

// litter makes large objects in the tenant's namespace that are none of the product's business.
func (w *world) litter(kind string, n, padding int) {
	w.Helper()
	var making sync.WaitGroup
	turns := make(chan struct{}, 16)
	for i := range n {
		meta := metav1.ObjectMeta{
			Namespace: w.namespace, Name: fmt.Sprintf("other-%d", i),
			Annotations: map[string]string{"padding": strings.Repeat("x", padding)},
		}
		var object client.Object = &corev1.Secret{ObjectMeta: meta}
		if kind == "Pod" {
			object = &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "main", Image: "example.invalid/other:1"}},
			}}
		}
		turns <- struct{}{}
		making.Go(func() {
			defer func() { <-turns }()
			if err := cluster.Create(w.Context(), object); err != nil {
				w.Error(err)
			}
		})
	}
	making.Wait()
}
