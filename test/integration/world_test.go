package integration

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/controller"
)

// patience is how long anything in these tests may take that does not wait for a clock.
const patience = 60 * time.Second

// world is a tenant's namespace and a catalog of its own, so that tests can run beside each other.
type world struct {
	*testing.T
	ctx     context.Context
	ns      string
	catalog string
	logs    *logs
	jobs    *jobCounter
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{T: t, ctx: t.Context(), logs: &logs{}}
	w.ns, w.catalog = w.namespace("tenant-"), w.namespace("catalog-")
	w.jobs = countJobs(w)
	return w
}

// namespace makes a namespace that goes away with the test.
func (w *world) namespace(prefix string) string {
	w.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	w.must(admin.Create(w.ctx, ns))
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := client.IgnoreNotFound(admin.Delete(ctx, ns)); err != nil {
			w.Errorf("delete namespace %s: %v", ns.Name, err)
		}
	})
	return ns.Name
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// setup is how a controller of a test differs from the real one.
type setup struct {
	options   controller.Options
	transport func(http.RoundTripper) http.RoundTripper
	wrap      func(client.Client) client.Client
}

// controller starts the controllers in this process, for this world's namespaces only. They end with the test, or when stop is
// called, which returns after they have.
func (w *world) controller(changes ...func(*setup)) (stop func()) {
	w.Helper()
	s := setup{options: controller.Options{CatalogNamespace: w.catalog, Logs: w.logs}}
	for _, change := range changes {
		change(&s)
	}
	cfg := asController()
	if s.transport != nil {
		cfg.Wrap(s.transport)
	}
	objects := controller.CacheOptions()
	objects.DefaultNamespaces = map[string]cache.Config{w.ns: {}, w.catalog: {}}
	severalInOneProcess := true
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Cache: objects,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: &severalInOneProcess},
		NewClient: func(cfg *rest.Config, o client.Options) (client.Client, error) {
			c, err := client.New(cfg, o)
			if err != nil || s.wrap == nil {
				return c, err
			}
			return s.wrap(c), nil
		},
	})
	w.must(err)
	w.must(controller.Setup(w.ctx, mgr, s.options))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.Errorf("the controllers ended: %v", err)
		}
	})
	w.Cleanup(stop)
	return stop
}

// timedController runs a controller, and another one in its place for which so much more time has passed. Deadlines can be long
// then, so that nothing here has to be quick, and yet they pass.
func (w *world) timedController() (pass func(time.Duration)) {
	w.Helper()
	ahead := time.Duration(0)
	run := func() (stop func()) {
		return w.controller(func(s *setup) { s.options.Clock = aheadClock(ahead) })
	}
	stop := run()
	return func(d time.Duration) {
		w.Helper()
		stop()
		ahead += d
		stop = run()
	}
}

// aheadClock is the real clock, set ahead.
type aheadClock time.Duration

func (c aheadClock) Now() time.Time                  { return time.Now().Add(time.Duration(c)) }
func (c aheadClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// watch begins a watch with the present state. The API server waits three seconds for its own cache to have that; on a busy
// machine it may have to be asked again.
func (w *world) watch(ctx context.Context, list client.ObjectList, opts ...client.ListOption) watch.Interface {
	w.Helper()
	for {
		changes, err := admin.Watch(ctx, list, opts...)
		if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
			w.must(err)
			return changes
		}
	}
}

// await waits until the object is as wanted; it is told of every change by a watch.
func await[T client.Object](w *world, obj T, what string, wanted func(T) bool) T {
	w.Helper()
	list, ok := listFor(obj)
	if !ok {
		w.Fatalf("no list for %T", obj)
	}
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	only := []client.ListOption{
		client.InNamespace(obj.GetNamespace()), client.MatchingFields{"metadata.name": obj.GetName()},
	}
	changes := w.watch(ctx, list, only...)
	defer changes.Stop()
	last := obj
	for change := range changes.ResultChan() {
		now, ok := change.Object.(T)
		if !ok {
			if apierrors.HasStatusCause(apierrors.FromObject(change.Object), metav1.CauseTypeResourceVersionTooLarge) {
				return await(w, obj, what, wanted) // as watch does, where it hears of it later
			}
			w.Fatalf("waiting for %s: %+v", what, change.Object)
		}
		if change.Type == "DELETED" {
			w.Fatalf("waiting for %s: %s was deleted", what, obj.GetName())
		}
		if last = now; wanted(now) {
			return now
		}
	}
	w.Fatalf("waited in vain for %s of %s: %s", what, last.GetName(), describe(last))
	return last
}

// describe is what an object's status says.
func describe(obj client.Object) string {
	var status any
	switch o := obj.(type) {
	case *v1alpha1.MCPTask:
		status = o.Status
	case *v1alpha1.MCPTool:
		status = o.Status
	case *batchv1.Job:
		status = o.Status
	case *corev1.Pod:
		status = o.Status
	}
	doc, err := json.Marshal(status)
	if err != nil {
		return err.Error()
	}
	return string(doc)
}

