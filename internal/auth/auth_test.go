package auth_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
)

const audience = "mcptasks"

// accounts are the users behind tokens; the token names the user.
func accounts(review *authenticationv1.TokenReview) error {
	switch review.Spec.Token {
	case "unavailable":
		return errors.New("connection refused")
	case "expired":
		review.Status = authenticationv1.TokenReviewStatus{Error: "token has expired"}
		return nil
	case "old-api-server":
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: true}
	case "other-audience":
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: []string{"vault"}}
	default:
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: review.Spec.Audiences}
	}
	review.Status.User = authenticationv1.UserInfo{Username: review.Spec.Token, Groups: []string{"system:authenticated"}}
	return nil
}

type fixture struct {
	*auth.TokenReviews
	cluster *storetest.Cluster
	clock   *clocktesting.FakePassiveClock
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	return newLimitedFixture(t, 0, 0)
}

// newLimitedFixture is a fixture with a FailureLimit.
func newLimitedFixture(t *testing.T, perSecond float64, burst int) fixture {
	t.Helper()
	cluster := storetest.New(t,
		storetest.Namespace("team-a", "a"),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}})
	cluster.Review = accounts
	clock := clocktesting.NewFakePassiveClock(time.Now())
	tokens, err := auth.NewTokenReviews(
		cluster.Live, audience, tenants(t, cluster), auth.NewFailureLimit(perSecond, burst, clock), clock)
	if err != nil {
		t.Fatal(err)
	}
	return fixture{tokens, cluster, clock}
}

func tenants(t *testing.T, cluster *storetest.Cluster) auth.Tenants {
	informers := cluster.NewCache(t, func(source toolscache.ListerWatcher, object runtime.Object) toolscache.SharedIndexInformer {
		return toolscache.NewSharedIndexInformer(source, object, 0, toolscache.Indexers{})
	}, nil)
	return auth.Tenants{Cache: informers, Live: cluster.Live}
}

func request(authorization ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/mcp?access_token=system:serviceaccount:team-a:agent", nil)
	for _, value := range authorization {
		r.Header.Add("Authorization", value)
	}
	return r
}

func TestTokenReviews(t *testing.T) {
	const agent = "system:serviceaccount:team-a:agent"
	for name, test := range map[string]struct {
		authorization []string
		status        int // 0: let in
		challenge     string
	}{
		"a tenant's service account":      {[]string{"Bearer " + agent}, 0, ""},
		"scheme in another case":          {[]string{"bearer " + agent}, 0, ""},
		"S-137: only a token in the URL":  {nil, 401, `Bearer realm="mcptasks"`},
		"another scheme":                  {[]string{"Basic " + agent}, 401, `Bearer realm="mcptasks"`},
		"S-132: expired":                  {[]string{"Bearer expired"}, 401, `Bearer realm="mcptasks", error="invalid_token"`},
		"S-133: for another audience":     {[]string{"Bearer other-audience"}, 401, `Bearer realm="mcptasks", error="invalid_token"`},
		"an API server without audiences": {[]string{"Bearer old-api-server"}, 401, `Bearer realm="mcptasks", error="invalid_token"`},
		"no token":                        {[]string{"Bearer "}, 400, ""},
		"two tokens":                      {[]string{"Bearer a b"}, 400, ""},
		"two headers":                     {[]string{"Bearer a", "Bearer b"}, 400, ""},
		"a person":                        {[]string{"Bearer jane"}, 403, ""},
		"no tenant's namespace":           {[]string{"Bearer system:serviceaccount:kube-system:agent"}, 403, ""},
		"no namespace":                    {[]string{"Bearer system:serviceaccount:nowhere:agent"}, 403, ""},
	} {
		t.Run(name, func(t *testing.T) {
			caller, err := newFixture(t).Authenticate(request(test.authorization...))
			refused := (*auth.Error)(nil)
			switch {
			case test.status == 0:
				want := auth.Caller{
					Issuer: "kubernetes", Subject: agent, Groups: []string{"system:authenticated"}, Tenant: "a", Namespace: "team-a",
				}
				if diff := cmp.Diff(want, caller); diff != "" || err != nil {
					t.Error(err, diff)
				}
			case !errors.As(err, &refused):
				t.Errorf("got %+v, %v", caller, err)
			case refused.Status != test.status || refused.Challenge != test.challenge || refused.Message == "":
				t.Errorf("got %+v", refused)
			}
		})
	}
}

