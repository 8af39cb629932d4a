package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// Scope is what a caller may touch: its own tasks in its tenant's namespace.
type Scope struct {
	// Namespace is the tenant's.
	Namespace string
	// Owner is the caller. A task with another issuer or subject does not exist for it.
	Owner v1alpha1.Owner
}

// owns reports whether t belongs to the scope. An identity that is missing on either side owns nothing.
func (s Scope) owns(t *v1alpha1.MCPTask) bool {
	return t.Namespace == s.Namespace && s.Owner.Issuer != "" && s.Owner.Subject != "" && t.Spec.Owner == s.Owner
}

// ErrNotFound is the answer to an id that is malformed, unknown, or not the caller's. Nobody can tell which.
var ErrNotFound = errors.New("task not found")

// Config is what a Store works with.
type Config struct {
	// Client writes.
	Client client.Writer
	// Live reads from the API server.
	Live client.Reader
	// Cache reads from the informer that CacheOptions describes.
	Cache client.Reader
	// Health says whether that informer's watch delivers.
	Health *Health
	// Clock tells the time. Default: the real one.
	Clock clock.PassiveClock
	// Random is what task ids are made of. Default: crypto/rand.
	Random io.Reader
	// NameKey, which all replicas share, is what the ids of calls with idempotency keys are derived by. Empty: such calls are
	// refused.
	NameKey []byte
}

// Store keeps tasks. Make one with New; connect it to its informer with Observe. It is safe for concurrent use.
type Store struct {
	client  client.Writer
	live    client.Reader
	cache   client.Reader
	health  *Health
	clock   clock.PassiveClock
	random  io.Reader
	nameKey []byte
	recent  *recent
	results *results
	hub     *hub
	flights singleflight.Group
}

// New makes a Store.
func New(config Config) *Store {
	s := &Store{
		client:  config.Client,
		live:    config.Live,
		cache:   config.Cache,
		health:  config.Health,
		clock:   config.Clock,
		random:  config.Random,
		nameKey: config.NameKey,
		results: newResults(maxResultsBytes),
		hub:     newHub(),
	}
	if s.clock == nil {
		s.clock = clock.RealClock{}
	}
	if s.random == nil {
		s.random = rand.Reader
	}
	s.recent = newRecent(maxRecent, s.clock)
	return s
}

const (
	// maxRecent bounds the states kept until the informer has caught up with them. At a thousand writes a second that is ten
	// seconds of lag; what falls out may be shown one state older until then.
	maxRecent = 10_000
	// maxResultsBytes bounds the results kept of finished tasks, which clients tend to read more than once.
	maxResultsBytes = 32 << 20
	// unconfirmed is how long a state that only this process knows of is trusted before it is read again.
	unconfirmed = 30 * time.Second
	// coalesce is how long a live read answers for the reads after it while the watch is broken.
	coalesce = 500 * time.Millisecond
)

// idFormat is what task.NewID makes, and more: every name that can be an MCPTask created by us. Anything else never reaches the
// API server.
var idFormat = regexp.MustCompile(`^t-[a-z0-9]{20,60}$`)

// Get returns the task with all that a client may see, the result included. It must not be changed.
func (s *Store) Get(ctx context.Context, scope Scope, id string) (*v1alpha1.MCPTask, error) {
	t, err := s.state(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	if t.Status.State != v1alpha1.StateCompleted || t.Status.Result != "" {
		return t, nil
	}
	return s.withResult(ctx, t)
}

// Look is Get, but for arguments and result, which may be missing.
func (s *Store) Look(ctx context.Context, scope Scope, id string) (*v1alpha1.MCPTask, error) {
	return s.state(ctx, scope, id)
}

// LookLive is Look by a read of the API server.
func (s *Store) LookLive(ctx context.Context, scope Scope, id string) (*v1alpha1.MCPTask, error) {
	if !idFormat.MatchString(id) {
		return nil, ErrNotFound
	}
	t, err := s.read(ctx, types.NamespacedName{Namespace: scope.Namespace, Name: id})
	switch {
	case apierrors.IsNotFound(err):
		return nil, ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("read task %s: %w", id, err)
	case !scope.owns(t):
		return nil, ErrNotFound
	}
	return t, nil
}

// state returns the newest known state of the task, possibly without arguments and result.
func (s *Store) state(ctx context.Context, scope Scope, id string) (*v1alpha1.MCPTask, error) {
	if !idFormat.MatchString(id) {
		return nil, ErrNotFound
	}
	key := types.NamespacedName{Namespace: scope.Namespace, Name: id}
	known, good := s.known(ctx, key)
	if !good {
		read, err := s.read(ctx, key)
		switch {
		case err == nil:
			known = read
		case apierrors.IsNotFound(err):
			return nil, ErrNotFound
		case known == nil:
			return nil, fmt.Errorf("read task %s: %w", id, err)
		default:
			// An older state is worth more to somebody who polls than an error: the next poll will see the newer one.
		}
	}
	if !scope.owns(known) {
		return nil, ErrNotFound
	}
	return known, nil
}

// known returns the newest state that needs no request, or nil, and whether it is good enough to be shown.
func (s *Store) known(ctx context.Context, key types.NamespacedName) (t *v1alpha1.MCPTask, good bool) {
	// In this order: what leaves recent is in the informer by then.
	entry, isRecent := s.recent.get(key)
	cached := &v1alpha1.MCPTask{}
	if err := s.cache.Get(ctx, key, cached); err != nil {
		cached = nil // not there, or the informer has not started: either way somebody else has to say
	}
	var age time.Duration
	if isRecent {
		age = s.clock.Since(entry.at)
	}
	t = cached
	if isRecent && (cached == nil || newer(entry.task, cached)) {
		t = entry.task
	}
	switch {
	case t == nil:
		return nil, false
	case t.Status.State.Terminal() || s.health.Fresh():
		return t, cached != nil || age < unconfirmed
	default:
		return t, isRecent && age < coalesce
	}
}

// read gets the whole task from the API server, once for all that ask at the same time.
func (s *Store) read(ctx context.Context, key types.NamespacedName) (*v1alpha1.MCPTask, error) {
	// The one that happens to be first must not take the others with it when its client hangs up.
	shared := context.WithoutCancel(ctx)
	flight := s.flights.DoChan(key.String(), func() (any, error) {
		ctx, cancel := context.WithTimeout(shared, requestTimeout)
		defer cancel()
		t := &v1alpha1.MCPTask{}
		if err := s.live.Get(ctx, key, t); err != nil {
			if apierrors.IsNotFound(err) {
				s.recent.drop(key)
			}
			return nil, err
		}
		s.recent.put(t)
		return t, nil
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case result := <-flight:
		t, _ := result.Val.(*v1alpha1.MCPTask)
		return t, result.Err
	}
}

// requestTimeout bounds one request to the API server.
const requestTimeout = 15 * time.Second

// withResult completes a finished task that was read without its result. Results are final, so one that was read once stays good.
func (s *Store) withResult(ctx context.Context, t *v1alpha1.MCPTask) (*v1alpha1.MCPTask, error) {
	if result, ok := s.results.get(t.UID); ok {
		complete := *t
		complete.Status.Result = result
		return &complete, nil
	}
	full, err := s.read(ctx, client.ObjectKeyFromObject(t))
	switch {
	case apierrors.IsNotFound(err) || (err == nil && full.UID != t.UID):
		return nil, ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("read the result of task %s: %w", t.Name, err)
	}
	s.results.put(full.UID, full.Status.Result)
	return full, nil
}
