package controller

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// LeaseDuration is how long a lease lasts that is not renewed: then another replica takes over.
const LeaseDuration = 15 * time.Second

// errNoLease: the process was held up, and what it was about to do is somebody else's by now.
var errNoLease = errors.New("the lease was not renewed in time; another replica may lead")

// Fence keeps a process from writing once its lease may have passed to another. A process that loses its lease ends; but one that
// was held up for longer than that, by a machine that slept or had no memory left, goes on where it was, and learns only some
// moments later that it is not the leader any more.
//
// It wraps the transports of a client config. Only a process that elects a leader may have it.
func Fence(c clock.PassiveClock) func(http.RoundTripper) http.RoundTripper {
	f := &fence{clock: c}
	return func(next http.RoundTripper) http.RoundTripper {
		return &fenced{fence: f, next: next}
	}
}

// fenced is one of the transports behind a fence.
type fenced struct {
	fence *fence
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *fenced) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.fence.roundTrip(t.next, r)
}

// WrappedRoundTripper lets client-go find the transport that it has made.
func (t *fenced) WrappedRoundTripper() http.RoundTripper { return t.next }

// fence is what all transports of a process share.
type fence struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// renewed is when the last request was sent that renewed the lease.
	renewed time.Time
}

func (f *fence) roundTrip(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	switch {
	case r.Method == http.MethodGet:
		return next.RoundTrip(r)
	case strings.Contains(r.URL.Path, "/leases"):
		sent := f.clock.Now()
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode < http.StatusMultipleChoices {
			f.renew(sent)
		}
		return response, err
	// What the API server only answers, and keeps nothing of.
	case strings.Contains(r.URL.Path, "/authorization.k8s.io/"):
		return next.RoundTrip(r)
	case !f.holds():
		if r.Body != nil {
			_ = r.Body.Close() // as every RoundTripper has to
		}
		return nil, errNoLease
	}
	return next.RoundTrip(r)
}

func (f *fence) renew(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed = at
}

// holds reports whether nobody else can have the lease yet.
func (f *fence) holds() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clock.Since(f.renewed) < LeaseDuration
}