func TestFailureToAskIsNobodysFault(t *testing.T) {
	_, err := newFixture(t).Authenticate(request("Bearer unavailable"))
	if refused := (*auth.Error)(nil); err == nil || errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}

func TestVerdictsAreRememberedBriefly(t *testing.T) {
	for name, test := range map[string]struct {
		token   string
		asks    int // per time that the API server is asked
		goodFor time.Duration
	}{
		"good": {"system:serviceaccount:team-a:agent", 1, 10 * time.Second},
		"bad":  {"expired", 1, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			ask := func() int {
				before := f.cluster.Requests()
				_, _ = f.Authenticate(request("Bearer " + test.token))
				return f.cluster.Requests() - before
			}
			if n := ask(); n != test.asks {
				t.Fatalf("%d requests at first", n)
			}
			f.clock.SetTime(f.clock.Now().Add(test.goodFor - time.Millisecond))
			if n := ask(); n != 0 {
				t.Errorf("%d requests within %s", n, test.goodFor)
			}
			f.clock.SetTime(f.clock.Now().Add(2 * time.Millisecond))
			if n := ask(); n != test.asks {
				t.Errorf("%d requests after %s", n, test.goodFor)
			}
		})
	}
}

func TestFailuresAreNotRemembered(t *testing.T) {
	f := newFixture(t)
	_, _ = f.Authenticate(request("Bearer unavailable"))
	before := f.cluster.Requests()
	_, _ = f.Authenticate(request("Bearer unavailable"))
	if f.cluster.Requests() == before {
		t.Error("a failure to ask was taken for a verdict")
	}
}

func TestOneReviewForManyAtOnce(t *testing.T) {
	f := newFixture(t)
	arrived := make(chan struct{})
	f.cluster.Review = func(review *authenticationv1.TokenReview) error {
		<-arrived
		return accounts(review)
	}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := f.Authenticate(request("Bearer system:serviceaccount:team-a:agent")); err != nil {
				t.Error(err)
			}
		})
	}
	close(arrived)
	group.Wait()
	if n := f.cluster.Requests(); n > 2 {
		t.Errorf("%d reviews", n)
	}
}

func TestNamespaceLabelledJustNow(t *testing.T) {
	f := newFixture(t)
	if _, err := f.Authenticate(request("Bearer system:serviceaccount:team-a:agent")); err != nil {
		t.Fatal(err)
	}
	f.cluster.Hold()
	if err := f.cluster.Create(t.Context(), storetest.Namespace("team-b", "b")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Authenticate(request("Bearer system:serviceaccount:team-b:agent")); err != nil {
		t.Error(err)
	}
}

func TestAnonymous(t *testing.T) {
	cluster := storetest.New(t, storetest.Namespace("team-a", "a"))
	caller, err := auth.Anonymous{Namespace: "team-a", Tenants: tenants(t, cluster)}.Authenticate(request())
	want := auth.Caller{Issuer: "anonymous", Subject: "anonymous", Tenant: "a", Namespace: "team-a"}
	if diff := cmp.Diff(want, caller); diff != "" || err != nil {
		t.Error(err, diff)
	}
	_, err = auth.Anonymous{Namespace: "team-b", Tenants: tenants(t, cluster)}.Authenticate(request())
	if err == nil || !strings.Contains(err.Error(), "mcptasks.dev/owner") {
		t.Errorf("a namespace without a tenant: %v", err)
	}
}
