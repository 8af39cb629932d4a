package controller

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestFence_B30(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	clock := clocktesting.NewFakePassiveClock(time.Now())
	wrap := Fence(clock)
	// The client for the lease and that for the rest have transports of their own.
	lease, rest := wrap(http.DefaultTransport), wrap(http.DefaultTransport)
	send := func(through http.RoundTripper, method, path string) error {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := through.RoundTrip(r)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	const leasePath = "/apis/coordination.k8s.io/v1/namespaces/mcptasks/leases/mcptasks-controller"
	wantWrites := func(when string, allowed bool) {
		t.Helper()
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			if err := send(rest, method, "/apis/batch/v1/namespaces/a/jobs/j"); (err == nil) != allowed ||
				(err != nil && !errors.Is(err, errNoLease)) {
				t.Errorf("%s: %s gave %v", when, method, err)
			}
		}
		for path, method := range map[string]string{
			"/apis/batch/v1/jobs": http.MethodGet, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": http.MethodPost,
		} {
			if err := send(rest, method, path); err != nil {
				t.Errorf("%s: %s %s gave %v", when, method, path, err)
			}
		}
	}
	renew := func(answer int) {
		t.Helper()
		status = answer
		if err := send(lease, http.MethodPut, leasePath); err != nil {
			t.Fatal(err)
		}
		status = http.StatusOK
	}

	wantWrites("before there is a lease", false)
	renew(http.StatusOK)
	wantWrites("with a lease", true)
	clock.SetTime(clock.Now().Add(LeaseDuration - time.Millisecond))
	wantWrites("shortly before the lease passes", true)
	renew(http.StatusConflict)
	clock.SetTime(clock.Now().Add(time.Millisecond))
	wantWrites("after the lease has passed, and could not be renewed", false)
	renew(http.StatusOK)
	wantWrites("with the lease again", true)
}
