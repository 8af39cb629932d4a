package controller

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/mcptasks/mcptasks/internal/rights"
)

// Rights are what the controllers have to be allowed in all namespaces, as the markers in doc.go say.
func Rights() []rights.Right {
	return rights.List(
		rights.Of("mcptasks.dev", "mcptasks", "get", "list", "watch", "delete"),
		rights.Of("mcptasks.dev", "mcptasks/status", "patch"),
		rights.Of("mcptasks.dev", "mcptasks/finalizers", "update"),
		rights.Of("mcptasks.dev", "mcptools", "get", "list", "watch"),
		rights.Of("mcptasks.dev", "mcptools/status", "patch"),
		rights.Of("batch", "jobs", "get", "list", "watch", "create", "patch", "delete"),
		rights.Of("", "pods", "list", "watch"),
		rights.Of("", "pods/log", "get"),
		rights.Of("", "events", "list"),
		rights.Of("events.k8s.io", "events", "create", "patch"),
		rights.Of("", "secrets", "delete"),
		rights.Of("", "namespaces", "list", "watch"),
	)
}

// lacking says in words which right this program lacks, where that is what the API server's error is about; empty: it is not. It
// is different from a policy's No to one object: it may pass when somebody mends a role, and it comes from every API server that
// has just started and does not know the roles yet. So it is never a reason to give up.
func lacking(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) {
		return ""
	}
	// The authorizer's words are the only thing by which its errors differ from a policy's.
	_, who, found := strings.Cut(status.Status().Message, `is forbidden: User "`)
	_, what, cannot := strings.Cut(who, `" cannot `)
	if !found || !cannot {
		return ""
	}
	what, _, _ = strings.Cut(what, ": ")
	return "mcptasks has no right to " + what + "; whoever runs it has to grant that"
}
