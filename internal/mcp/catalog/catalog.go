// Package catalog knows which tools a tenant may list and call: the Ready ones of its own namespace and of the catalog
// namespace, under the names that agents use.
//
// It reads MCPTools from an informer and never writes. It knows nothing of HTTP, of calls or of tasks.
package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// ErrUnknown is the answer to a name that no tool of the tenant has.
var ErrUnknown = errors.New("unknown tool")

// NotReadyError says why a tool that exists cannot be called.
type NotReadyError struct {
	// Name is the tool's name.
	Name string
	// Problem says why, in a sentence.
	Problem string
}

// Error is for the caller.
func (e *NotReadyError) Error() string {
	return fmt.Sprintf("Tool %s is not ready: %s", e.Name, e.Problem)
}

// Catalog finds tools. It is safe for concurrent use.
type Catalog struct {
	cache     client.Reader
	live      client.Reader
	namespace string
	compiled  *lru.Cache // types.UID → compiled
	changes   changes
}

// maxCompiled bounds the tools whose schemas are kept compiled.
const maxCompiled = 4096

// New makes a Catalog; connect it to its informers with Observe. cached reads from the informers that CacheOptions describes
// and from that of namespaces, live from the API server; namespace is the catalog namespace.
func New(cached, live client.Reader, namespace string) *Catalog {
	return &Catalog{
		cache:     cached,
		live:      live,
		namespace: namespace,
		compiled:  lru.New(maxCompiled),
		changes:   changes{watchers: map[*watcher]struct{}{}},
	}
}

// CacheOptions describes the informer of MCPTools. Its objects are shared, and must not be changed.
func CacheOptions() cache.ByObject {
	return cache.ByObject{UnsafeDisableDeepCopy: ptr.To(true), Transform: cache.TransformStripManagedFields()}
}

// List returns the tools that the tenant can call, sorted by name.
func (c *Catalog) List(ctx context.Context, tenantNamespace string) ([]*Tool, error) {
	byName, err := c.visible(ctx, tenantNamespace)
	if err != nil {
		return nil, err
	}
	var tools []*Tool
	for name, object := range byName {
		// One that is not ready is not listed; calling it says why.
		if tool, err := c.ready(name, object); err == nil {
			tools = append(tools, tool)
		}
	}
	slices.SortFunc(tools, func(a, b *Tool) int { return cmp.Compare(a.Name, b.Name) })
	return tools, nil
}

// Find returns the tenant's tool of that name, ErrUnknown, or a *NotReadyError.
func (c *Catalog) Find(ctx context.Context, tenantNamespace, name string) (*Tool, error) {
	byName, err := c.visible(ctx, tenantNamespace)
	if err != nil {
		return nil, err
	}
	object, ok := byName[name]
	if !ok {
		return nil, ErrUnknown
	}
	return c.ready(name, object)
}

// visible returns the objects behind all names that the tenant can use. A name of the catalog belongs to the catalog, also
// while its tool is not ready: no tenant's tool takes its place.
func (c *Catalog) visible(ctx context.Context, tenantNamespace string) (map[string]*v1alpha1.MCPTool, error) {
	byName := map[string]*v1alpha1.MCPTool{}
	if tenantNamespace != c.namespace {
		own, err := c.inNamespace(ctx, tenantNamespace)
		if err != nil {
			return nil, err
		}
		offer(byName, own)
	}
	offered, err := c.inNamespace(ctx, c.namespace)
	if err != nil {
		return nil, err
	}
	tenant, err := c.tenantLabels(ctx, tenantNamespace)
	if err != nil {
		return nil, err
	}
	offered = slices.DeleteFunc(offered, func(object *v1alpha1.MCPTool) bool { return !selects(object, tenant) })
	fromCatalog := map[string]*v1alpha1.MCPTool{}
	offer(fromCatalog, offered)
	maps.Copy(byName, fromCatalog)
	return byName, nil
}

func (c *Catalog) inNamespace(ctx context.Context, namespace string) ([]*v1alpha1.MCPTool, error) {
	var list v1alpha1.MCPToolList
	if err := c.cache.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the tools of namespace %s: %w", namespace, err)
	}
	objects := make([]*v1alpha1.MCPTool, len(list.Items))
	for i := range list.Items {
		objects[i] = &list.Items[i]
	}
	slices.SortFunc(objects, func(a, b *v1alpha1.MCPTool) int { return cmp.Compare(a.Name, b.Name) })
	return objects, nil
}

// tenantLabels returns the labels that tenantSelectors look at.
func (c *Catalog) tenantLabels(ctx context.Context, namespace string) (labels.Set, error) {
	object := &corev1.Namespace{}
	key := types.NamespacedName{Name: namespace}
	if err := c.cache.Get(ctx, key, object); err != nil {
		if err := c.live.Get(ctx, key, object); err != nil {
			return nil, fmt.Errorf("read namespace %s: %w", namespace, err)
		}
	}
	return object.Labels, nil
}

// offer enters the objects of one namespace under their names. Of several with one name the ready one counts: the others
// lost, and know it.
func offer(byName map[string]*v1alpha1.MCPTool, objects []*v1alpha1.MCPTool) {
	for _, object := range objects {
		name := Name(object)
		if before, taken := byName[name]; !taken || (problem(before) != "" && problem(object) == "") {
			byName[name] = object
		}
	}
}

func selects(object *v1alpha1.MCPTool, tenant labels.Set) bool {
	if object.Spec.TenantSelector == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(object.Spec.TenantSelector)
	return err == nil && selector.Matches(tenant)
}

// Name is the tool's name in agents' lists.
func Name(object *v1alpha1.MCPTool) string {
	if object.Spec.Name != "" {
		return object.Spec.Name
	}
	return object.Name
}
