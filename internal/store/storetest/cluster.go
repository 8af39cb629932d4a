// Package storetest is an API server in memory with informers that tests can hold back and cut off, for the unit tests of the
// endpoint. What only a real API server does (validation, quotas, immutability) is tested against one, in test/integration.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// Cluster is an API server in memory. Its embedded client is the server's truth; Live is what a program under test should use.
type Cluster struct {
	client.WithWatch
	// Live counts what goes through it and fails while the server is Down.
	Live client.WithWatch
	// Refuse, where set, decides about each create through Live.
	Refuse func(client.Object) error
	// Answer, where set, decides what each create of a task through Live is answered with, and if it is done.
	Answer func(create func() error) error
	// Review answers TokenReviews.
	Review func(*authenticationv1.TokenReview) error
	// BeforePatch, where set, is called before each patch through Live is applied.
	BeforePatch func(client.Object)

	requests atomic.Int64
	down     atomic.Bool
	serial   atomic.Int64

	mu      sync.Mutex
	watches []*heldWatch
	holding bool
	cut     bool
}

// New makes a Cluster with the given objects.
func New(t testing.TB, objects ...client.Object) *Cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(
		corev1.AddToScheme(scheme), authenticationv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme),
	); err != nil {
		t.Fatal(err)
	}
	c := &Cluster{}
	for _, object := range objects {
		c.stamp(object)
	}
	c.WithWatch = fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(objects...).WithStatusSubresource(&v1alpha1.MCPTask{}, &v1alpha1.MCPTool{}).Build()
	c.Live = interceptor.NewClient(c.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, next client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := c.request(ctx); err != nil {
				return err
			}
			return next.Get(ctx, key, o, opts...)
		},
		Create: c.create,
		Patch: func(ctx context.Context, next client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := c.request(ctx); err != nil {
				return err
			}
			if c.BeforePatch != nil {
				c.BeforePatch(o)
			}
			return next.Patch(ctx, o, p, opts...)
		},
	})
	return c
}

// Requests is how many requests went through Live.
func (c *Cluster) Requests() int { return int(c.requests.Load()) }

// Down makes all requests through Live fail, or succeed again.
func (c *Cluster) Down(down bool) { c.down.Store(down) }

func (c *Cluster) request(ctx context.Context) error {
	c.requests.Add(1)
	if c.down.Load() {
		return errors.New("connection refused")
	}
	return ctx.Err()
}

func (c *Cluster) create(ctx context.Context, next client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	if err := c.request(ctx); err != nil {
		return err
	}
	if review, ok := o.(*authenticationv1.TokenReview); ok {
		return c.Review(review)
	}
	if c.Refuse != nil {
		if err := c.Refuse(o); err != nil {
			return err
		}
	}
	create := func() error {
		c.stamp(o)
		return next.Create(ctx, o, opts...)
	}
	if _, ok := o.(*v1alpha1.MCPTask); !ok || c.Answer == nil {
		return create()
	}
	return c.Answer(create)
}

// stamp gives an object what a real API server gives it.
func (c *Cluster) stamp(o client.Object) {
	if o.GetUID() == "" {
		o.SetUID(types.UID(fmt.Sprintf("uid-%d", c.serial.Add(1))))
	}
	if o.GetGeneration() == 0 {
		o.SetGeneration(1)
	}
	if created := o.GetCreationTimestamp(); created.IsZero() {
		o.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	}
}

// Hold keeps all news from the informers until Release.
func (c *Cluster) Hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holding = true
	for _, w := range c.watches {
		w.hold(true)
	}
}

// Release lets the informers have what was held back.
func (c *Cluster) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holding = false
	for _, w := range c.watches {
		w.hold(false)
	}
}

// Cut ends all watches and lets no new one begin until Mend.
func (c *Cluster) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	for _, w := range c.watches {
		w.Stop()
	}
	c.watches = nil
}

// Mend lets watches begin again.
func (c *Cluster) Mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = false
}

func (c *Cluster) watch(ctx context.Context, list client.ObjectList) (watch.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return nil, errors.New("connection refused")
	}
	source, err := c.Watch(ctx, list)
	if err != nil {
		return nil, err
	}
	held := newHeldWatch(source, c.holding)
	c.watches = append(c.watches, held)
	return held, nil
}

// heldWatch passes events on, except while it is held.
type heldWatch struct {
	source watch.Interface
	events chan watch.Event
	done   chan struct{}
	once   sync.Once
	mu     sync.Mutex
	open   chan struct{} // closed while events may pass
}

func newHeldWatch(source watch.Interface, holding bool) *heldWatch {
	w := &heldWatch{source: source, events: make(chan watch.Event), done: make(chan struct{}), open: make(chan struct{})}
	if !holding {
		close(w.open)
	}
	go func() {
		defer close(w.events)
		for event := range source.ResultChan() {
			select {
			case <-w.gate():
			case <-w.done:
				return
			}
			select {
			case w.events <- event:
			case <-w.done:
				return
			}
		}
	}()
	return w
}

func (w *heldWatch) gate() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open
}

func (w *heldWatch) hold(holding bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.open:
		if holding {
			w.open = make(chan struct{})
		}
	default:
		if !holding {
			close(w.open)
		}
	}
}

// ResultChan implements watch.Interface.
func (w *heldWatch) ResultChan() <-chan watch.Event { return w.events }

// Stop implements watch.Interface.
func (w *heldWatch) Stop() {
	w.once.Do(func() {
		close(w.done)
		w.source.Stop()
	})
}
