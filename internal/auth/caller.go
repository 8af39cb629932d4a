package auth

import (
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// Caller is an authenticated caller with a tenant.
type Caller struct {
	// Issuer is who vouched for the caller: IssuerKubernetes or IssuerAnonymous.
	Issuer string
	// Subject is the caller's name at the issuer.
	Subject string
	// Groups are those that the issuer puts the caller in.
	Groups []string
	// Tenant is the tenant's name, the value of the namespace's label mcptasks.dev/owner.
	Tenant string
	// Namespace is the tenant's namespace: where the caller's tasks live.
	Namespace string
}

// Issuers.
const (
	// IssuerKubernetes vouches for tokens of this cluster.
	IssuerKubernetes = "kubernetes"
	// IssuerAnonymous vouches for nobody.
	IssuerAnonymous = "anonymous"
)

// Owner is the caller as tasks record it.
func (c Caller) Owner() v1alpha1.Owner { return v1alpha1.Owner{Issuer: c.Issuer, Subject: c.Subject} }

// Authenticator finds out who sent a request. Its error is an *Error where the caller can do something about it, a *LimitedError
// where nobody tried to find out, and anything else where the answer could not be found out.
type Authenticator interface {
	Authenticate(r *http.Request) (Caller, error)
}

// Error is why a request is turned away.
type Error struct {
	// Status is the HTTP status: 400, 401 or 403.
	Status int
	// Challenge is the value of WWW-Authenticate, for 401.
	Challenge string
	// Message says what is wrong and what to do.
	Message string
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// LimitedError is why a request was not looked at: too many before it, from the same address, had tokens that were not valid. It
// says nothing about who sent this one.
type LimitedError struct {
	// RetryAfter is when one may be looked at again. More than 0.
	RetryAfter time.Duration
}

// Error is for the caller.
func (e *LimitedError) Error() string {
	return fmt.Sprintf("Too many requests from your address had a token that is not valid, so yours, which is not known yet, "+
		"was not looked at. Try again in %.0f s; if it stays so, a program near you keeps sending a bad token",
		math.Ceil(e.RetryAfter.Seconds()))
}

func malformed(message string) *Error {
	return &Error{Status: http.StatusBadRequest, Message: message}
}

func noToken(audience string) *Error {
	return &Error{
		Status:    http.StatusUnauthorized,
		Challenge: `Bearer realm="mcptasks"`,
		Message: fmt.Sprintf("Authentication required: send a service account token for the audience %q as "+
			"Authorization: Bearer (kubectl create token NAME --audience=%s)", audience, audience),
	}
}

func badToken(audience string) *Error {
	return &Error{
		Status:    http.StatusUnauthorized,
		Challenge: `Bearer realm="mcptasks", error="invalid_token"`,
		Message: fmt.Sprintf("The token is not valid here: it has expired, is not of this cluster, "+
			"or was not issued for the audience %q", audience),
	}
}

func noTenant(message string) *Error {
	return &Error{Status: http.StatusForbidden, Message: message}
}
