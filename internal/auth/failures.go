package auth

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

const (
	// maxAddresses bounds how many addresses a FailureLimit remembers. One that is forgotten begins anew.
	maxAddresses = 10_000
	// reviewsAtOnce is how many unknown tokens of one address are looked into at a time; others wait for their turn. It is what
	// an address may exceed its budget by, since what comes of them is not known before.
	reviewsAtOnce = 32
)

// FailureLimit keeps a flood of bad tokens from becoming a flood of questions to the API server. It counts, for each address that
// connections come from, the tokens that turned out not to be valid. Those that do cost nothing: however many callers share an
// address, as the users of a hosted assistant or of an ingress do, they do not limit one another.
//
// X-Forwarded-For is not looked at. Anybody can write anything into it.
type FailureLimit struct {
	limit rate.Limit
	burst int
	clock clock.PassiveClock

	mu        sync.Mutex
	addresses *lru.Cache // netip.Prefix → *address
}

// address is what is known of one.
type address struct {
	failures *rate.Limiter
	turns    chan struct{}
}

// NewFailureLimit makes a FailureLimit that lets each address send perSecond bad tokens a second, and burst of them at once. nil,
// which limits nothing, is the FailureLimit of perSecond 0. A nil clock stands for the real one.
func NewFailureLimit(perSecond float64, burst int, now clock.PassiveClock) *FailureLimit {
	if perSecond <= 0 {
		return nil
	}
	if now == nil {
		now = clock.RealClock{}
	}
	return &FailureLimit{limit: rate.Limit(perSecond), burst: max(burst, 1), clock: now, addresses: lru.New(maxAddresses)}
}

// enter waits for the turn of a token that came from a connection's remote address. Call leave with what came of it. The error is
// a *LimitedError where the address has used up its budget, or that of the context.
func (l *FailureLimit) enter(ctx context.Context, remote string) (leave func(failed bool), err error) {
	if l == nil {
		return func(bool) {}, nil
	}
	from := l.address(networkOf(remote))
	if err := l.admit(from); err != nil {
		return nil, err
	}
	select {
	case from.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := l.admit(from); err != nil { // those that it waited for may have failed
		<-from.turns
		return nil, err
	}
	return func(failed bool) {
		if failed {
			from.failures.AllowN(l.clock.Now(), 1)
		}
		<-from.turns
	}, nil
}

// admit says whether the address may fail once more.
func (l *FailureLimit) admit(from *address) error {
	left := from.failures.TokensAt(l.clock.Now())
	if left >= 1 {
		return nil
	}
	return &LimitedError{RetryAfter: time.Duration((1 - left) / float64(l.limit) * float64(time.Second))}
}

func (l *FailureLimit) address(network netip.Prefix) *address {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.addresses.Get(network); ok {
		if from, ok := known.(*address); ok {
			return from
		}
	}
	from := &address{failures: rate.NewLimiter(l.limit, l.burst), turns: make(chan struct{}, reviewsAtOnce)}
	l.addresses.Add(network, from)
	return from
}

// networkOf is what counts as one address: of IPv6 the network, since whoever has one address of it has them all.
func networkOf(remote string) netip.Prefix {
	parsed, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{} // not TCP: all such connections together
	}
	address := parsed.Addr().Unmap().WithZone("")
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	network, err := address.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return network
}
