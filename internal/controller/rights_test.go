package controller

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An API server's words about a missing right are told from a policy's about one object: the former are no reason to give up.
func TestLackingIsNoRefusal_B42_B36(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	forbidden := func(why string) error { return apierrors.NewForbidden(jobs, "j", errors.New(why)) }
	const noRight = `User "system:serviceaccount:mcptasks:controller" cannot create resource "jobs" in API group "batch" in the ` +
		`namespace "team-a"`
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{
		{"a missing right", forbidden(noRight), `mcptasks has no right to create resource "jobs" in API group "batch" in the ` +
			`namespace "team-a"; whoever runs it has to grant that`},
		{"roles that are not known yet", fmt.Errorf("create: %w", forbidden(noRight+`: RBAC: clusterrole "x" not found`)),
			`mcptasks has no right to create resource "jobs" in API group "batch" in the namespace "team-a"; whoever runs it has to ` +
				`grant that`},
		{"a policy", forbidden(`violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false`), ""},
		{"a policy's unlucky words", apierrors.NewForbidden(schema.GroupResource{}, "",
			errors.New(`admission webhook "x" denied the request: label "a" cannot be empty`)), ""},
		{"a quota", forbidden("exceeded quota: jobs, requested: count/jobs.batch=1, used: count/jobs.batch=0"), ""},
		{"something else", apierrors.NewInternalError(errors.New(noRight)), ""},
		{"nothing", nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := lacking(tc.err); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if apierrors.IsForbidden(tc.err) && (refusal(tc.err) == nil) != (tc.want != "") {
				t.Errorf("it is the refusal %+v", refusal(tc.err))
			}
		})
	}
}
