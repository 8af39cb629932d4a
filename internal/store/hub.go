package store

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// hub wakes those who follow a task. A wake-up carries nothing: whoever is woken reads the newest state, so a burst of changes
// may arrive as one.
type hub struct {
	mu        sync.Mutex
	listeners map[types.NamespacedName]map[chan struct{}]struct{}
}

func newHub() *hub {
	return &hub{listeners: map[types.NamespacedName]map[chan struct{}]struct{}{}}
}

// subscribe returns a channel that gets a value after each change of the task, and the function that ends it.
func (h *hub) subscribe(key types.NamespacedName) (<-chan struct{}, func()) {
	wake := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners[key] == nil {
		h.listeners[key] = map[chan struct{}]struct{}{}
	}
	h.listeners[key][wake] = struct{}{}
	return wake, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners[key], wake)
		if len(h.listeners[key]) == 0 {
			delete(h.listeners, key)
		}
	}
}

// notify wakes all who follow the task. It never blocks: one who has not yet been woken for an earlier change need not be woken
// twice.
func (h *hub) notify(key types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for wake := range h.listeners[key] {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}
