package store

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// recent remembers the states that this process has written or read live until the informer shows the same or a newer one, so
// that no client ever sees a task go back.
type recent struct {
	clock   clock.PassiveClock
	mu      sync.Mutex
	entries *lru.Cache // types.NamespacedName → recentEntry
}

// recentEntry is a state and when it was last known to be the API server's.
type recentEntry struct {
	task *v1alpha1.MCPTask
	at   time.Time
}

func newRecent(size int, clock clock.PassiveClock) *recent {
	return &recent{clock: clock, entries: lru.New(size)}
}

// put remembers t unless a newer state is known.
func (r *recent) put(t *v1alpha1.MCPTask) {
	key := client.ObjectKeyFromObject(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.lookup(key); ok && newer(old.task, t) {
		return
	}
	r.entries.Add(key, recentEntry{task: strip(t), at: r.clock.Now()})
}

func (r *recent) get(key types.NamespacedName) (recentEntry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lookup(key)
}

// caughtUp forgets the state of key if the informer now shows t, which is as new or newer.
func (r *recent) caughtUp(t *v1alpha1.MCPTask) {
	key := client.ObjectKeyFromObject(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.lookup(key); ok && !newer(old.task, t) {
		r.entries.Remove(key)
	}
}

// drop forgets key: the task is gone.
func (r *recent) drop(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries.Remove(key)
}

func (r *recent) lookup(key types.NamespacedName) (recentEntry, bool) {
	value, _ := r.entries.Get(key)
	entry, ok := value.(recentEntry)
	return entry, ok
}

// newer reports whether a is a later state than b. Resource versions of one resource can be compared (KEP-5504).
func newer(a, b *v1alpha1.MCPTask) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order > 0
}

// strip returns t without what is large and only rarely needed: the arguments, the result and the field managers. The rest is
// shared with t.
func strip(t *v1alpha1.MCPTask) *v1alpha1.MCPTask {
	small := *t
	small.ManagedFields = nil
	small.Spec.Arguments = ""
	small.Status.Result = ""
	return &small
}
