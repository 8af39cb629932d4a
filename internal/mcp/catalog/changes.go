package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// changes tells those who watch the catalog that something in it has changed: a tool, or the labels of a tenant's namespace,
// by which tools are offered. Whoever is told compares Versions.
type changes struct {
	mu       sync.Mutex
	watchers map[*watcher]struct{}
}

// watcher is one who is told. Its identity is its address: functions cannot be compared.
type watcher struct{ changed func() }

func (c *changes) notify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.watchers {
		w.changed()
	}
}

// Observe connects the catalog to the informers that it reads from. Call it before they start.
func (c *Catalog) Observe(ctx context.Context, informers cache.Informers) error {
	for _, object := range []client.Object{&v1alpha1.MCPTool{}, &corev1.Namespace{}} {
		informer, err := informers.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("get the informer of %T: %w", object, err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { c.changes.notify() },
			UpdateFunc: func(_, _ any) { c.changes.notify() },
			DeleteFunc: func(any) { c.changes.notify() },
		})
		if err != nil {
			return fmt.Errorf("listen to the informer of %T: %w", object, err)
		}
	}
	return nil
}

// Watch calls changed after each change that may concern a list of tools, any tenant's, until stop is called. changed must
// not block.
func (c *Catalog) Watch(changed func()) (stop func()) {
	w := &watcher{changed}
	c.changes.mu.Lock()
	defer c.changes.mu.Unlock()
	c.changes.watchers[w] = struct{}{}
	return func() {
		c.changes.mu.Lock()
		defer c.changes.mu.Unlock()
		delete(c.changes.watchers, w)
	}
}

// Version identifies the list of tools that the tenant can call: it changes when tools/list would say something else, and
// not when only the Job behind a tool changes.
func (c *Catalog) Version(ctx context.Context, tenantNamespace string) (string, error) {
	tools, err := c.List(ctx, tenantNamespace)
	if err != nil {
		return "", err
	}
	all := sha256.New()
	for _, tool := range tools {
		_, _ = all.Write(tool.sum[:]) // a hash takes everything
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}
