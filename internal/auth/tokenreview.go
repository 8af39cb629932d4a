package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// acceptedFor is how long a token that was found good is not asked about again: so long at most does it outlive its expiry or
	// the deletion of its service account.
	acceptedFor = 10 * time.Second
	// rejectedFor is the same for a token that was found bad.
	rejectedFor = 2 * time.Second
	// trustedFor is how long after that a token that was found good is asked about again without regard to what else comes from
	// its address.
	trustedFor = time.Hour
	// rememberedTokens bounds the memory for good tokens and for bad ones. They are apart, so that no flood of the one pushes the
	// other out.
	rememberedTokens = 10_000
	// reviewTimeout bounds one question to the API server.
	reviewTimeout = 10 * time.Second
)

// TokenReviews authenticates bearer tokens by asking the API server. It accepts only tokens that were issued for its audience,
// so that a token stolen here is of no use elsewhere and none from elsewhere works here.
type TokenReviews struct {
	client   client.Writer
	audience string
	tenants  Tenants
	failures *FailureLimit
	clock    clock.PassiveClock

	key      [sha256.Size]byte
	accepted *cache.LRUExpireCache // hash of the token → verdict
	rejected *cache.LRUExpireCache // hash of the token → verdict
	flights  singleflight.Group
}

// verdict is what the API server said of a token. Only its own words are remembered, never a failure to ask.
type verdict struct {
	user authenticationv1.UserInfo
	// namespace is that of the service account; empty: the user is none.
	namespace string
	good      bool
	at        time.Time
}

// NewTokenReviews makes a TokenReviews. failures, which may be nil, limits what bad tokens cost. A nil clock stands for the real
// one.
func NewTokenReviews(
	c client.Writer, audience string, tenants Tenants, failures *FailureLimit, now clock.PassiveClock,
) (*TokenReviews, error) {
	if now == nil {
		now = clock.RealClock{}
	}
	t := &TokenReviews{
		client:   c,
		audience: audience,
		tenants:  tenants,
		failures: failures,
		clock:    now,
		accepted: cache.NewLRUExpireCacheWithClock(rememberedTokens, now),
		rejected: cache.NewLRUExpireCacheWithClock(rememberedTokens, now),
	}
	if _, err := rand.Read(t.key[:]); err != nil {
		return nil, fmt.Errorf("read randomness: %w", err)
	}
	return t, nil
}

// Authenticate implements Authenticator.
func (t *TokenReviews) Authenticate(r *http.Request) (Caller, error) {
	token, malformed := bearerToken(r.Header)
	switch {
	case malformed != nil:
		return Caller{}, malformed
	case token == "":
		return Caller{}, noToken(t.audience)
	}
	verdict, err := t.review(r.Context(), token, r.RemoteAddr)
	switch {
	case err != nil:
		return Caller{}, err
	case !verdict.good:
		return Caller{}, badToken(t.audience)
	}
	if verdict.namespace == "" {
		return Caller{}, noTenant("You have no tenant here: only service accounts of a tenant's namespace may call tools")
	}
	tenant, err := t.tenants.Tenant(r.Context(), verdict.namespace)
	if err != nil {
		return Caller{}, err
	}
	return Caller{
		Issuer:    IssuerKubernetes,
		Subject:   verdict.user.Username,
		Groups:    verdict.user.Groups,
		Tenant:    tenant,
		Namespace: verdict.namespace,
	}, nil
}

// review asks the API server about a token, or remembers what it said. remote is the address that the token came from.
func (t *TokenReviews) review(ctx context.Context, token, remote string) (verdict, error) {
	sum := sha256.Sum256(append(t.key[:len(t.key):len(t.key)], token...))
	key := string(sum[:]) // tokens themselves are not kept in memory
	known, trusted := t.remembered(key)
	if known != nil {
		return *known, nil
	}
	shared := context.WithoutCancel(ctx)
	flight := t.flights.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(shared, reviewTimeout)
		defer cancel()
		if trusted {
			return t.askAndRemember(ctx, token, key)
		}
		leave, err := t.failures.enter(ctx, remote)
		if err != nil {
			return nil, err
		}
		said, err := t.askAndRemember(ctx, token, key)
		leave(err == nil && !said.good)
		return said, err
	})
	select {
	case <-ctx.Done():
		return verdict{}, ctx.Err()
	case result := <-flight:
		said, _ := result.Val.(verdict)
		return said, result.Err
	}
}

// remembered returns what the API server said of a token lately, nil if that is too long ago, and whether the token was good when
// it was asked about last.
func (t *TokenReviews) remembered(key string) (known *verdict, trusted bool) {
	if said, ok := t.rejected.Get(key); ok {
		bad, _ := said.(verdict)
		return &bad, false
	}
	said, ok := t.accepted.Get(key)
	if !ok {
		return nil, false
	}
	good, _ := said.(verdict)
	if t.clock.Since(good.at) >= acceptedFor {
		return nil, true
	}
	return &good, true
}

func (t *TokenReviews) askAndRemember(ctx context.Context, token, key string) (verdict, error) {
	said, err := t.ask(ctx, token)
	switch {
	case err != nil:
		return verdict{}, err
	case said.good:
		said.at = t.clock.Now()
		t.accepted.Add(key, said, trustedFor)
	default:
		t.accepted.Remove(key)
		t.rejected.Add(key, said, rejectedFor)
	}
	return said, nil
}

func (t *TokenReviews) ask(ctx context.Context, token string) (verdict, error) {
	review := &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{t.audience}},
	}
	if err := t.client.Create(ctx, review); err != nil {
		return verdict{}, fmt.Errorf("review a token: %w", err)
	}
	status := review.Status
	switch {
	case status.Error != "" && !status.Authenticated:
		// The API server uses this for bad tokens and for its own trouble alike; to the caller it is a bad token either way.
		return verdict{}, nil
	case status.Authenticated && status.User.Username == "":
		return verdict{}, errors.New("review a token: the API server gave no user name")
	}
	namespace, _, _ := serviceaccount.SplitUsername(status.User.Username) // empty with an error
	// An API server that does not know audiences leaves the list empty; its word does not mean that the token is for us.
	return verdict{
		user:      status.User,
		namespace: namespace,
		good:      status.Authenticated && slices.Contains(status.Audiences, t.audience),
	}, nil
}
