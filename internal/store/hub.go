package store

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// hub tells those who watch a task that it has changed. It tells nothing else: whoever is told reads the newest state, so that
// a burst of changes may be seen as one.
type hub struct {
	mu       sync.Mutex
	watchers map[types.NamespacedName]map[*watcher]struct{}
}

// watcher is one who is told. Its identity is its address: functions cannot be compared.
type watcher struct{ changed func() }

func newHub() *hub {
	return &hub{watchers: map[types.NamespacedName]map[*watcher]struct{}{}}
}

// watch calls changed, which must not block, after each change of the task until stop is called.
func (h *hub) watch(key types.NamespacedName, changed func()) (stop func()) {
	w := &watcher{changed}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers[key] == nil {
		h.watchers[key] = map[*watcher]struct{}{}
	}
	h.watchers[key][w] = struct{}{}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers[key], w)
		if len(h.watchers[key]) == 0 {
			delete(h.watchers, key)
		}
	}
}

// notify tells all who watch the task.
func (h *hub) notify(key types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers[key] {
		w.changed()
	}
}
