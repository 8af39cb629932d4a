package catalog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/mcp/catalog"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
)

const catalogNamespace = "mcptasks"

func newCatalog(t *testing.T, objects ...client.Object) *catalog.Catalog {
	t.Helper()
	cluster, informers := newCluster(t, objects...)
	return catalog.New(informers, cluster.Live, catalogNamespace)
}

// newCluster makes a cluster with the objects and three tenants, and the informers of a replica.
func newCluster(t *testing.T, objects ...client.Object) (*storetest.Cluster, *storetest.Cache) {
	t.Helper()
	prod := storetest.Namespace("team-a", "a")
	prod.Labels["tier"] = "prod"
	cluster := storetest.New(t, append(objects, prod, storetest.Namespace("team-b", "b"), storetest.Namespace("team-c", "c"),
		storetest.Namespace(catalogNamespace, "x"))...)
	informers := cluster.NewCache(t, func(source toolscache.ListerWatcher, object runtime.Object) toolscache.SharedIndexInformer {
		return toolscache.NewSharedIndexInformer(source, object, 0, toolscache.Indexers{})
	}, nil)
	return cluster, informers
}

func named(name string) func(*v1alpha1.MCPTool) {
	return func(t *v1alpha1.MCPTool) { t.Spec.Name = name }
}

func image(image string) func(*v1alpha1.MCPTool) {
	return func(t *v1alpha1.MCPTool) { t.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image = image }
}

func forTier(tier string) func(*v1alpha1.MCPTool) {
	return func(t *v1alpha1.MCPTool) {
		t.Spec.TenantSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": tier}}
	}
}

