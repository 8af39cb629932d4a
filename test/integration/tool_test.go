package integration

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// awaitReady waits until the controller has judged the tool as it is now.
func (w *world) awaitReady(tool *v1alpha1.MCPTool, reason string) *metav1.Condition {
	w.Helper()
	now := await(w, tool, "Ready to have the reason "+reason, func(t *v1alpha1.MCPTool) bool {
		c := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionReady)
		return c != nil && c.Reason == reason && c.ObservedGeneration == t.Generation && t.Status.ObservedGeneration == t.Generation
	})
	c := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionReady)
	if (c.Status == metav1.ConditionTrue) != (reason == v1alpha1.ToolReasonReady) {
		w.Errorf("Ready is %s with the reason %s", c.Status, c.Reason)
	}
	return c
}

func TestToolReadiness(t *testing.T) {
	w := newWorld(t)
	w.controller()
	container := func(tool *v1alpha1.MCPTool) *corev1.Container {
		return &tool.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
	}
	for _, c := range []struct {
		name   string
		change func(*v1alpha1.MCPTool)
		reason string
		says   string
	}{
		{"good", func(*v1alpha1.MCPTool) {}, v1alpha1.ToolReasonReady, ""},
		{"no-input", func(tool *v1alpha1.MCPTool) { tool.Spec.InputSchema = nil }, v1alpha1.ToolReasonReady, ""},
		{"demanding", func(tool *v1alpha1.MCPTool) {
			input(`{"type":"object","required":["env","n"],
				"properties":{"env":{"enum":["a","b"]},"n":{"type":"integer","minimum":3}}}`)(tool)
			container(tool).Args = []string{"-env=$(MCP_ARG_ENV)"}
		}, v1alpha1.ToolReasonReady, ""},
		{"no-example", func(tool *v1alpha1.MCPTool) {
			input(`{"type":"object","required":["id"],"properties":{"id":{"type":"string","pattern":"^[0-9a-f]{8}-x{3}$"}}}`)(tool)
			container(tool).Args = []string{"-id=$(MCP_ARG_ID)"}
		}, v1alpha1.ToolReasonReady, ""},
		{"bad-schema", input(`{"type":"object","properties":{"n":{"type":"whole number"}}}`),
			v1alpha1.ToolReasonInvalidSchema, "inputSchema"},
		{"bad-header", input(`{"type":"object","properties":{"n":{"type":"number","x-mcp-header":"N"}}}`),
			v1alpha1.ToolReasonInvalidSchema, `property "n": x-mcp-header needs`},
		{"bad-template", func(tool *v1alpha1.MCPTool) { container(tool).Image = "" }, v1alpha1.ToolReasonInvalidTemplate, "image"},
		{"many-pods", func(tool *v1alpha1.MCPTool) {
			three := int32(3)
			tool.Spec.JobTemplate.Spec.Completions = &three
		}, v1alpha1.ToolReasonReady, ""},
		{"too-many-pods", func(tool *v1alpha1.MCPTool) {
			more := int32(1001)
			tool.Spec.JobTemplate.Spec.Completions = &more
		}, v1alpha1.ToolReasonInvalidTemplate, "at most 1000"},
		{"unsafe", func(tool *v1alpha1.MCPTool) {
			container(tool).Command = []string{"sh", "-c", "echo $(MCP_ARG_TEXT)"}
		}, v1alpha1.ToolReasonUnsafeArgument, "shell"},
		{"selective", func(tool *v1alpha1.MCPTool) { tool.Spec.TenantSelector = &metav1.LabelSelector{} },
			v1alpha1.ToolReasonInvalidSelector, "catalog"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tool := w.tool(named(c.name), c.change)
			got := w.awaitReady(tool, c.reason)
			if !strings.Contains(got.Message, c.says) {
				t.Errorf("message %q does not say %q", got.Message, c.says)
			}
		})
	}
	var jobs batchv1.JobList
	w.must(admin.List(w.ctx, &jobs, client.InNamespace(w.ns)))
	for _, j := range jobs.Items {
		t.Errorf("a dry run left the Job %s", j.Name)
	}
}

func TestToolBecomesReadyWhenItIsMended(t *testing.T) {
	w := newWorld(t)
	w.controller()
	tool := w.tool(func(tool *v1alpha1.MCPTool) { tool.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image = "" })
	w.awaitReady(tool, v1alpha1.ToolReasonInvalidTemplate)
	w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(tool), tool))
	before := tool.DeepCopy()
	tool.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image = "example.invalid/echo:2"
	w.must(admin.Patch(w.ctx, tool, client.MergeFrom(before)))
	w.awaitReady(tool, v1alpha1.ToolReasonReady)
}

