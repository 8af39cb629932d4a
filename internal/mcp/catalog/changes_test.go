package catalog_test

import (
	"context"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/mcp/catalog"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
)

// fence is a tenant that nothing but the end of a change concerns.
const fence = "team-c"

// A change of anything that the list shows is a new version of it, for the tenants that it is shown to, and nothing else is.
func TestVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(ctx context.Context, c *storetest.Cluster) error
		newFor map[string]bool // tenants
	}{
		"a description": {editTool(catalogNamespace, "shared", func(t *v1alpha1.MCPTool) { t.Spec.Description = "Does more." }),
			map[string]bool{"team-a": true, "team-b": true}},
		"a title": {editTool("team-a", "own", func(t *v1alpha1.MCPTool) { t.Spec.Title = "Own" }),
			map[string]bool{"team-a": true}},
		"a schema": {editTool("team-a", "own", storetest.WithInput(`{"type":"object","properties":{"x":{}}}`)),
			map[string]bool{"team-a": true}},
		"the Job behind a tool": {editTool(catalogNamespace, "shared", image("another")), nil},
		"how a tool runs":       {editTool(catalogNamespace, "shared", storetest.WithMode(v1alpha1.ModeForbidden)), nil},
		"a tool breaks": {editTool(catalogNamespace, "shared", storetest.NotReady(v1alpha1.ToolReasonInvalidSchema, "No.")),
			map[string]bool{"team-a": true, "team-b": true}},
		"a broken tool breaks in another way": {
			editTool(catalogNamespace, "broken", storetest.NotReady(v1alpha1.ToolReasonInvalidTemplate, "No.")), nil},
		"a tool is removed": {
			func(ctx context.Context, c *storetest.Cluster) error {
				return c.Delete(ctx, storetest.Tool("team-b", "other"))
			},
			map[string]bool{"team-b": true}},
		"a tool is added": {
			func(ctx context.Context, c *storetest.Cluster) error {
				return c.Live.Create(ctx, storetest.Tool("team-b", "new"))
			},
			map[string]bool{"team-b": true}},
		"a tool is hidden by another": {
			func(ctx context.Context, c *storetest.Cluster) error {
				return c.Live.Create(ctx, storetest.Tool(catalogNamespace, "own", func(t *v1alpha1.MCPTool) { t.Spec.Title = "Catalog's" }))
			}, map[string]bool{"team-a": true, "team-b": true}},
		"a tenant moves up": {
			func(ctx context.Context, c *storetest.Cluster) error {
				namespace := &corev1.Namespace{}
				if err := c.Get(ctx, types.NamespacedName{Name: "team-b"}, namespace); err != nil {
					return err
				}
				namespace.Labels["tier"] = "prod"
				return c.Update(ctx, namespace)
			}, map[string]bool{"team-b": true}},
	} {
		t.Run(name, func(t *testing.T) {
			c, cluster := newObserved(t,
				storetest.Tool(catalogNamespace, "shared"),
				storetest.Tool(catalogNamespace, "prod-only", forTier("prod")),
				storetest.Tool(catalogNamespace, "broken", storetest.NotReady(v1alpha1.ToolReasonInvalidSchema, "No.")),
				storetest.Tool("team-a", "own"),
				storetest.Tool("team-b", "other"))
			before := versions(t, c)
			told := make(chan struct{}, 100)
			defer c.Watch(func() { told <- struct{}{} })()
			if err := tc.change(t.Context(), cluster); err != nil {
				t.Fatal(err)
			}
			// What comes after the change is there when the change is.
			if err := cluster.Live.Create(t.Context(), storetest.Tool(fence, "new")); err != nil {
				t.Fatal(err)
			}
			want := map[string]bool{"team-a": tc.newFor["team-a"], "team-b": tc.newFor["team-b"], fence: true}
			got := map[string]bool{}
			for !maps.Equal(got, want) {
				select {
				case <-told:
				case <-time.After(10 * time.Second):
					t.Fatalf("new versions: %v, want %v", got, want)
				}
				for tenant, after := range versions(t, c) {
					got[tenant] = after != before[tenant]
				}
			}
		})
	}
}

func TestWhoStopsWatchingIsToldNothing(t *testing.T) {
	c, cluster := newObserved(t)
	c.Watch(func() { t.Error("told after it had stopped") })()
	told := make(chan struct{}, 100)
	defer c.Watch(func() { told <- struct{}{} })()
	if err := cluster.Live.Create(t.Context(), storetest.Tool("team-a", "new")); err != nil {
		t.Fatal(err)
	}
	<-told
}

// newObserved makes a catalog that hears of changes, and the cluster to make them in.
func newObserved(t *testing.T, objects ...client.Object) (*catalog.Catalog, *storetest.Cluster) {
	t.Helper()
	cluster, informers := newCluster(t, objects...)
	c := catalog.New(informers, cluster.Live, catalogNamespace)
	if err := c.Observe(t.Context(), informers); err != nil {
		t.Fatal(err)
	}
	return c, cluster
}

func versions(t *testing.T, c *catalog.Catalog) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, tenant := range []string{"team-a", "team-b", fence} {
		version, err := c.Version(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		all[tenant] = version
	}
	return all
}

// editTool changes a tool, as a person does, and marks it checked, as the controller does.
func editTool(namespace, name string, edit func(*v1alpha1.MCPTool)) func(context.Context, *storetest.Cluster) error {
	return func(ctx context.Context, c *storetest.Cluster) error {
		tool := &v1alpha1.MCPTool{}
		if err := c.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, tool); err != nil {
			return err
		}
		edit(tool)
		tool.Generation++
		status := tool.Status
		status.ObservedGeneration = tool.Generation
		if err := c.Update(ctx, tool); err != nil {
			return err
		}
		tool.Status = status
		return c.Status().Update(ctx, tool)
	}
}
