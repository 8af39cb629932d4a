package store

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// CacheOptions describes the informer that a Store reads from: the MCPTasks of all namespaces, without arguments and results,
// so that fifty thousand finished tasks fit into a small process. Use it with Health.NewInformer. Its objects are shared, and
// must not be changed: each poll reads one.
func CacheOptions() cache.ByObject {
	return cache.ByObject{
		UnsafeDisableDeepCopy: ptr.To(true),
		Transform: func(object any) (any, error) {
			if t, ok := object.(*v1alpha1.MCPTask); ok {
				return strip(t), nil
			}
			return object, nil
		},
	}
}

// Observe connects the store to the informer behind its Cache. Call it before the informer starts.
func (s *Store) Observe(ctx context.Context, informers cache.Informers) error {
	informer, err := informers.GetInformer(ctx, &v1alpha1.MCPTask{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("get the informer of MCPTasks: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { s.observe(object) },
		UpdateFunc: func(_, object any) { s.observe(object) },
		DeleteFunc: func(object any) { s.observeDeletion(object) },
	})
	if err != nil {
		return fmt.Errorf("listen to the informer of MCPTasks: %w", err)
	}
	return nil
}

func (s *Store) observe(object any) {
	if t, ok := object.(*v1alpha1.MCPTask); ok {
		s.recent.caughtUp(t)
		s.hub.notify(client.ObjectKeyFromObject(t))
	}
}

func (s *Store) observeDeletion(object any) {
	if tombstone, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if t, ok := object.(*v1alpha1.MCPTask); ok {
		key := client.ObjectKeyFromObject(t)
		s.recent.drop(key)
		s.hub.notify(key)
	}
}
