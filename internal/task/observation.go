package task

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/question"
)

// Observation is all that is known of a task and of what became of it, gathered before anything is decided. What is expensive to
// know is left out at first; a Verdict asks for it with its Next.
type Observation struct {
	// Now is the time to decide for.
	Now time.Time
	// CatalogNamespace is the one namespace other than the task's own whose tools the task may use.
	CatalogNamespace string

	// Task is the record so far.
	Task *v1alpha1.MCPTask
	// Tool is the MCPTool that spec.tool names; nil where there is none. It matters only until the Job exists.
	Tool *v1alpha1.MCPTool
	// FreshTask: Task and Tool were read from the API server for this decision, not from a cache that may be behind.
	FreshTask bool

	// Plan is what the tool's questions ask for, given the call and all answers of FreshTask; nil: not evaluated.
	Plan *question.Plan
	// PlanProblem says in words why the questions could not be evaluated; empty where they were, or have not been tried.
	PlanProblem string

	// Job is the task's own Job; nil where there is none.
	Job *batchv1.Job
	// Pods are the pods of that Job, in any order.
	Pods []corev1.Pod
	// FreshJob: Job and Pods were read from the API server for this decision. Only then is what is absent believed to be absent.
	FreshJob bool

	// Events are those about the object that a Verdict asked for. nil: not read; empty: there are none.
	Events []corev1.Event
	// NoEvents says in words why there are none: nobody was let look. Empty otherwise.
	NoEvents string

	// Refusal is why the Job can never be created; nil while it can.
	Refusal *Refusal
	// Trouble says in words why the Job could not be created this time, though it may be the next time.
	Trouble string
	// Stopped: the Job's deletion has been asked for since Job was read.
	Stopped bool
	// Output is what the main container left in its log; nil: not read.
	Output *job.Output
	// Outputs is the same of the pods of a Job with several, by their UIDs; nil: not read.
	Outputs map[types.UID]job.Output
	// SoFar is what a main container that runs has written so far; nil: not read.
	SoFar *job.Output
}

// Refusal is a final No to a task's Job.
type Refusal struct {
	// Reason is a Reason constant of the API.
	Reason string
	// Message says in words who refused and why.
	Message string
}

// HeldUp is the verdict where what v asks for cannot be done for now: the task stays in its state, and its message says why.
func (v Verdict) HeldUp(t *v1alpha1.MCPTask, why string) Verdict {
	if v.Passing || v.State.Terminal() {
		v.State, v.Reason = t.Status.State, t.Status.Reason
	}
	if v.State == "" {
		v.State, v.Reason = v1alpha1.StateWorking, v1alpha1.ReasonQueued
	}
	return Verdict{
		Rule: v.Rule, State: v.State, Reason: v.Reason, Message: clip(sentence("Held up", why), maxMessage), StartedAt: v.StartedAt,
	}
}

// Next is what has to be done, or known, before a task can get any further.
type Next string

const (
	// NextNothing: wait for the cluster.
	NextNothing Next = ""
	// NextFreshTask: read Task and Tool from the API server.
	NextFreshTask Next = "FreshTask"
	// NextFreshJob: read Job and Pods from the API server.
	NextFreshJob Next = "FreshJob"
	// NextEvents: read the events about the object Verdict.About.
	NextEvents Next = "Events"
	// NextPlan: evaluate the tool's questions.
	NextPlan Next = "Plan"
	// NextLaunch: create the Job.
	NextLaunch Next = "Launch"
	// NextOutput: read the log of Verdict.Pod.
	NextOutput Next = "Output"
	// NextOutputs: read the logs of Verdict.Pods.
	NextOutputs Next = "Outputs"
	// NextGlance: read the end of the log of Verdict.Pod, whose container runs. It is tried once, and for a moment only.
	NextGlance Next = "Glance"
	// NextStop: delete the Job, and its pods with it.
	NextStop Next = "Stop"
)

// Verdict is what follows from an Observation: the state that the record should show, and what to do next. Only when Next is
// NextNothing is it the last word on the Observation.
type Verdict struct {
	// Rule is the name of the rule that spoke.
	Rule string
	// State is one of the five states; never empty.
	State v1alpha1.TaskState
	// Reason is a Reason constant of the API.
	Reason string
	// Message says what is going on or what happened, at most 1024 characters.
	Message string
	// Result is the CallToolResult as JSON; set exactly with the state completed.
	Result string
	// Error is the JSON-RPC error; set exactly with the state failed.
	Error *v1alpha1.TaskError
	// Questions are asked from now on, by key, besides those on the record.
	Questions map[string]v1alpha1.Question
	// StartedAt is when the main container began to run; zero while it has not.
	StartedAt time.Time
	// Log is where the log lies that the result was made from, and LogURI the resource that clients can read it by; nil and empty
	// where it cannot be read any more, or by nobody.
	Log    *v1alpha1.LogReference
	LogURI string
	// AdmitBy is when the suspended Job has to be resumed; zero: it is not suspended.
	AdmitBy time.Time
	// EndedAt is when the main container ended, as the kubelet says (whole seconds); zero where that isn't known.
	EndedAt time.Time

	// Next is what to do now.
	Next Next
	// About is the object whose events are wanted, with NextEvents.
	About types.UID
	// Pod and Container say whose log is wanted, with NextOutput and NextGlance; Errors, that the tool failed.
	Pod       *corev1.Pod
	Container string
	Errors    bool
	// Pods and Container say whose logs are wanted, with NextOutputs.
	Pods []*corev1.Pod

	// Passing: the state is one that healthy tasks go through within seconds. It isn't worth a write of its own.
	Passing bool
	// After is how long to wait at most before looking again; 0: until something changes in the cluster.
	After time.Duration
}

// WithoutOutput is the verdict with a sentence in place of its result, for a task that has no room for it.
func (v Verdict) WithoutOutput() Verdict {
	if v.State != v1alpha1.StateCompleted {
		return v
	}
	if v.Reason == v1alpha1.ReasonSucceeded {
		v.Reason, v.Message = v1alpha1.ReasonInvalidOutput, "The tool exited with code 0, but its result is too large."
	}
	v.Result = job.LinkedResult(v.Message+" Its output is left out: it cannot be stored together with the call.", true, v.LogURI)
	return v
}
