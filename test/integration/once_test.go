package integration

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// transport is a change to the way to the API server.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func through(change func(next http.RoundTripper) transport) func(*setup) {
	return func(s *setup) {
		s.transport = func(next http.RoundTripper) http.RoundTripper { return change(next) }
	}
}

func createsJob(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/jobs") && !strings.Contains(r.URL.RawQuery, "dryRun")
}

func writesStatus(r *http.Request) bool {
	return r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/status") && strings.Contains(r.URL.Path, "/mcptasks/")
}

// Two leaders at once must not happen; if they do, every task still has one Job and one end.
func TestOnceWithTwoControllers_B03_B30(t *testing.T) {
	w := newWorld(t)
	w.logs.set("done", nil)
	w.controller()
	w.controller()
	tool := w.tool()
	var calls []*v1alpha1.MCPTask
	for range 20 {
		calls = append(calls, w.call(tool))
	}
	for _, call := range calls {
		pod := w.pod(call)
		w.runs(pod)
		w.exits(pod, "main", 0)
	}
	for _, call := range calls {
		w.awaitState(call, v1alpha1.StateCompleted)
		w.wantOneJob(call)
	}
}

// The Job was created, and the answer got lost on the way.
func TestOnceThoughTheAnswerIsLost_B36(t *testing.T) {
	w := newWorld(t)
	var lost atomic.Int32
	w.controller(through(func(next http.RoundTripper) transport {
		return func(r *http.Request) (*http.Response, error) {
			answer, err := next.RoundTrip(r)
			if err == nil && createsJob(r) && lost.CompareAndSwap(0, 1) {
				return nil, errors.Join(errors.New("connection reset by peer"), answer.Body.Close())
			}
			return answer, err
		}
	}))
	call := w.call(w.tool())
	pod := w.pod(call)
	w.runs(pod)
	w.exits(pod, "main", 0)
	w.awaitState(call, v1alpha1.StateCompleted)
	w.wantOneJob(call)
	if lost.Load() != 1 {
		t.Error("no answer was lost")
	}
}

// The Job was created, and its record failed several times, for whatever reason.
func TestOnceThoughTheRecordFails_B02_B32(t *testing.T) {
	conflict := apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("mcptasks").GroupResource(), "t",
		errors.New("the object has been modified"))
	for name, refusal := range map[string]*apierrors.StatusError{
		"unavailable": apierrors.NewServiceUnavailable("etcd has no leader"), "conflict": conflict,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var failures atomic.Int32
			w.controller(through(func(next http.RoundTripper) transport {
				return func(r *http.Request) (*http.Response, error) {
					if writesStatus(r) && failures.Add(1) <= 5 {
						return refused(r, refusal)
					}
					return next.RoundTrip(r)
				}
			}))
			call := w.call(w.tool())
			pod := w.pod(call)
			w.runs(pod)
			w.exits(pod, "main", 0)
			w.awaitState(call, v1alpha1.StateCompleted)
			w.wantOneJob(call)
			if failures.Load() <= 5 {
				t.Errorf("only %d writes of the status", failures.Load())
			}
		})
	}
}

// blindClient shows no Job until it sees.
type blindClient struct {
	client.Client
	sees *atomic.Bool
}

func (c blindClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, ok := obj.(*batchv1.Job); ok && !c.sees.Load() {
		return apierrors.NewNotFound(batchv1.Resource("jobs"), key.Name)
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

// The controller's cache shows none of the Jobs that it creates for a long time.
func TestOnceThoughTheCacheShowsNoJob_B03(t *testing.T) {
	const calls = 40
	w := newWorld(t)
	w.logs.set("done", nil)
	var sees atomic.Bool
	w.controller(func(s *setup) {
		s.wrap = func(c client.Client) client.Client { return blindClient{Client: c, sees: &sees} }
	})
	tool := w.tool()
	var all []*v1alpha1.MCPTask
	for range calls {
		all = append(all, w.call(tool))
	}
	for _, call := range all {
		w.runs(w.pod(call))
		w.awaitReason(call, v1alpha1.ReasonRunning)
	}
	sees.Store(true)
	for _, call := range all {
		w.exits(w.pod(call), "main", 0)
	}
	for _, call := range all {
		w.awaitState(call, v1alpha1.StateCompleted)
		w.wantOneJob(call)
	}
}

// An ended task stays as it is when its Job, its pods and its controller are gone.
func TestOnceEndedStaysWithoutTheJob_B32(t *testing.T) {
	w := newWorld(t)
	w.logs.set("done", nil)
	stop := w.controller()
	call := w.call(w.tool())
	pod := w.pod(call)
	w.runs(pod)
	w.exits(pod, "main", 0)
	done := w.awaitState(call, v1alpha1.StateCompleted)
	w.must(admin.Delete(w.ctx, w.job(call), client.PropagationPolicy(metav1.DeletePropagationBackground)))
	w.awaitGone(pod)
	stop()
	w.controller()
	// A task that is created after it and gets its Job proves that the new controller has seen it.
	w.pod(w.call(w.newToolRef(call)))
	now := &v1alpha1.MCPTask{}
	w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(call), now))
	if now.ResourceVersion != done.ResourceVersion {
		t.Errorf("the ended task was written: %+v", now.Status)
	}
	w.wantOneJob(call)
}

