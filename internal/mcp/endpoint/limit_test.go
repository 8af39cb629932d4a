package endpoint_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/mcptasks/mcptasks/internal/mcp/endpoint"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// A11, A25, A32: every era's requests come from their caller's budget, what is no request does not, and nobody else notices.
func TestCallersHaveBudgets_A11_A25_A32_T27(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now()) // stands still: no budget grows
	f := newReplicaAt(t, storetest.New(t, tools()...), clock, func(o *endpoint.Options) { o.RequestsPerSecond, o.Burst = 1, 3 })
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodHead} {
		for range 5 {
			got := f.do(t, method, f.url, "", http.Header{"Authorization": {"Bearer " + alice}})
			if got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != http.MethodPost {
				t.Fatalf("%s: HTTP %d", method, got.status)
			}
		}
	}
	body, header := f.encode(t, "server/discover", "", nil)
	post := func() reply { return f.do(t, http.MethodPost, f.url, body, header.Clone()) }
	for i, answer := range []reply{post(), f.legacy(t, "2025-11-25", `{"jsonrpc":"2.0","id":1,"method":"ping"}`), post()} {
		if answer.status != http.StatusOK {
			t.Errorf("request %d: HTTP %d, %s", i, answer.status, answer.body)
		}
	}
	for name, answer := range map[string]reply{
		"modern": post(), "legacy": f.legacy(t, "2025-11-25", `{"jsonrpc":"2.0","id":1,"method":"ping"}`),
	} {
		if _, code, _, data := answer.rpc(t); answer.status != http.StatusTooManyRequests || code != -32603 ||
			answer.header.Get("Retry-After") != "1" || string(data) != `{"reason":"RateLimited"}` {
			t.Errorf("%s: HTTP %d, %v, %s", name, answer.status, answer.header, answer.body)
		}
	}
	if _, err := f.client(bob).Discover(t.Context()); err != nil {
		t.Errorf("another caller: %v", err)
	}
	if got := f.requests(t, "429"); got != 2 {
		t.Errorf("%v requests are counted as limited", got)
	}
	clock.Step(time.Second)
	if answer := post(); answer.status != http.StatusOK {
		t.Errorf("after the wait: HTTP %d", answer.status)
	}
}

// A32: while bad tokens flood in from an address, those from there who are known notice nothing, and those who are not are told
// to come back, in words and in time.
func TestBadTokensHurtNobodyKnown_A32(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	f := newReplicaAt(t, storetest.New(t, tools()...), clock, func(o *endpoint.Options) {
		o.FailuresPerSecond, o.FailureBurst = 0.5, 3
	})
	post := func(token string) reply {
		body, header := f.encode(t, "server/discover", "", nil)
		header.Set("Authorization", "Bearer "+token)
		return f.do(t, http.MethodPost, f.url, body, header)
	}
	if got := post(alice); got.status != http.StatusOK {
		t.Fatalf("HTTP %d, %s", got.status, got.body)
	}
	for _, token := range []string{"bad-1", "bad-2", "bad-3"} {
		if got := post(token); got.status != http.StatusUnauthorized {
			t.Fatalf("%s: HTTP %d, %s", token, got.status, got.body)
		}
	}
	for _, token := range []string{"bad-4", bob} {
		got := post(token)
		_, code, message, data := got.rpc(t)
		if got.status != http.StatusTooManyRequests || code != -32603 || string(data) != `{"reason":"RateLimited"}` ||
			got.header.Get("Retry-After") != "2" || !strings.Contains(message, "Try again in 2 s") ||
			got.header.Get("WWW-Authenticate") != "" {
			t.Errorf("%s: HTTP %d, %v, %s", token, got.status, got.header, got.body)
		}
	}
	if got := post(alice); got.status != http.StatusOK {
		t.Errorf("a known caller: HTTP %d, %s", got.status, got.body)
	}
	clock.Step(2 * time.Second)
	if got := post(bob); got.status != http.StatusOK {
		t.Errorf("another caller, when told to come back: HTTP %d, %s", got.status, got.body)
	}
}

// A caller with too many streams is told so; all its other requests are served.
func TestCallersHaveSoManyStreams(t *testing.T) {
	f := newFixture(t, func(o *endpoint.Options) { o.StreamsPerCaller = 1 })
	f.listenTo(t)
	body, header := f.encode(t, "subscriptions/listen", "", map[string]any{"notifications": map[string]any{}})
	got := f.do(t, http.MethodPost, f.url, body, header)
	if _, code, _, data := got.rpc(t); got.status != http.StatusTooManyRequests || code != -32603 ||
		string(data) != `{"reason":"TooManyStreams"}` || got.header.Get("Retry-After") == "" {
		t.Errorf("HTTP %d, %v, %s", got.status, got.header, got.body)
	}
	if _, err := f.client(alice).Discover(t.Context()); err != nil {
		t.Error(err)
	}
	f.listen(t, bob, mcpclient.Filter{}, mcpclient.Filter{})
}

// requests is how many requests were answered with an HTTP status, by the metric.
func (f *fixture) requests(t *testing.T, status string) float64 {
	t.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, family := range families {
		if family.GetName() != "mcptasks_endpoint_requests_total" {
			continue
		}
		for _, metric := range family.Metric {
			for _, label := range metric.Label {
				if label.GetName() == "status" && label.GetValue() == status {
					sum += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}
