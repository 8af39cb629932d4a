package task

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

// lostAfter is how long past its grace period a pod may take to be gone before its node counts as lost.
const lostAfter = 2 * time.Minute

// lossRules speak where no outcome can be expected any more.
var lossRules = []Rule{{
	Name: "job-unseen",
	Seen: "the record names a Job that the cache does not show",
	Note: "It may be gone, or the cache behind: nothing is said before Job and pods were read past it.",
	speak: func(f *facts) *Verdict {
		if !f.launched || f.Job != nil || f.FreshJob {
			return nil
		}
		return f.unchanged(NextFreshJob)
	},
}, {
	Name:    "node-lost",
	Seen:    "the pod was told to stop, its grace period is over for two minutes, and its node has not said that it ended",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonDisrupted},
	Note:    "Also after a cancel: nobody can say that the work has stopped. No other pod is started.",
	speak: func(f *facts) *Verdict {
		if f.last == nil || !f.last.lost(f.Now) {
			return nil
		}
		return f.failed(v1alpha1.ReasonDisrupted,
			"The node that ran it does not answer. The work may have had effects, and may still be going on there.")
	},
}}

// outcomeRules speak once the main container has come to its own end, or the kubelet ended it for its tool's fault.
var outcomeRules = []Rule{{
	Name:    "deadline",
	Seen:    "the pod ran longer than `deadline` and was stopped for it",
	State:   v1alpha1.StateCompleted,
	Reasons: []string{v1alpha1.ReasonDeadlineExceeded},
	Note:    "`isError: true`, with the end of the output so far.",
	speak: func(f *facts) *Verdict {
		if !f.overDeadline() || f.mayRetry() || (f.jobDeleting() && !f.endedItself(f.last)) {
			return nil
		}
		switch a := f.last; {
		case a == nil && f.startedAt.IsZero(), a != nil && a.startedAt().IsZero():
			return nil
		case a != nil && a.ending != nil:
			ending := *a.ending
			ending.DeadlineExceeded = true
			return f.completed(ending)
		case a != nil && !podOver(a.pod):
			return f.working(v1alpha1.ReasonRunning, "Ran longer than its deadline; being stopped.")
		case !f.FreshJob:
			return f.unchanged(NextFreshJob)
		default:
			return f.completed(job.Ending{DeadlineExceeded: true})
		}
	},
}, {
	Name:    "cannot-run",
	Seen:    "the container's program could not be started",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonCannotStart},
	Note:    "A program that isn't in the image, for instance.",
	speak: func(f *facts) *Verdict {
		if !f.endedItself(f.last) || f.mayRetry() {
			return nil
		}
		t := f.last.status.State.Terminated
		if t.Reason != "StartError" && t.Reason != "ContainerCannotRun" {
			return nil
		}
		return f.failed(v1alpha1.ReasonCannotStart, f.cannotRun(f.last))
	},
}, {
	Name:    "oom",
	Seen:    "the main container was killed for memory, whatever its exit code",
	State:   v1alpha1.StateCompleted,
	Reasons: []string{v1alpha1.ReasonOOMKilled},
	Note:    "`isError: true`. A sidecar that is killed for memory changes nothing.",
	speak: func(f *facts) *Verdict {
		if !f.endedItself(f.last) || !f.last.ending.OOMKilled || f.mayRetry() {
			return nil
		}
		return f.completed(*f.last.ending)
	},
}, {
	Name:    "exit-error",
	Seen:    "the main container exited with another code than 0, and no retry follows",
	State:   v1alpha1.StateCompleted,
	Reasons: []string{v1alpha1.ReasonToolError},
	Note:    "`isError: true`, with the exit code and the end of the output in the text.",
	speak: func(f *facts) *Verdict {
		if !f.endedItself(f.last) || f.last.ending.ExitCode == 0 || f.mayRetry() {
			return nil
		}
		return f.completed(*f.last.ending)
	},
}, {
	Name:    "exit-ok",
	Seen:    "the main container exited with 0",
	State:   v1alpha1.StateCompleted,
	Reasons: []string{v1alpha1.ReasonSucceeded, v1alpha1.ReasonInvalidOutput},
	Note:    "As soon as it has, also where injected sidecars still run. InvalidOutput: what it left does not fit `outputSchema`.",
	speak: func(f *facts) *Verdict {
		if !f.endedItself(f.last) || f.last.ending.ExitCode != 0 {
			return nil
		}
		return f.completed(*f.last.ending)
	},
}}

