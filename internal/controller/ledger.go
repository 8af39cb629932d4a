package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// ledger remembers the tasks that were written and have not come back through the cache yet, so that a pass never starts from a
// record older than its predecessor's. The zero value is ready to use.
type ledger struct {
	mu    sync.Mutex
	tasks map[client.ObjectKey]*v1alpha1.MCPTask
}

// add remembers a task as the API server returned it from a write.
func (l *ledger) add(t *v1alpha1.MCPTask) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tasks == nil {
		l.tasks = map[client.ObjectKey]*v1alpha1.MCPTask{}
	}
	l.tasks[client.ObjectKeyFromObject(t)] = t
}

// newest is the newer one of the cached task and the one that was written; once the cache has caught up, the latter is forgotten.
func (l *ledger) newest(cached *v1alpha1.MCPTask) *v1alpha1.MCPTask {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := client.ObjectKeyFromObject(cached)
	written, ok := l.tasks[key]
	if !ok {
		return cached
	}
	order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, written.ResourceVersion)
	if err != nil || order >= 0 || cached.UID != written.UID {
		delete(l.tasks, key)
		return cached
	}
	return written.DeepCopy()
}

// forget drops a task that is gone.
func (l *ledger) forget(key client.ObjectKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.tasks, key)
}
