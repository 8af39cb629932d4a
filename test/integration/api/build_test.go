package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// newTool is the smallest valid tool, with changes.
func newTool(change ...func(*v1alpha1.MCPTool)) *v1alpha1.MCPTool {
	tool := &v1alpha1.MCPTool{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "tool-", Namespace: namespace},
		Spec:       v1alpha1.MCPToolSpec{Description: "says hello"},
	}
	tool.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "hello"}}
	tool.Spec.Execution.Retention = keepFor(day)
	for _, c := range change {
		c(tool)
	}
	return tool
}

// newTask is the smallest valid task, with changes.
func newTask(change ...func(*v1alpha1.MCPTask)) *v1alpha1.MCPTask {
	task := &v1alpha1.MCPTask{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "t-", Namespace: namespace},
		Spec: v1alpha1.MCPTaskSpec{
			Tool:      v1alpha1.ToolReference{Namespace: namespace, Name: "hello", UID: "1", Generation: 1},
			Arguments: "{}",
			Owner:     v1alpha1.Owner{Issuer: "kubernetes", Subject: "agent"},
			Execution: v1alpha1.Execution{Retention: keepFor(day)},
		},
	}
	for _, c := range change {
		c(task)
	}
	return task
}