func listFor(obj client.Object) (client.ObjectList, bool) {
	switch obj.(type) {
	case *v1alpha1.MCPTask:
		return &v1alpha1.MCPTaskList{}, true
	case *v1alpha1.MCPTool:
		return &v1alpha1.MCPToolList{}, true
	case *batchv1.Job:
		return &batchv1.JobList{}, true
	case *corev1.Pod:
		return &corev1.PodList{}, true
	case *corev1.Secret:
		return &corev1.SecretList{}, true
	}
	return nil, false
}

// awaitGone waits until no object of that name and UID is left.
func (w *world) awaitGone(obj client.Object) {
	w.Helper()
	list, _ := listFor(obj)
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	changes := w.watch(ctx, list,
		client.InNamespace(obj.GetNamespace()), client.MatchingFields{"metadata.name": obj.GetName()})
	defer changes.Stop()
	// The watch began before this read: whatever happens after it, the watch tells.
	now, _ := obj.DeepCopyObject().(client.Object)
	if err := admin.Get(ctx, client.ObjectKeyFromObject(obj), now); apierrors.IsNotFound(err) {
		return
	}
	for change := range changes.ResultChan() {
		if change.Type == "DELETED" {
			return
		}
	}
	w.Fatalf("waited in vain for %s to be gone", obj.GetName())
}

// awaitState waits for a state of a task.
func (w *world) awaitState(t *v1alpha1.MCPTask, state v1alpha1.TaskState) *v1alpha1.MCPTask {
	w.Helper()
	return await(w, t, "the state "+string(state), func(t *v1alpha1.MCPTask) bool { return t.Status.State == state })
}

// awaitReason waits for a reason of a task.
func (w *world) awaitReason(t *v1alpha1.MCPTask, reason string) *v1alpha1.MCPTask {
	w.Helper()
	return await(w, t, "the reason "+reason, func(t *v1alpha1.MCPTask) bool { return t.Status.Reason == reason })
}

// awaitMessage waits for a message of a task that has these words in it.
func (w *world) awaitMessage(t *v1alpha1.MCPTask, words string) *v1alpha1.MCPTask {
	w.Helper()
	return await(w, t, "a message about "+words, func(t *v1alpha1.MCPTask) bool { return strings.Contains(t.Status.Message, words) })
}

// job is the task's Job, once it exists.
func (w *world) job(t *v1alpha1.MCPTask) *batchv1.Job {
	w.Helper()
	return await(w, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: t.Name}}, "the Job",
		func(*batchv1.Job) bool { return true })
}

// awaitEvent waits for an event about a task.
func (w *world) awaitEvent(t *v1alpha1.MCPTask) *eventsv1.Event {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	changes := w.watch(ctx, &eventsv1.EventList{},
		client.InNamespace(w.ns), client.MatchingFields{"regarding.name": t.Name})
	defer changes.Stop()
	for change := range changes.ResultChan() {
		if event, ok := change.Object.(*eventsv1.Event); ok {
			return event
		}
	}
	w.Fatalf("waited in vain for an event about %s", t.Name)
	return nil
}

// jobCounter counts every Job that ever existed in a namespace.
type jobCounter struct {
	mu    sync.Mutex
	more  *sync.Cond
	names map[types.UID]string
}

func countJobs(w *world) *jobCounter {
	c := &jobCounter{names: map[types.UID]string{}}
	c.more = sync.NewCond(&c.mu)
	ctx, cancel := context.WithCancel(context.Background())
	changes := w.watch(ctx, &batchv1.JobList{}, client.InNamespace(w.ns))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for change := range changes.ResultChan() {
			if j, ok := change.Object.(*batchv1.Job); ok {
				c.mu.Lock()
				c.names[j.UID] = j.Name
				c.more.Broadcast()
				c.mu.Unlock()
			}
		}
	}()
	w.Cleanup(func() { cancel(); <-done })
	return c
}

// jobsOf is how many Jobs a task has ever had. The API server tells of Jobs in the order of their creation: once the counter has
// seen one that is created now, it has seen all.
func (w *world) jobsOf(t *v1alpha1.MCPTask) int {
	w.Helper()
	suspended := true
	last := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "last-", Namespace: w.ns},
		Spec: batchv1.JobSpec{Suspend: &suspended, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "none", Image: "example.invalid/none:1"}},
		}}},
	}
	w.must(admin.Create(w.ctx, last))
	c := w.jobs
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.names[last.UID] == "" {
		c.more.Wait()
	}
	n := 0
	for _, name := range c.names {
		if name == t.Name {
			n++
		}
	}
	return n
}

// wantOneJob checks that the task had exactly one Job.
func (w *world) wantOneJob(t *v1alpha1.MCPTask) {
	w.Helper()
	if n := w.jobsOf(t); n != 1 {
		w.Errorf("task %s had %d Jobs, want exactly 1", t.Name, n)
	}
}