// staleClient shows a task as it was once, whatever has become of it.
type staleClient struct {
	client.Client
	task *v1alpha1.MCPTask
}

func (c staleClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if t, ok := obj.(*v1alpha1.MCPTask); ok && key == client.ObjectKeyFromObject(c.task) {
		c.task.DeepCopyInto(t)
		return nil
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

// A finished Job is gone, and the controller's cache still has the task as it was before it had a Job.
func TestOnceThoughTheCacheIsStaleAndTheJobGone_B02(t *testing.T) {
	w := newWorld(t)
	w.logs.set("done", nil)
	stop := w.controller()
	call := w.call(w.tool(kept(hours(24), 0)))
	pod := w.pod(call)
	w.runs(pod)
	w.exits(pod, "main", 0)
	done := w.awaitState(call, v1alpha1.StateCompleted)
	w.awaitGone(w.newJob(call)) // by the TTL controller: it may be kept for no time at all
	stop()

	var read atomic.Int32
	w.controller(
		func(s *setup) {
			s.wrap = func(c client.Client) client.Client { return staleClient{Client: c, task: call} }
		},
		through(func(next http.RoundTripper) transport {
			return func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/mcptasks/"+call.Name) {
					read.Add(1)
				}
				return next.RoundTrip(r)
			}
		}))
	// A task that is created after it and gets its Job proves that the controller works.
	other := w.call(w.newToolRef(call))
	w.pod(other)
	now := &v1alpha1.MCPTask{}
	w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(call), now))
	if now.ResourceVersion != done.ResourceVersion {
		t.Errorf("the finished task was written: %+v", now.Status)
	}
	w.wantOneJob(call)
	if read.Load() == 0 {
		t.Error("the controller did not look at the stale task: this test shows nothing")
	}
}

func TestOnceForeignJobIsLeftAlone_B03(t *testing.T) {
	w := newWorld(t)
	tool := w.tool()
	call := w.newCall(tool, `{}`)
	foreign := w.newJob(call)
	foreign.Labels = map[string]string{v1alpha1.LabelTask: call.Name}
	foreign.Spec.Template = *tool.Spec.JobTemplate.Spec.Template.DeepCopy()
	foreign.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	w.must(admin.Create(w.ctx, foreign))
	w.must(admin.Create(w.ctx, call))
	w.controller()
	done := w.awaitState(call, v1alpha1.StateFailed)
	if done.Status.Reason != v1alpha1.ReasonRejected || !strings.Contains(done.Status.Message, "exists already") {
		t.Errorf("status %+v", done.Status)
	}
	now := &batchv1.Job{}
	w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(foreign), now))
	if now.UID != foreign.UID || now.DeletionTimestamp != nil || now.Spec.TTLSecondsAfterFinished != nil {
		t.Errorf("the foreign Job was touched: %+v", now.ObjectMeta)
	}
}

// While the controller was away, the Job ended and everything of it was removed: nobody can say what happened, and it is not done
// again.
func TestOnceThoughEverythingIsGone_B01_B02(t *testing.T) {
	w := newWorld(t)
	stop := w.controller()
	call := w.call(w.tool())
	pod := w.pod(call)
	w.runs(pod)
	w.awaitReason(call, v1alpha1.ReasonRunning)
	stop()
	w.exits(pod, "main", 0)
	w.must(admin.Delete(w.ctx, w.job(call), client.PropagationPolicy(metav1.DeletePropagationBackground)))
	w.awaitGone(pod)
	w.controller()
	done := w.awaitState(call, v1alpha1.StateFailed)
	if done.Status.Reason != v1alpha1.ReasonOutcomeUnknown {
		t.Errorf("status %+v", done.Status)
	}
	w.wantOneJob(call)
}

