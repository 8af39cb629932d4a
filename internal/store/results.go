package store

import (
	"container/list"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// results keeps the results that were read last, up to a number of bytes in all. A result is final, so nothing in here can be
// stale; the UID makes sure that it is the same task's.
type results struct {
	mu    sync.Mutex
	limit int
	size  int
	order *list.List // of types.UID, the last used first
	byUID map[types.UID]keptResult
}

type keptResult struct {
	result string
	place  *list.Element
}

func newResults(limit int) *results {
	return &results{limit: limit, order: list.New(), byUID: map[types.UID]keptResult{}}
}

func (r *results) get(uid types.UID) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, ok := r.byUID[uid]
	if ok {
		r.order.MoveToFront(kept.place)
	}
	return kept.result, ok
}

func (r *results) put(uid types.UID, result string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.byUID[uid]; ok || len(result) > r.limit {
		return
	}
	r.byUID[uid] = keptResult{result, r.order.PushFront(uid)}
	r.size += len(result)
	for r.size > r.limit {
		last, _ := r.order.Remove(r.order.Back()).(types.UID)
		r.size -= len(r.byUID[last].result)
		delete(r.byUID, last)
	}
}
