package store

import (
	"container/list"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// results keeps the results that were read last, up to a number of bytes in all. A result is final, so nothing in here can be
// stale; the UID makes sure that it is the same task.
type results struct {
	mu    sync.Mutex
	limit int
	size  int
	order *list.List // of resultEntry, the last used first
	byUID map[types.UID]*list.Element
}

type resultEntry struct {
	uid    types.UID
	result string
}

func newResults(limit int) *results {
	return &results{limit: limit, order: list.New(), byUID: map[types.UID]*list.Element{}}
}

func (r *results) get(uid types.UID) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	element, ok := r.byUID[uid]
	if !ok {
		return "", false
	}
	r.order.MoveToFront(element)
	return element.Value.(resultEntry).result, true
}

func (r *results) put(uid types.UID, result string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.byUID[uid]; ok || len(result) > r.limit {
		return
	}
	r.byUID[uid] = r.order.PushFront(resultEntry{uid, result})
	r.size += len(result)
	for r.size > r.limit {
		last := r.order.Remove(r.order.Back()).(resultEntry)
		delete(r.byUID, last.uid)
		r.size -= len(last.result)
	}
}
