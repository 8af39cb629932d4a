package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// TestRefusal tells the API server's final No from what may work the next time.
func TestRefusal(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	quota := errors.New(`exceeded quota: q, requested: count/jobs.batch=1, used: count/jobs.batch=5, limited: count/jobs.batch=5`)
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"a full quota", apierrors.NewForbidden(jobs, "t", quota), v1alpha1.ReasonQuotaExceeded},
		{"no right", apierrors.NewForbidden(jobs, "t", errors.New("cannot create")), v1alpha1.ReasonRejected},
		{"an invalid Job", apierrors.NewInvalid(schema.GroupKind{Kind: "Job"}, "t", nil), v1alpha1.ReasonRejected},
		{"a webhook's no", apierrors.NewBadRequest("denied the request: no"), v1alpha1.ReasonRejected},
		{"the namespace is gone", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "n"), v1alpha1.ReasonRejected},
		{"a conflict", apierrors.NewConflict(jobs, "t", errors.New("changed")), ""},
		{"a timeout", apierrors.NewTimeoutError("slow", 1), ""},
		{"a server's timeout", apierrors.NewServerTimeout(jobs, "create", 1), ""},
		{"too many requests", apierrors.NewTooManyRequests("later", 1), ""},
		{"a webhook that does not answer", apierrors.NewInternalError(errors.New("failed calling webhook")), ""},
		{"a server in trouble", apierrors.NewGenericServerResponse(http.StatusServiceUnavailable, "POST", jobs, "t", "", 0, true), ""},
		{"no network", errors.New("connection refused"), ""},
		{"no patience", context.DeadlineExceeded, ""},
	} {
		got := refusal(fmt.Errorf("create: %w", c.err))
		if (got == nil) != (c.want == "") || (got != nil && got.Reason != c.want) {
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
	}
}

func TestStatusMessageKeepsAddressesToItself(t *testing.T) {
	err := fmt.Errorf("create: %w", errors.New("dial tcp 10.0.0.1:443: connection refused"))
	if got := statusMessage(err); got != "the cluster's API server could not be reached" {
		t.Errorf("message %q", got)
	}
}
