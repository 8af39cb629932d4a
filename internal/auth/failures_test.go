package auth_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/mcptasks/mcptasks/internal/auth"
)

// What the endpoint's defaults are, and how many tokens are looked into at once.
const (
	perSecond = 50
	burst     = 500
	atOnce    = 32
)

const agent = "system:serviceaccount:team-a:agent"

// from is a request with a token from an address.
func from(address, token string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.RemoteAddr = address
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// rejectBad makes the API server know only the service accounts of team-a.
func (f fixture) rejectBad() {
	f.cluster.Review = func(review *authenticationv1.TokenReview) error {
		if len(review.Spec.Token) < len(agent) {
			review.Status = authenticationv1.TokenReviewStatus{Error: "not valid"}
			return nil
		}
		return accounts(review)
	}
}

// flood sends so many bad tokens, each another one, one after the other, and returns how many were looked into and what the last
// one was told.
func (f fixture) flood(address string, tokens int) (reviews int, last error) {
	before := f.cluster.Requests()
	for i := range tokens {
		_, last = f.Authenticate(from(address, fmt.Sprint("bad-", address, i)))
	}
	return f.cluster.Requests() - before, last
}

// A32: hundreds of callers behind one address whom nobody has seen before, all at once, do not limit one another.
func TestManyCallersBehindOneAddress_A32(t *testing.T) {
	f := newLimitedFixture(t, perSecond, 5)
	var atWork, most atomic.Int64
	f.cluster.Review = func(review *authenticationv1.TokenReview) error {
		defer atWork.Add(-1)
		for now := atWork.Add(1); now > most.Load(); {
			most.CompareAndSwap(most.Load(), now)
		}
		return accounts(review)
	}
	var group sync.WaitGroup
	for i := range 500 {
		group.Go(func() {
			address := fmt.Sprintf("192.0.2.1:%d", 1024+i)
			if _, err := f.Authenticate(from(address, fmt.Sprint(agent, i))); err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	group.Wait()
	if n := most.Load(); n > atOnce {
		t.Errorf("%d tokens were looked into at once", n)
	}
}

// A32: a flood of bad tokens from one address reaches the API server no further than the budget; only tokens from there that
// nobody knows are turned away, and only until the flood is over.
func TestFloodOfBadTokens_A32(t *testing.T) {
	const flooded, other = "192.0.2.1:1234", "192.0.2.2:1234"
	f := newLimitedFixture(t, perSecond, burst)
	f.rejectBad()
	if _, err := f.Authenticate(from(flooded, agent)); err != nil {
		t.Fatal(err)
	}
	reviews, err := f.flood(flooded, 10*burst)
	limited := (*auth.LimitedError)(nil)
	if reviews != burst || !errors.As(err, &limited) || limited.RetryAfter <= 0 || limited.RetryAfter > time.Second {
		t.Errorf("%d tokens were looked into, and the last one was told %v", reviews, err)
	}
	if refused := (*auth.Error)(nil); errors.As(err, &refused) {
		t.Error("a token that was not looked at is called a bad one")
	}

	spoofed := from(flooded, "bad-from-elsewhere")
	spoofed.Header.Set("X-Forwarded-For", "198.51.100.7")
	if _, err := f.Authenticate(spoofed); !errors.As(err, &limited) {
		t.Errorf("X-Forwarded-For makes a difference: %v", err)
	}
	f.clock.SetTime(f.clock.Now().Add(15 * time.Second)) // longer than a good token is not asked about again
	_, _ = f.flood(flooded, 10*burst)
	if _, err := f.Authenticate(from(flooded, agent)); err != nil {
		t.Errorf("somebody known from the same address: %v", err)
	}
	if _, err := f.Authenticate(from(other, agent+"-2")); err != nil {
		t.Errorf("somebody new from another address: %v", err)
	}
	if _, err := f.Authenticate(from(flooded, agent+"-3")); !errors.As(err, &limited) {
		t.Errorf("somebody new from the same address: %v", err)
	}
	f.clock.SetTime(f.clock.Now().Add(limited.RetryAfter))
	if _, err := f.Authenticate(from(flooded, agent+"-3")); err != nil {
		t.Errorf("somebody new from the same address, when told to come back: %v", err)
	}
}

func TestFloodOfBadTokensAtOnce(t *testing.T) {
	f := newLimitedFixture(t, perSecond, burst)
	f.rejectBad()
	var group sync.WaitGroup
	for i := range 10 * burst {
		group.Go(func() { _, _ = f.Authenticate(from("192.0.2.1:1", fmt.Sprint("bad-", i))) })
	}
	group.Wait()
	if n := f.cluster.Requests(); n < burst || n > burst+atOnce {
		t.Errorf("%d tokens were looked into", n)
	}
}

// A token that was good has no credit any longer once it is not.
func TestKnownTokensThatBecomeBad(t *testing.T) {
	f := newLimitedFixture(t, perSecond, 1)
	if _, err := f.Authenticate(from("192.0.2.1:1", agent)); err != nil {
		t.Fatal(err)
	}
	f.cluster.Review = func(review *authenticationv1.TokenReview) error {
		review.Status = authenticationv1.TokenReviewStatus{Error: "the account was deleted"}
		return nil
	}
	_, _ = f.flood("192.0.2.1:1", 2)
	for i, want := range []int{1, 0} {
		f.clock.SetTime(f.clock.Now().Add(11 * time.Second))
		_, _ = f.flood("192.0.2.1:1", 1)
		before := f.cluster.Requests()
		if _, err := f.Authenticate(from("192.0.2.1:1", agent)); err == nil || f.cluster.Requests()-before != want {
			t.Errorf("time %d: %v after %d questions, want %d", i, err, f.cluster.Requests()-before, want)
		}
	}
}

// That the API server cannot be asked is not the fault of who sent the token.
func TestFailuresToAskAreNotCounted(t *testing.T) {
	f := newLimitedFixture(t, perSecond, 1)
	for range 5 {
		_, err := f.Authenticate(from("192.0.2.1:1", "unavailable"))
		if limited := (*auth.LimitedError)(nil); errors.As(err, &limited) {
			t.Fatal(err)
		}
	}
}

// Whoever has one address of an IPv6 network has them all; addresses of IPv4 are one each, however they are written.
func TestWhatOneAddressIs(t *testing.T) {
	for name, test := range map[string]struct {
		flooded, asked string
		same           bool
	}{
		"another port":                {"192.0.2.1:1", "192.0.2.1:2", true},
		"its neighbour":               {"192.0.2.1:1", "192.0.2.2:1", false},
		"IPv4 over IPv6":              {"192.0.2.1:1", "[::ffff:192.0.2.1]:1", true},
		"the same IPv6 network":       {"[2001:db8:1:2::1]:1", "[2001:db8:1:2:ffff::9]:1", true},
		"another IPv6 network":        {"[2001:db8:1:2::1]:1", "[2001:db8:1:3::1]:1", false},
		"another interface":           {"[fe80::1%eth0]:1", "[fe80::1%eth1]:1", true},
		"connections without address": {"@", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newLimitedFixture(t, perSecond, 1)
			f.rejectBad()
			_, _ = f.flood(test.flooded, 2)
			_, err := f.Authenticate(from(test.asked, agent))
			if limited := (*auth.LimitedError)(nil); errors.As(err, &limited) != test.same {
				t.Errorf("got %v", err)
			}
		})
	}
}
