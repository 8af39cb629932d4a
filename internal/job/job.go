// Package job maps an MCPTool and the arguments of a call to a Job, and what the Job's pod left behind to an MCP result.
package job

import (
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// A Problem is why a tool cannot be used or a call cannot become a Job.
type Problem struct {
	// Reason is a ToolReason constant (from Check) or a Reason constant of tasks (from Build).
	Reason string
	// Message says for people what is wrong and what to do.
	Message string
}

// Error is the message.
func (p *Problem) Error() string { return p.Message }

// Name is the name of the task's Job: the task's own.
func Name(task string) string { return task }

// MainContainer is the container whose output is the result and whose exit ends the task.
func MainContainer(source v1alpha1.ResultSource, template *corev1.PodTemplateSpec) string {
	if source.Container != "" || len(template.Spec.Containers) == 0 {
		return source.Container
	}
	return template.Spec.Containers[0].Name
}

// Check reports as a *Problem with a ToolReason why no Job can be built, or none safely, from the tool.
func Check(tool *v1alpha1.MCPTool) error { return errors.New("job: not implemented") }

// Build makes the Job of a task. An error is a *Problem whose Reason is one of tasks: ToolChanged where the tool's present
// generation no longer takes the arguments, Rejected where the arguments have no place in the Job.
func Build(tool *v1alpha1.MCPTool, task *v1alpha1.MCPTask) (*batchv1.Job, error) {
	return nil, errors.New("job: not implemented")
}

// CheckArguments reports as a *Problem why the arguments, a JSON object that fits inputSchema, have no place in a Job of the
// tool; for the endpoint, which can say so before a task exists.
func CheckArguments(tool *v1alpha1.MCPTool, arguments []byte) error {
	return errors.New("job: not implemented")
}
