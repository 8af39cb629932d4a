package guard

import (
	"math"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

// maxCallers bounds how many callers a Limiter remembers. One that is forgotten because ten thousand others came after it begins
// anew, with a full burst.
const maxCallers = 10_000

// Limiter gives each caller a budget of requests of its own, whatever address they come from: users of a hosted assistant share
// its few addresses, and must not share a limit.
type Limiter struct {
	limit   rate.Limit
	burst   int
	clock   clock.PassiveClock
	mu      sync.Mutex
	callers *lru.Cache // identity → *rate.Limiter
}

// identity is what a budget belongs to.
type identity struct{ issuer, subject string }

// NewLimiter makes a Limiter that lets each caller send perSecond requests a second, and burst of them at once after a pause.
// nil, which lets everything pass, is the Limiter of perSecond 0.
func NewLimiter(perSecond float64, burst int, clock clock.PassiveClock) *Limiter {
	if perSecond <= 0 {
		return nil
	}
	return &Limiter{limit: rate.Limit(perSecond), burst: max(burst, 1), clock: clock, callers: lru.New(maxCallers)}
}

// admit takes one request from the caller's budget, or says after what time there is one again.
func (l *Limiter) admit(caller auth.Caller) (wait time.Duration, ok bool) {
	now := l.clock.Now()
	reservation := l.budget(identity{caller.Issuer, caller.Subject}).ReserveN(now, 1)
	if wait = reservation.DelayFrom(now); wait == 0 {
		return 0, true
	}
	reservation.CancelAt(now) // what is refused costs nothing, or who asks too often would never get anything again
	return wait, false
}

func (l *Limiter) budget(of identity) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.callers.Get(of); ok {
		if budget, ok := known.(*rate.Limiter); ok {
			return budget
		}
	}
	budget := rate.NewLimiter(l.limit, l.burst)
	l.callers.Add(of, budget)
	return budget
}

// Limit answers requests beyond their caller's budget itself (HTTP 429), before their bodies are read. It stands behind
// Authenticate; what is turned away before that costs nobody anything.
func Limit(limiter *Limiter, next http.Handler) http.Handler {
	if limiter == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wait, ok := limiter.admit(auth.CallerFrom(r.Context()))
		if ok {
			next.ServeHTTP(w, r)
			return
		}
		turnAway(w, r, wire.Limited("RateLimited", wait,
			"You send more requests than one caller may, which says nothing about your tasks: they go on. "+
				"Wait for %.0f s, and poll no faster than pollIntervalMs says", math.Ceil(wait.Seconds())))
	})
}
