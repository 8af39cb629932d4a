package storetest

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// Cache is a cache.Cache over a Cluster: real informers, each begun when it is asked for. Of cache.Cache it has what the
// endpoint uses.
type Cache struct {
	cache.Cache // nil: whatever else is called panics

	ctx       context.Context
	cluster   *Cluster
	make      func(toolscache.ListerWatcher, runtime.Object) toolscache.SharedIndexInformer
	transform toolscache.TransformFunc

	mu        sync.Mutex
	informers map[schema.GroupVersionKind]toolscache.SharedIndexInformer
}

// NewCache makes the informers of one replica. newInformer makes each; transform is that of MCPTasks.
func (c *Cluster) NewCache(
	t testing.TB,
	newInformer func(toolscache.ListerWatcher, runtime.Object) toolscache.SharedIndexInformer,
	transform toolscache.TransformFunc,
) *Cache {
	t.Helper()
	return &Cache{
		ctx: t.Context(), cluster: c, make: newInformer, transform: transform,
		informers: map[schema.GroupVersionKind]toolscache.SharedIndexInformer{},
	}
}

// GetInformer implements cache.Informers. The informer is filled when it returns.
func (c *Cache) GetInformer(_ context.Context, object client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return c.informer(object)
}

func (c *Cache) informer(object runtime.Object) (toolscache.SharedIndexInformer, error) {
	gvk, err := apiutil.GVKForObject(object, c.cluster.Scheme())
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if informer, ok := c.informers[gvk]; ok {
		return informer, nil
	}
	informer := c.make(c.source(gvk), object)
	if _, ok := object.(*v1alpha1.MCPTask); ok {
		if err := informer.SetTransform(c.transform); err != nil {
			return nil, err
		}
	}
	go informer.RunWithContext(c.ctx)
	if !toolscache.WaitForCacheSync(c.ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("the informer of %s was not filled", gvk.Kind)
	}
	c.informers[gvk] = informer
	return informer, nil
}

// source lists and watches one kind. The server in memory does not stream lists.
func (c *Cache) source(gvk schema.GroupVersionKind) toolscache.ListerWatcher {
	newList := func() (client.ObjectList, error) {
		list, err := c.cluster.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err != nil {
			return nil, err
		}
		objects, ok := list.(client.ObjectList)
		if !ok {
			return nil, fmt.Errorf("%T is no list", list)
		}
		return objects, nil
	}
	source := &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			list, err := newList()
			if err != nil {
				return nil, err
			}
			return list, c.cluster.List(ctx, list)
		},
		WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			list, err := newList()
			if err != nil {
				return nil, err
			}
			return c.cluster.watch(ctx, list)
		},
	}
	return toolscache.ToListWatcherWithWatchListSemantics(source, noStreaming{})
}

type noStreaming struct{}

func (noStreaming) IsWatchListSemanticsUnSupported() bool { return true }

// Get implements client.Reader.
func (c *Cache) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	informer, err := c.informer(object)
	if err != nil {
		return err
	}
	id := key.Name
	if key.Namespace != "" {
		id = key.String()
	}
	found, ok, err := informer.GetIndexer().GetByKey(id)
	if err != nil {
		return err
	}
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", object)}, id)
	}
	original, ok := found.(runtime.Object)
	if !ok {
		return fmt.Errorf("%T is no object", found)
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(original.DeepCopyObject()).Elem())
	return nil
}

// List implements client.Reader. It heeds the namespace only.
func (c *Cache) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := client.ListOptions{}
	options.ApplyOptions(opts)
	gvk, err := apiutil.GVKForObject(list, c.cluster.Scheme())
	if err != nil {
		return err
	}
	object, err := c.cluster.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind[:len(gvk.Kind)-len("List")]))
	if err != nil {
		return err
	}
	informer, err := c.informer(object)
	if err != nil {
		return err
	}
	var found []runtime.Object
	for _, item := range informer.GetIndexer().List() {
		object, ok := item.(client.Object)
		if ok && (object.GetNamespace() == options.Namespace || options.Namespace == "") {
			found = append(found, object.DeepCopyObject())
		}
	}
	return meta.SetList(list, found)
}
