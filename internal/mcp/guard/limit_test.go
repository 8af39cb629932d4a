package guard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/mcp/guard"
)

// limited is a handler behind a Limiter, and the time it goes by.
type limited struct {
	http.Handler
	clock *clocktesting.FakePassiveClock
}

func newLimited(perSecond float64, burst int) limited {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	fine := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	return limited{guard.Limit(guard.NewLimiter(perSecond, burst, clock), fine), clock}
}

// send sends requests at an even pace, and returns how many were turned away.
func (l limited) send(caller auth.Caller, requests int, pace time.Duration) (refused int) {
	for range requests {
		if l.sendOne(caller).Code == http.StatusTooManyRequests {
			refused++
		}
		l.clock.SetTime(l.clock.Now().Add(pace))
	}
	return refused
}

func (l limited) sendOne(caller auth.Caller) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
	request.Header.Set("X-Forwarded-For", "192.0.2.1")
	recorder := httptest.NewRecorder()
	l.ServeHTTP(recorder, request.WithContext(auth.WithCaller(request.Context(), caller)))
	return recorder
}

func caller(subject string) auth.Caller { return auth.Caller{Issuer: "kubernetes", Subject: subject} }

// A11, A32: who sends far too much is limited, and nobody else; a task that is polled every 200 ms never is.
func TestLimit_A11_A32_T27(t *testing.T) {
	const perSecond, burst = 100, 500
	for name, test := range map[string]struct {
		requests int
		pace     time.Duration
		limited  bool
	}{
		"one task, every 200 ms for 10 s":   {50, 200 * time.Millisecond, false},
		"20 tasks, every 200 ms for 60 s":   {6000, 10 * time.Millisecond, false},
		"a burst":                           {burst, 0, false},
		"more than a burst":                 {burst + 1, 0, true},
		"200 a second for 10 s":             {2000, 5 * time.Millisecond, true},
		"1000 a second, on one or many ids": {1000, time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLimited(perSecond, burst)
			if refused := l.send(caller("busy"), test.requests, test.pace); (refused > 0) != test.limited {
				t.Errorf("%d of %d were turned away", refused, test.requests)
			}
			for _, other := range []auth.Caller{caller("other"), {Issuer: "https://issuer.example.com", Subject: "busy"}} {
				if refused := l.send(other, burst, 0); refused > 0 {
					t.Errorf("%d of %+v were turned away", refused, other)
				}
			}
		})
	}
}

// A32: five hundred callers behind one address share nothing.
func TestCallersShareNoLimit_A32(t *testing.T) {
	l := newLimited(100, 500)
	for range 20 { // 10 s
		for i := range 500 {
			if refused := l.send(caller(fmt.Sprint("user-", i)), 1, time.Millisecond); refused > 0 {
				t.Fatalf("user %d was turned away", i)
			}
		}
	}
}

// The answer says for how long, and is true: after that time one more request passes, however many were refused meanwhile.
func TestLimitSaysWhenToComeBack_A11_T27(t *testing.T) {
	l := newLimited(0.5, 1)
	l.send(caller("a"), 1, 0)
	var answer *httptest.ResponseRecorder
	for range 100 {
		answer = l.sendOne(caller("a"))
	}
	if answer.Code != http.StatusTooManyRequests || answer.Header().Get("Retry-After") != "2" ||
		answer.Header().Get("Content-Type") != "application/json" {
		t.Errorf("got HTTP %d, %v", answer.Code, answer.Header())
	}
	for _, want := range []string{`"jsonrpc":"2.0"`, `"code":-32603`, `"reason":"RateLimited"`, "Wait for 2 s"} {
		if !strings.Contains(answer.Body.String(), want) {
			t.Errorf("%s is not in %s", want, answer.Body)
		}
	}
	l.clock.SetTime(l.clock.Now().Add(2 * time.Second))
	if answer := l.sendOne(caller("a")); answer.Code != http.StatusOK {
		t.Errorf("got HTTP %d after the wait", answer.Code)
	}
}

func TestNoLimit(t *testing.T) {
	if refused := newLimited(0, 0).send(caller("a"), 10_000, 0); refused > 0 {
		t.Errorf("%d were turned away", refused)
	}
}

// A caller that sends without end cannot make the limiter remember without end, nor be forgotten while it sends.
func TestLimiterForgetsTheIdle(t *testing.T) {
	l := newLimited(1, 2)
	l.send(caller("busy"), 2, 0)
	for i := range 20_000 {
		l.send(caller(fmt.Sprint("user-", i)), 1, 0)
		if i%1000 == 0 && l.sendOne(caller("busy")).Code != http.StatusTooManyRequests {
			t.Fatalf("forgotten after %d others", i)
		}
	}
}
