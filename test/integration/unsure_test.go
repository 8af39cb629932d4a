package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// refused is an answer of the API server's with an error.
func refused(r *http.Request, why *apierrors.StatusError) (*http.Response, error) {
	status := why.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	body, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if details := status.Details; details != nil && details.RetryAfterSeconds > 0 {
		header.Set("Retry-After", strconv.Itoa(int(details.RetryAfterSeconds)))
	}
	if r.Body != nil {
		err = r.Body.Close()
	}
	return &http.Response{
		StatusCode: int(status.Code), Status: http.StatusText(int(status.Code)), Header: header, Request: r,
		Body: io.NopCloser(bytes.NewReader(body)), ProtoMajor: 1, ProtoMinor: 1,
	}, err
}

// The API server does not say Yes to the create of a Job, and nothing final either; it may have done it all the same.
func TestOnceThoughTheAPIServerIsUnsure_B36(t *testing.T) {
	forbidden := apierrors.NewForbidden(batchv1.Resource("jobs"), "j", errors.New(
		`User "u" cannot create resource "jobs" in API group "batch" in the namespace "n": RBAC: clusterrole "c" not found`))
	for name, test := range map[string]struct {
		answer *apierrors.StatusError
		done   bool // before it answers so
	}{
		"too many requests":         {apierrors.NewTooManyRequests("slow down", 1), false},
		"timeout":                   {apierrors.NewTimeoutError("too slow", 1), false},
		"timeout, but done":         {apierrors.NewTimeoutError("too slow", 1), true},
		"internal error":            {apierrors.NewInternalError(errors.New("failed calling webhook")), false},
		"internal error, but done":  {apierrors.NewInternalError(errors.New("etcd lost its leader")), true},
		"roles that it forgot":      {forbidden, false},
		"away as it restarts, done": {apierrors.NewServiceUnavailable("shutting down"), true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var unsure atomic.Int32
			w.controller(through(func(next http.RoundTripper) transport {
				return func(r *http.Request) (*http.Response, error) {
					if !createsJob(r) || unsure.Add(1) > 3 {
						return next.RoundTrip(r)
					}
					if test.done {
						answer, err := next.RoundTrip(r)
						if err != nil {
							return nil, err
						}
						if err := answer.Body.Close(); err != nil {
							return nil, err
						}
					}
					return refused(r, test.answer)
				}
			}))
			call := w.call(w.tool())
			pod := w.pod(call)
			w.runs(pod)
			w.exits(pod, "main", 0)
			w.awaitState(call, v1alpha1.StateCompleted)
			w.wantOneJob(call)
			if unsure.Load() == 0 {
				t.Error("no Job was created through here")
			}
		})
	}
}

// A webhook that looks at Jobs does not answer in time, again and again.
func TestOnceThoughAWebhookTimesOut_B36(t *testing.T) {
	const timeouts = 2
	w := newWorld(t)
	var asked atomic.Int32
	w.reviewJobs(func(in *http.Request, a *admissionv1.AdmissionRequest) {
		if !ptr.Deref(a.DryRun, false) && asked.Add(1) <= timeouts {
			<-in.Context().Done() // the API server has lost patience
		}
	})
	w.controller()
	call := w.call(w.tool())
	pod := w.pod(call)
	w.runs(pod)
	w.exits(pod, "main", 0)
	w.awaitState(call, v1alpha1.StateCompleted)
	w.wantOneJob(call)
	if n := asked.Load(); n <= timeouts {
		t.Errorf("the webhook was asked %d times", n)
	}
}

// reviewJobs has the API server ask, for a second, before it creates a Job of the tenant's. The answer is always Yes.
func (w *world) reviewJobs(before func(*http.Request, *admissionv1.AdmissionRequest)) {
	w.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		var a admissionv1.AdmissionReview
		if err := json.NewDecoder(in.Body).Decode(&a); err != nil {
			w.Error(err)
			return
		}
		before(in, a.Request)
		a.Response = &admissionv1.AdmissionResponse{UID: a.Request.UID, Allowed: true}
		_ = json.NewEncoder(out).Encode(a) // an error means that nobody waits for the answer any more
	}))
	w.Cleanup(server.Close)
	webhook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.ns},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "jobs.example.org",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      ptr.To(server.URL),
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{"batch"}, APIVersions: []string{"v1"}, Resources: []string{"jobs"},
				},
			}},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.ns}},
			FailurePolicy:           ptr.To(admissionregistrationv1.Fail),
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			TimeoutSeconds:          ptr.To(int32(1)),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	w.must(admin.Create(w.ctx, webhook))
	w.Cleanup(func() {
		if err := admin.Delete(context.Background(), webhook); err != nil {
			w.Error(err)
		}
	})
}
