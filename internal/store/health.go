package store

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// silence is how long an open watch may say nothing and still count as delivering. The API server sends a bookmark about once a
// minute.
const silence = 90 * time.Second

// Health knows whether the watch of MCPTasks delivers. An informer alone cannot tell: it goes on showing what it last heard.
type Health struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	open  int       // watches that are open now
	heard time.Time // when one of them last said something
}

// NewHealth makes a Health. A nil clock stands for the real one.
func NewHealth(c clock.PassiveClock) *Health {
	if c == nil {
		c = clock.RealClock{}
	}
	return &Health{clock: c}
}

// Fresh reports whether the watch is open and was heard of lately, so that what the informer shows is the present state but for
// the milliseconds that news takes.
func (h *Health) Fresh() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open > 0 && h.clock.Since(h.heard) < silence
}

// NewInformer is toolscache.NewSharedIndexInformer for cache.Options.NewInformer, with the watch of MCPTasks under observation.
func (h *Health) NewInformer(
	source toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	if _, ok := object.(*v1alpha1.MCPTask); ok {
		source = h.observed(source)
	}
	return toolscache.NewSharedIndexInformer(source, object, resync, indexers)
}

func (h *Health) observed(source toolscache.ListerWatcher) toolscache.ListerWatcher {
	inner := toolscache.ToListerWatcherWithContext(source)
	observed := &toolscache.ListWatch{
		ListWithContextFunc: inner.ListWithContext,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			opened, err := inner.WatchWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			return h.relay(opened), nil
		},
	}
	return toolscache.ToListWatcherWithWatchListSemantics(observed, source)
}

// relay passes a watch's events on and notes that there were some. It ends with the watch.
func (h *Health) relay(source watch.Interface) watch.Interface {
	h.change(+1)
	relayed := &relayedWatch{source: source, events: make(chan watch.Event), stopped: make(chan struct{})}
	go func() {
		defer close(relayed.events)
		defer h.change(-1)
		for event := range source.ResultChan() {
			h.change(0)
			select {
			case relayed.events <- event:
			case <-relayed.stopped:
				return
			}
		}
	}()
	return relayed
}

func (h *Health) change(open int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open += open
	if open >= 0 {
		h.heard = h.clock.Now()
	}
}

type relayedWatch struct {
	source  watch.Interface
	events  chan watch.Event
	once    sync.Once
	stopped chan struct{}
}

func (w *relayedWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *relayedWatch) Stop() {
	w.once.Do(func() { close(w.stopped) })
	w.source.Stop()
}