// remainsRules speak where the Job is over and its pod does not say why.
var remainsRules = []Rule{{
	Name:    "succeeded-unread",
	Seen:    "the Job is Complete and its pod is gone",
	State:   v1alpha1.StateCompleted,
	Reasons: []string{v1alpha1.ReasonSucceeded, v1alpha1.ReasonInvalidOutput},
	Note:    "The result says that the output could not be read.",
	speak: func(f *facts) *Verdict {
		if !f.complete || f.last != nil {
			return nil
		}
		if !f.FreshJob {
			return f.unchanged(NextFreshJob)
		}
		return f.completed(job.Ending{})
	},
}, {
	Name:    "disrupted",
	Seen:    "the pod was evicted, preempted, deleted or lost with its node, and no retry follows",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonDisrupted},
	Note:    "Also where the container then exited with 0: it was told to stop before it was done.",
	speak: func(f *facts) *Verdict {
		if f.last == nil || f.mayRetry() || !f.last.disrupted() {
			return nil
		}
		return f.failed(v1alpha1.ReasonDisrupted,
			"Stopped before it was done: "+f.last.disruptionCause()+". The work may have had effects.")
	},
}, {
	Name:    "outcome-unknown",
	Seen:    "the Job failed and its pod was gone before its outcome was read, or the pod is over and does not say how",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonOutcomeUnknown},
	speak: func(f *facts) *Verdict {
		silent := f.last != nil && f.last.pod.Status.Phase == corev1.PodSucceeded && f.last.ending == nil
		if !silent && (f.broken == "" || f.last != nil) {
			return nil
		}
		if !f.FreshJob {
			return f.unchanged(NextFreshJob)
		}
		return f.outcomeUnknown()
	},
}}

// cannotRun says why the program of an attempt's main container could not be started.
func (f *facts) cannotRun(a *attempt) string {
	return sentence("The container "+f.main+" could not be started",
		ociPrefix.ReplaceAllString(tidy(a.status.State.Terminated.Message), ""))
}

// overDeadline: the kubelet, or the Job controller where somebody gave the Job a deadline too, stops the work because it ran too
// long. A container that had ended by then is not meant.
func (f *facts) overDeadline() bool {
	byJob := f.broken == batchv1.JobReasonDeadlineExceeded
	switch a := f.last; {
	case a == nil:
		return byJob
	case a.ending != nil:
		return a.ending.DeadlineExceeded || byJob && !f.endedItself(a)
	default:
		return a.pod.Status.Reason == "DeadlineExceeded" || byJob
	}
}

// completed ends the task with the result that the ending and the output make, once the output has been read.
func (f *facts) completed(ending job.Ending) *Verdict {
	v := &Verdict{State: v1alpha1.StateCompleted}
	output := job.Output{Unavailable: "its pod is gone"}
	if a := f.last; a != nil {
		v.EndedAt = a.endedAt
		switch {
		case f.Output != nil:
			output = *f.Output
		case f.wantsLog(ending):
			v = f.working(v1alpha1.ReasonRunning, "Ended; its output is being read.")
			v.EndedAt = a.endedAt
			v.Next, v.Pod, v.Container, v.Passing = NextOutput, a.pod, f.main, true
			v.Errors = ending.Failed()
			return v
		default:
			output = job.Output{}
		}
	}
	result := job.ReadResult(f.Task, f.outputSchema(), ending, output)
	v.Reason, v.Message, v.Result = result.Reason, result.Message, result.JSON
	if output.URI != "" && f.last != nil {
		v.LogURI, v.Log = output.URI, &v1alpha1.LogReference{Pod: f.last.pod.Name, Container: f.main}
	}
	return v
}

// wantsLog: the result is made from the log, or a failure left nothing else that would explain it.
func (f *facts) wantsLog(ending job.Ending) bool {
	if f.Task.Spec.Result.From != v1alpha1.ResultFromTerminationMessage {
		return true
	}
	return ending.TerminationMessage == "" && ending.Failed()
}

// outputSchema is the tool's outputSchema as it was when the Job was made; nil where it had none or the Job is gone.
func (f *facts) outputSchema() []byte {
	if f.Job == nil {
		return nil
	}
	if schema := f.Job.Annotations[v1alpha1.AnnotationOutputSchema]; schema != "" {
		return []byte(schema)
	}
	return nil
}