func TestToolBecomesReadyWhenItsAuthorAcceptsTheRisk(t *testing.T) {
	w := newWorld(t)
	w.controller()
	tool := w.tool(func(tool *v1alpha1.MCPTool) {
		tool.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Command = []string{"sh", "-c", "echo $(MCP_ARG_TEXT)"}
	})
	w.awaitReady(tool, v1alpha1.ToolReasonUnsafeArgument)
	w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(tool), tool))
	before := tool.DeepCopy()
	tool.Annotations = map[string]string{v1alpha1.AnnotationUnsafe: "shell"}
	w.must(admin.Patch(w.ctx, tool, client.MergeFrom(before)))
	w.awaitReady(tool, v1alpha1.ToolReasonReady)
}

func TestToolNameOfTheCatalogWins(t *testing.T) {
	w := newWorld(t)
	w.controller()
	own := w.tool(named("mine"), called("migrate"))
	w.awaitReady(own, v1alpha1.ToolReasonReady)
	ofCatalog := w.tool(named("theirs"), called("migrate"), inNamespace(w.catalog))
	w.awaitReady(ofCatalog, v1alpha1.ToolReasonReady)
	c := w.awaitReady(own, v1alpha1.ToolReasonNameConflict)
	if !strings.Contains(c.Message, "theirs") || !strings.Contains(c.Message, "spec.name") {
		t.Errorf("message %q", c.Message)
	}
	w.must(admin.Delete(w.ctx, ofCatalog))
	w.awaitReady(own, v1alpha1.ToolReasonReady)
}

func called(name string) func(*v1alpha1.MCPTool) {
	return func(t *v1alpha1.MCPTool) { t.Spec.Name = name }
}

// A catalog tool takes a name only from those tenants that it is offered to, and that changes with their labels.
func TestToolNameOfTheCatalogWinsWhereItIsOffered(t *testing.T) {
	w := newWorld(t)
	w.controller()
	own := w.tool(named("mine"), called("migrate"))
	w.tool(named("theirs"), called("migrate"), inNamespace(w.catalog), func(tool *v1alpha1.MCPTool) {
		tool.Spec.TenantSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "prod"}}
	})
	w.awaitReady(own, v1alpha1.ToolReasonReady)
	w.label("tier", "prod")
	w.awaitReady(own, v1alpha1.ToolReasonNameConflict)
	w.label("tier", "test")
	w.awaitReady(own, v1alpha1.ToolReasonReady)
}

// label sets a label of the tenant's namespace.
func (w *world) label(key, value string) {
	w.Helper()
	ns := &corev1.Namespace{}
	w.must(admin.Get(w.ctx, client.ObjectKey{Name: w.ns}, ns))
	before := ns.DeepCopy()
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[key] = value
	w.must(admin.Patch(w.ctx, ns, client.MergeFrom(before)))
}

func TestToolNameOfTheOlderWins(t *testing.T) {
	w := newWorld(t)
	w.controller()
	first := w.tool(named("a-first"), called("migrate"))
	w.awaitReady(first, v1alpha1.ToolReasonReady)
	second := w.tool(named("b-second"), called("migrate"))
	w.awaitReady(second, v1alpha1.ToolReasonNameConflict)
	if got := await(w, first, "its judgement", func(*v1alpha1.MCPTool) bool { return true }); got.Status.Name != "migrate" {
		t.Errorf("status.name %q", got.Status.Name)
	}
	w.awaitReady(first, v1alpha1.ToolReasonReady)
	w.must(admin.Delete(w.ctx, first))
	w.awaitReady(second, v1alpha1.ToolReasonReady)
}

// Where the endpoint has tools of its own, their names are theirs, and whoever takes one is told so.
func TestToolNamesOfTheCompanions(t *testing.T) {
	w := newWorld(t)
	stop := w.controller()
	own := w.tool(named("mine"), called("task_status"))
	ofCatalog := w.tool(named("theirs"), called("task_cancel"), inNamespace(w.catalog))
	for _, tool := range []*v1alpha1.MCPTool{own, ofCatalog} {
		w.awaitReady(tool, v1alpha1.ToolReasonReady)
	}
	stop()
	w.controller(func(s *setup) { s.options.CompanionTools = true })
	for _, tool := range []*v1alpha1.MCPTool{own, ofCatalog} {
		if c := w.awaitReady(tool, v1alpha1.ToolReasonNameConflict); !strings.Contains(c.Message, "companion tools") {
			t.Errorf("message %q", c.Message)
		}
	}
	w.awaitReady(w.tool(named("task-status"), called("task-status")), v1alpha1.ToolReasonReady)
}
