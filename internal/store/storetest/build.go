package storetest

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// Namespace is a tenant's namespace.
func Namespace(name, tenant string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{v1alpha1.LabelTenant: tenant},
	}}
}

// Tool is a tool that is ready, changed by edit.
func Tool(namespace, name string, edit ...func(*v1alpha1.MCPTool)) *v1alpha1.MCPTool {
	tool := &v1alpha1.MCPTool{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1},
		Spec: v1alpha1.MCPToolSpec{
			Description: "Does " + name + ".",
			Execution: v1alpha1.Execution{
				Mode:            v1alpha1.ModeOptional,
				BlockFor:        metav1.Duration{Duration: 25 * time.Second},
				PollInterval:    metav1.Duration{Duration: 2 * time.Second},
				StartupDeadline: metav1.Duration{Duration: 10 * time.Minute},
				Deadline:        metav1.Duration{Duration: time.Hour},
				Retention:       v1alpha1.Retention{Task: &metav1.Duration{Duration: 24 * time.Hour}},
			},
		},
		Status: v1alpha1.MCPToolStatus{
			ObservedGeneration: 1,
			Conditions: []metav1.Condition{{
				Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ToolReasonReady,
			}},
		},
	}
	tool.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.invalid/" + name + ":1"}}
	for _, e := range edit {
		e(tool)
	}
	return tool
}

// WithInput gives a tool an input schema.
func WithInput(schema string) func(*v1alpha1.MCPTool) {
	return func(t *v1alpha1.MCPTool) { t.Spec.InputSchema = &apiextensionsv1.JSON{Raw: []byte(schema)} }
}

// WithMode gives a tool an execution mode.
func WithMode(mode v1alpha1.ExecutionMode) func(*v1alpha1.MCPTool) {
	return func(t *v1alpha1.MCPTool) { t.Spec.Execution.Mode = mode }
}

// NotReady makes a tool one that cannot be called.
func NotReady(reason, message string) func(*v1alpha1.MCPTool) {
	return func(t *v1alpha1.MCPTool) {
		t.Status.Conditions[0].Status = metav1.ConditionFalse
		t.Status.Conditions[0].Reason = reason
		t.Status.Conditions[0].Message = message
	}
}

// SetStatus plays the controller: it changes a task's status behind everybody's back.
func (c *Cluster) SetStatus(t testing.TB, namespace, id string, edit func(*v1alpha1.MCPTaskStatus)) *v1alpha1.MCPTask {
	t.Helper()
	task := c.Task(t, namespace, id)
	edit(&task.Status)
	now := metav1.NewMicroTime(time.Now())
	task.Status.LastUpdatedAt = &now
	if err := c.Status().Update(context.Background(), task); err != nil {
		t.Fatal(err)
	}
	return task
}

// Completed ends a task with a result.
func Completed(result string) func(*v1alpha1.MCPTaskStatus) {
	return func(s *v1alpha1.MCPTaskStatus) {
		now := metav1.NewMicroTime(time.Now())
		s.State, s.Reason, s.Result, s.FinishedAt = v1alpha1.StateCompleted, v1alpha1.ReasonSucceeded, result, &now
	}
}

// Asks makes a task ask the given questions, by key, all of which want {"confirm": boolean}.
func Asks(keys ...string) func(*v1alpha1.MCPTaskStatus) {
	return func(s *v1alpha1.MCPTaskStatus) {
		s.State, s.Reason = v1alpha1.StateInputRequired, v1alpha1.ReasonAwaitingInput
		if s.Questions == nil {
			s.Questions = map[string]v1alpha1.Question{}
		}
		for _, key := range keys {
			s.Questions[key] = v1alpha1.Question{
				Message:         "Sure?",
				RequestedSchema: `{"type":"object","required":["confirm"],"properties":{"confirm":{"type":"boolean"}}}`,
				AskedAt:         metav1.NewMicroTime(time.Now()),
			}
		}
	}
}

// Task reads a task as the API server has it.
func (c *Cluster) Task(t testing.TB, namespace, id string) *v1alpha1.MCPTask {
	t.Helper()
	task := &v1alpha1.MCPTask{}
	if err := c.Get(context.Background(), types.NamespacedName{Namespace: namespace, Name: id}, task); err != nil {
		t.Fatal(err)
	}
	return task
}

// Tasks lists the tasks of a namespace as the API server has them.
func (c *Cluster) Tasks(t testing.TB, namespace string) []v1alpha1.MCPTask {
	t.Helper()
	var list v1alpha1.MCPTaskList
	if err := c.List(context.Background(), &list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}