func TestWhatATenantSees_A30_S73_S81(t *testing.T) {
	c := newCatalog(t,
		storetest.Tool(catalogNamespace, "shared"),
		storetest.Tool(catalogNamespace, "prod-only", forTier("prod")),
		storetest.Tool(catalogNamespace, "renamed", named("a/first")),
		storetest.Tool(catalogNamespace, "broken", storetest.NotReady(v1alpha1.ToolReasonInvalidSchema, "inputSchema is no schema.")),
		storetest.Tool("team-a", "own"),
		storetest.Tool("team-b", "other"))
	for namespace, want := range map[string][]string{
		"team-a":   {"a/first", "own", "prod-only", "shared"},
		"team-b":   {"a/first", "other", "shared"},
		"mcptasks": {"a/first", "shared"},
	} {
		tools, err := c.List(t.Context(), namespace)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tool := range tools {
			got = append(got, tool.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", namespace, diff)
		}
	}
}

func TestFind(t *testing.T) {
	stale := storetest.Tool("team-a", "stale")
	stale.Generation = 2
	unchecked := storetest.Tool("team-a", "unchecked")
	unchecked.Status = v1alpha1.MCPToolStatus{}
	c := newCatalog(t,
		storetest.Tool(catalogNamespace, "both", image("catalog")), storetest.Tool("team-a", "both", image("tenant")),
		storetest.Tool(catalogNamespace, "down", storetest.NotReady(v1alpha1.ToolReasonInvalidTemplate, "No container.")),
		storetest.Tool("team-a", "down", image("tenant")),
		storetest.Tool(catalogNamespace, "prod", forTier("other"), image("catalog")), storetest.Tool("team-a", "prod", image("tenant")),
		storetest.Tool(catalogNamespace, "loser", named("fought-over"), storetest.NotReady(v1alpha1.ToolReasonNameConflict, "x")),
		storetest.Tool(catalogNamespace, "winner", named("fought-over"), image("winner")),
		storetest.Tool("team-b", "foreign"),
		storetest.Tool("team-a", "bad-header", storetest.WithInput(
			`{"type":"object","properties":{"n":{"type":"number","x-mcp-header":"N"}}}`)),
		stale, unchecked)
	for name, test := range map[string]struct {
		image    string // of the tool found
		notReady string // words of a *NotReadyError
	}{
		"both":        {image: "catalog"},
		"down":        {notReady: "No container. (InvalidTemplate)"}, // and no tenant's tool takes its place
		"prod":        {image: "tenant"},
		"fought-over": {image: "winner"},
		"stale":       {notReady: "has not been checked yet"},
		"unchecked":   {notReady: "has not been checked yet"},
		"bad-header":  {notReady: "x-mcp-header"},
		"foreign":     {},
		"nothing":     {},
		"":            {},
	} {
		t.Run(name, func(t *testing.T) {
			tool, err := c.Find(t.Context(), "team-a", name)
			notReady := (*catalog.NotReadyError)(nil)
			switch {
			case test.image != "":
				if err != nil || tool.Object.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image != test.image {
					t.Errorf("got %+v, %v", tool, err)
				}
			case test.notReady != "":
				if !errors.As(err, &notReady) || !strings.Contains(err.Error(), test.notReady) {
					t.Errorf("got %v", err)
				}
			case !errors.Is(err, catalog.ErrUnknown):
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestListing(t *testing.T) {
	c := newCatalog(t,
		storetest.Tool("team-a", "full", storetest.WithInput(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
			func(tool *v1alpha1.MCPTool) {
				tool.Spec.Title = "All of it"
				tool.Spec.OutputSchema = tool.Spec.InputSchema
				tool.Spec.Annotations = &v1alpha1.ToolAnnotations{ReadOnlyHint: ptr.To(false)}
			}),
		storetest.Tool("team-a", "plain"))
	full, err := c.Find(t.Context(), "team-a", "full")
	if err != nil {
		t.Fatal(err)
	}
	if full.Listing.Title != "All of it" || string(full.Listing.OutputSchema) != string(full.Listing.InputSchema) ||
		full.Listing.Annotations == nil {
		t.Errorf("got %+v", full.Listing)
	}
	plain, err := c.Find(t.Context(), "team-a", "plain")
	if err != nil {
		t.Fatal(err)
	}
	if string(plain.Listing.InputSchema) != `{"type":"object","additionalProperties":false}` || plain.Listing.Annotations != nil {
		t.Errorf("got %+v", plain.Listing)
	}
	if _, err := plain.Blueprint.Split([]byte(`{"x":1}`)); err == nil {
		t.Error("a tool without properties takes one")
	}
}

// What annotations allow is part of what is compiled, though they make no new generation.
func TestAnnotationsMakeANewTool(t *testing.T) {
	shell := storetest.Tool("team-a", "shell", storetest.WithInput(`{"type":"object","properties":{"text":{"type":"string"}}}`),
		func(tool *v1alpha1.MCPTool) {
			tool.Annotations = map[string]string{v1alpha1.AnnotationUnsafe: "shell"}
			container := &tool.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
			container.Command = []string{"sh", "-c", "echo $(MCP_ARG_TEXT)"}
		})
	cluster, informers := newCluster(t, shell)
	c := catalog.New(informers, cluster.Live, catalogNamespace)
	if _, err := c.Find(t.Context(), "team-a", "shell"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ allowed, words string }{{"", "shell"}, {"shell", ""}} {
		change := &v1alpha1.MCPTool{}
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(shell), change); err != nil {
			t.Fatal(err)
		}
		change.Annotations = map[string]string{v1alpha1.AnnotationUnsafe: test.allowed}
		if err := cluster.Update(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		for seen := ""; seen != change.ResourceVersion; { // until the informer knows
			object := &v1alpha1.MCPTool{}
			if err := informers.Get(t.Context(), client.ObjectKeyFromObject(shell), object); err != nil {
				t.Fatal(err)
			}
			seen = object.ResourceVersion
		}
		_, err := c.Find(t.Context(), "team-a", "shell")
		notReady := (*catalog.NotReadyError)(nil)
		if good := errors.As(err, &notReady) && strings.Contains(err.Error(), test.words); good != (test.words != "") {
			t.Errorf("allowed %q: got %v", test.allowed, err)
		}
	}
}

func TestTenantUnknownToTheInformer(t *testing.T) {
	cluster := storetest.New(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "warm-up"}},
		storetest.Tool(catalogNamespace, "prod-only", forTier("prod")))
	informers := cluster.NewCache(t, func(source toolscache.ListerWatcher, object runtime.Object) toolscache.SharedIndexInformer {
		return toolscache.NewSharedIndexInformer(source, object, 0, toolscache.Indexers{})
	}, nil)
	c := catalog.New(informers, cluster.Live, catalogNamespace)
	if _, err := c.List(t.Context(), "warm-up"); err != nil {
		t.Fatal(err)
	}
	cluster.Hold()
	late := storetest.Namespace("late", "l")
	late.Labels["tier"] = "prod"
	if err := cluster.Create(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Find(t.Context(), "late", "prod-only"); err != nil {
		t.Error(err)
	}
}
