package integration

import (
	"crypto/rand"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/task"
)

// newTool is a tool of the tenant with one argument, text.
func (w *world) newTool(changes ...func(*v1alpha1.MCPTool)) *v1alpha1.MCPTool {
	tool := &v1alpha1.MCPTool{
		ObjectMeta: metav1.ObjectMeta{Name: "echo", Namespace: w.ns},
		Spec: v1alpha1.MCPToolSpec{
			Description: "Prints what it is given.",
			InputSchema: &apiextensionsv1.JSON{Raw: []byte(`{"type":"object","properties":{"text":{"type":"string"}}}`)},
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "main", Image: "example.invalid/echo:1"}},
			}}}},
		},
	}
	forADay := metav1.Duration{Duration: 24 * time.Hour}
	tool.Spec.Execution.Retention = v1alpha1.Retention{Task: &forADay, Job: metav1.Duration{Duration: time.Hour}}
	for _, change := range changes {
		change(tool)
	}
	return tool
}

// tool creates a tool.
func (w *world) tool(changes ...func(*v1alpha1.MCPTool)) *v1alpha1.MCPTool {
	w.Helper()
	tool := w.newTool(changes...)
	w.must(admin.Create(w.ctx, tool))
	return tool
}

func named(name string) func(*v1alpha1.MCPTool) {
	return func(t *v1alpha1.MCPTool) { t.Name = name }
}

func inNamespace(ns string) func(*v1alpha1.MCPTool) {
	return func(t *v1alpha1.MCPTool) { t.Namespace = ns }
}

func startsWithin(d time.Duration) func(*v1alpha1.MCPTool) {
	return func(t *v1alpha1.MCPTool) { t.Spec.Execution.StartupDeadline.Duration = d }
}

func kept(task, job time.Duration) func(*v1alpha1.MCPTool) {
	return func(t *v1alpha1.MCPTool) {
		t.Spec.Execution.Retention = v1alpha1.Retention{
			Task: &metav1.Duration{Duration: task}, Job: metav1.Duration{Duration: job},
		}
	}
}

func input(schema string) func(*v1alpha1.MCPTool) {
	return func(t *v1alpha1.MCPTool) { t.Spec.InputSchema = &apiextensionsv1.JSON{Raw: []byte(schema)} }
}

// newCall is the task that the endpoint makes of a call.
func (w *world) newCall(tool *v1alpha1.MCPTool, arguments string) *v1alpha1.MCPTask {
	w.Helper()
	id, err := task.NewID(rand.Reader)
	w.must(err)
	return &v1alpha1.MCPTask{
		ObjectMeta: metav1.ObjectMeta{Name: id, Namespace: w.ns, Labels: map[string]string{v1alpha1.LabelTool: tool.Name}},
		Spec: v1alpha1.MCPTaskSpec{
			Tool: v1alpha1.ToolReference{
				Namespace: tool.Namespace, Name: tool.Name, UID: tool.UID, Generation: tool.Generation,
			},
			Arguments: arguments,
			Owner:     v1alpha1.Owner{Issuer: "kubernetes", Subject: "system:serviceaccount:" + w.ns + ":agent"},
			Execution: tool.Spec.Execution,
			Result:    tool.Spec.Result,
		},
	}
}

// call creates a task.
func (w *world) call(tool *v1alpha1.MCPTool) *v1alpha1.MCPTask {
	w.Helper()
	t := w.newCall(tool, `{"text":"hello"}`)
	w.must(admin.Create(w.ctx, t))
	return t
}
