package job

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// An Ending is how the main container ended.
type Ending struct {
	// ExitCode of the container's process.
	ExitCode int32
	// Signal that ended the process, where the runtime reports it apart from ExitCode; else 0.
	Signal int32
	// OOMKilled: the container, or a process in it, was killed because memory ran out, whatever ExitCode says.
	OOMKilled bool
	// DeadlineExceeded: the kubelet stopped the pod at its activeDeadlineSeconds.
	DeadlineExceeded bool
	// TerminationMessage is what the container wrote to its termination message file.
	TerminationMessage string
	// TerminationMessageLimit is how many bytes of it Kubernetes kept at most; 0 stands for 4096.
	TerminationMessageLimit int
}

// EndingOf reads from a pod how its container of that name ended; false while it has not.
func EndingOf(pod *corev1.Pod, container string) (Ending, bool) { return Ending{}, false }

// An Output is what could be read of the main container's log.
type Output struct {
	// Data is the end of the log.
	Data []byte
	// Total is the length of the log in bytes; less than len(Data) where it is not known.
	Total int64
	// Unavailable says in words why the log could not be read; empty where it was.
	Unavailable string
}

// A Result is what becomes of a container that ended.
type Result struct {
	// JSON is the MCP CallToolResult, for status.result.
	JSON string
	// IsError is the CallToolResult's isError.
	IsError bool
	// Reason is the task's reason.
	Reason string
	// Message is one short sentence, for status.message.
	Message string
}

// ReadResult makes the result of a task whose main container ended.
func ReadResult(task *v1alpha1.MCPTask, outputSchema []byte, e Ending, out Output) Result {
	return Result{}
}