func TestRefusedByQuota(t *testing.T) {
	w := newWorld(t)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: w.ns},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/jobs.batch": resource.MustParse("0")}},
	}
	w.must(admin.Create(w.ctx, quota))
	w.controller()
	call := w.call(w.tool())
	done := w.awaitState(call, v1alpha1.StateFailed)
	if done.Status.Reason != v1alpha1.ReasonQuotaExceeded || !strings.Contains(done.Status.Error.Message, "count/jobs.batch") {
		t.Errorf("status %+v", done.Status)
	}
	event := w.awaitEvent(call)
	if event.Reason != v1alpha1.ReasonQuotaExceeded || event.Type != corev1.EventTypeWarning || event.Note != done.Status.Message {
		t.Errorf("event %s %s: %s", event.Type, event.Reason, event.Note)
	}
}

func TestRefusedPodByQuotaWaitsForRoom_B08(t *testing.T) {
	w := newWorld(t)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: w.ns},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse("0")}},
	}
	w.must(admin.Create(w.ctx, quota))
	w.controller()
	call := w.call(w.tool())
	waiting := w.awaitMessage(call, "quota")
	if waiting.Status.State != v1alpha1.StateWorking {
		t.Errorf("status %+v", waiting.Status)
	}
	w.must(admin.Delete(w.ctx, quota))
	pod := w.pod(call) // The Job controller tries again by itself.
	w.runs(pod)
	w.exits(pod, "main", 0)
	w.awaitState(call, v1alpha1.StateCompleted)
	w.wantOneJob(call)
}

func TestRefusedPodByPolicyFailsAtOnce_B08(t *testing.T) {
	w := newWorld(t)
	ns := &corev1.Namespace{}
	w.must(admin.Get(w.ctx, client.ObjectKey{Name: w.ns}, ns))
	before := ns.DeepCopy()
	ns.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	w.must(admin.Patch(w.ctx, ns, client.MergeFrom(before)))
	w.controller()
	call := w.call(w.tool())
	done := w.awaitState(call, v1alpha1.StateFailed)
	if done.Status.Reason != v1alpha1.ReasonRejected || !strings.Contains(done.Status.Message, "PodSecurity") {
		t.Errorf("status %+v", done.Status)
	}
	w.awaitGone(w.newJob(call))
}

func TestRefusedToolIsGoneBeforeTheStart(t *testing.T) {
	w := newWorld(t)
	tool := w.tool()
	call := w.call(tool)
	w.must(admin.Delete(w.ctx, tool))
	w.controller()
	done := w.awaitState(call, v1alpha1.StateFailed)
	if done.Status.Reason != v1alpha1.ReasonToolChanged {
		t.Errorf("status %+v", done.Status)
	}
	if n := w.jobsOf(call); n != 0 {
		t.Errorf("%d Jobs", n)
	}
}

func TestRefusedArgumentsThatNoLongerFit(t *testing.T) {
	w := newWorld(t)
	tool := w.tool()
	call, fits := w.call(tool), w.call(tool)
	w.cancel(fits)
	before := tool.DeepCopy()
	input(`{"type":"object","required":["environment"],"properties":{"environment":{"type":"string"}}}`)(tool)
	w.must(admin.Patch(w.ctx, tool, client.MergeFrom(before)))
	w.controller()
	done := w.awaitState(call, v1alpha1.StateFailed)
	if done.Status.Reason != v1alpha1.ReasonToolChanged || !strings.Contains(done.Status.Message, "environment") {
		t.Errorf("status %+v", done.Status)
	}
}

func TestRefusedToolOfAnotherTenant(t *testing.T) {
	w := newWorld(t)
	elsewhere := w.namespace("other-tenant-")
	call := w.call(w.tool(inNamespace(elsewhere)))
	w.controller()
	done := w.awaitState(call, v1alpha1.StateFailed)
	if done.Status.Reason != v1alpha1.ReasonRejected {
		t.Errorf("status %+v", done.Status)
	}
}
