package integration

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

// secretCall is the task of a call with a secret argument, without its Secret.
func (w *world) secretCall(tool *v1alpha1.MCPTool) *v1alpha1.MCPTask {
	w.Helper()
	t := w.newCall(tool, `{"user":"ada"}`)
	t.Spec.SecretArguments = &v1alpha1.SecretArguments{Variables: []string{"MCP_ARG_PASSWORD"}}
	w.must(admin.Create(w.ctx, t))
	return t
}

// store creates the Secret of a task and says so on the record, as the endpoint does.
func (w *world) store(t *v1alpha1.MCPTask) {
	w.Helper()
	w.must(admin.Create(w.ctx, job.NewSecret(t, &job.SecretArguments{
		Document: []byte(`{"user":"ada","password":"x"}`), Variables: []job.SecretVariable{{Name: "MCP_ARG_PASSWORD", Value: "x"}},
	})))
	before := t.DeepCopy()
	now := metav1.NowMicro()
	t.Spec.SecretArguments.StoredAt = &now
	w.must(admin.Patch(w.ctx, t, client.MergeFrom(before)))
}

func (w *world) wantNoSecret(t *v1alpha1.MCPTask) {
	w.Helper()
	if err := admin.Get(w.ctx, client.ObjectKeyFromObject(t), &corev1.Secret{}); !apierrors.IsNotFound(err) {
		w.Errorf("the Secret of %s: %v", t.Name, err)
	}
}

func takesPassword(tool *v1alpha1.MCPTool) {
	input(`{"type":"object","required":["user","password"],"properties":{"user":{"type":"string"},` +
		`"password":{"type":"string","writeOnly":true}}}`)(tool)
}

// Without its Secret a task has no Job; with it, it is run once, and whoever sees its end can rely on the Secret's being gone.
// That takes one write more than other tasks.
func TestSecretArguments_B28_FromTheCallToTheEnd(t *testing.T) {
	w := newWorld(t)
	w.logs.set("done", nil)
	var writes journal
	w.controller(writes.through())
	call := w.secretCall(w.tool(takesPassword))
	w.awaitMessage(call, "secret arguments")
	if n := w.jobsOf(call); n != 0 {
		t.Fatalf("%d Jobs without the Secret", n)
	}
	w.store(call)
	pod := w.pod(call)
	env := pod.Spec.Containers[0].Env
	i := slices.IndexFunc(env, func(v corev1.EnvVar) bool { return v.Name == "MCP_ARG_PASSWORD" })
	if i < 0 || env[i].ValueFrom == nil || env[i].ValueFrom.SecretKeyRef == nil || env[i].ValueFrom.SecretKeyRef.Name != call.Name {
		t.Errorf("the pod's environment is %v", env)
	}
	w.runs(pod)
	w.awaitReason(call, v1alpha1.ReasonRunning)
	if err := admin.Get(w.ctx, client.ObjectKeyFromObject(call), &corev1.Secret{}); err != nil {
		t.Errorf("the Secret of a running task: %v", err)
	}
	w.exits(pod, "main", 0)
	w.awaitState(call, v1alpha1.StateCompleted)
	w.wantNoSecret(call)
	w.wantOneJob(call)
	deletes := slices.DeleteFunc(writes.about(call), func(entry string) bool { return !strings.Contains(entry, "/secrets/") })
	if len(deletes) != 1 || !strings.HasPrefix(deletes[0], "DELETE") {
		t.Errorf("writes of Secrets: %q", deletes)
	}
}

// A controller that ends between the deletion of the Secret and the record of the task's end is followed by one that records it.
func TestSecretArguments_B28_EndIsLostOnce(t *testing.T) {
	w := newWorld(t)
	w.logs.set("done", nil)
	var lost atomic.Int32
	w.controller(through(func(next http.RoundTripper) transport {
		return func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodPatch || !strings.HasSuffix(r.URL.Path, "/status") || r.Body == nil {
				return next.RoundTrip(r)
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			if strings.Contains(string(body), `"completed"`) && lost.Add(1) <= 2 {
				return nil, errors.New("connection reset")
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			return next.RoundTrip(r)
		}
	}))
	call := w.secretCall(w.tool(takesPassword))
	w.store(call)
	pod := w.pod(call)
	w.runs(pod)
	w.exits(pod, "main", 0)
	w.awaitState(call, v1alpha1.StateCompleted)
	if lost.Load() < 3 {
		t.Errorf("the end was written at attempt %d", lost.Load())
	}
	w.wantNoSecret(call)
	w.wantOneJob(call)
}

// A right that the controller lacks holds a task's end up, and the task says so; a policy's No to this one Secret does not.
func TestSecretArguments_B28_B42_MayNotBeDeleted(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		heldUp bool
	}{
		"by a missing right": {`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":` +
			`"secrets \"t\" is forbidden: User \"u\" cannot delete resource \"secrets\" in API group \"\" in the namespace \"n\""}`, true},
		"by a policy": {`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":` +
			`"secrets \"t\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.logs.set("done", nil)
			var granted atomic.Bool
			w.controller(through(func(next http.RoundTripper) transport {
				return func(r *http.Request) (*http.Response, error) {
					if r.Method != http.MethodDelete || !strings.Contains(r.URL.Path, "/secrets/") || granted.Load() {
						return next.RoundTrip(r)
					}
					code := http.StatusUnprocessableEntity
					if tc.heldUp {
						code = http.StatusForbidden
					}
					return &http.Response{
						StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
						Body: io.NopCloser(strings.NewReader(tc.answer)),
					}, nil
				}
			}))
			call := w.secretCall(w.tool(takesPassword))
			w.store(call)
			pod := w.pod(call)
			w.runs(pod)
			w.exits(pod, "main", 0)
			if tc.heldUp {
				w.awaitMessage(call, `no right to delete resource "secrets"`)
				granted.Store(true)
			}
			w.awaitState(call, v1alpha1.StateCompleted)
			if tc.heldUp {
				w.wantNoSecret(call)
			}
		})
	}
}

// A task whose Secret was never stored, because the endpoint ended in between, ends in words and without a Job.
func TestSecretArguments_B28_NeverStored(t *testing.T) {
	w := newWorld(t)
	pass := w.timedController()
	call := w.secretCall(w.tool(takesPassword, startsWithin(10*time.Minute)))
	pass(time.Hour)
	failed := w.awaitState(call, v1alpha1.StateFailed)
	if failed.Status.Reason != v1alpha1.ReasonCannotStart || !strings.Contains(failed.Status.Message, "never stored") {
		t.Errorf("%s: %s", failed.Status.Reason, failed.Status.Message)
	}
	if n := w.jobsOf(call); n != 0 {
		t.Errorf("%d Jobs", n)
	}
}

// Nobody needs the Secret of a task that is cancelled, and it goes with a task that is deleted.
func TestSecretArguments_B28_CancelledAndDeleted(t *testing.T) {
	w := newWorld(t)
	w.controller()
	tool := w.tool(takesPassword)
	cancelled := w.secretCall(tool)
	w.store(cancelled)
	pod := w.pod(cancelled)
	w.cancel(cancelled)
	w.removes(pod)
	w.awaitState(cancelled, v1alpha1.StateCancelled)
	w.wantNoSecret(cancelled)

	deleted := w.secretCall(tool)
	w.store(deleted)
	w.must(admin.Delete(w.ctx, deleted))
	w.awaitGone(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: deleted.Namespace, Name: deleted.Name}})
}
