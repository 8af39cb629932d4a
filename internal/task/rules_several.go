package task

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// severalEndRules speak once the Job controller has said what became of a Job with several pods, or nobody will.
var severalEndRules = []Rule{{
	Name: "several-unseen",
	Pods: SeveralPods,
	Seen: "the Job is Complete or Failed, and the cache does not show how all of its pods ended",
	Note: "Job and pods are read past the cache.",
	speak: func(f *facts) *Verdict {
		if !f.severalOver() || !f.severalUnseen() {
			return nil
		}
		return f.unchanged(NextFreshJob)
	},
}, {
	Name:  "several-succeeded",
	Pods:  SeveralPods,
	Seen:  "the Job is Complete, by its completions or its successPolicy",
	State: v1alpha1.StateCompleted,
	Reasons: []string{
		v1alpha1.ReasonSucceeded, v1alpha1.ReasonInvalidOutput, v1alpha1.ReasonOOMKilled, v1alpha1.ReasonToolError,
	},
	Note: "The outputs are joined by index. With `isError: true`, OOMKilled: a process was killed for memory, though its " +
		"container exited with 0; and ToolError: a pod's output says so itself.",
	speak: func(f *facts) *Verdict {
		if !f.severalOver() || !f.complete {
			return nil
		}
		return f.completedSeveral(f.severalParts())
	},
}, {
	Name:    "several-deadline",
	Pods:    SeveralPods,
	Seen:    "the Job as a whole ran longer than `startupDeadline` and `deadline` together",
	State:   v1alpha1.StateCompleted,
	Reasons: []string{v1alpha1.ReasonDeadlineExceeded},
	Note:    "`isError: true`, with the outputs so far. Pods that still ran are deleted, and their output with them.",
	speak: func(f *facts) *Verdict {
		if !f.severalOver() || f.broken != batchv1.JobReasonDeadlineExceeded || f.startedAt.IsZero() {
			return nil
		}
		return f.completedSeveral(f.severalParts())
	},
}, {
	Name:    "several-failed",
	Pods:    SeveralPods,
	Seen:    "the Job failed, and the main container of a pod exited with another code than 0, ran out of memory or of time",
	State:   v1alpha1.StateCompleted,
	Reasons: []string{v1alpha1.ReasonToolError, v1alpha1.ReasonOOMKilled, v1alpha1.ReasonDeadlineExceeded},
	Note: "`isError: true`, with what happened to each index and the end of its output. ToolError also where indexes failed in " +
		"different ways.",
	speak: func(f *facts) *Verdict {
		if !f.severalOver() {
			return nil
		}
		if parts := f.severalParts(); parts.ToolFailed() {
			return f.completedSeveral(parts)
		}
		return nil
	},
}, {
	Name:    "several-disrupted",
	Pods:    SeveralPods,
	Seen:    "the Job failed because pods were evicted, preempted, deleted or lost with their nodes",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonDisrupted},
	speak: func(f *facts) *Verdict {
		if !f.severalOver() {
			return nil
		}
		p := f.unfinishedPart(func(a *attempt) bool { return a.lost(f.Now) || a.disrupted() })
		if p == nil {
			return nil
		}
		cause := p.last.disruptionCause()
		if p.last.lost(f.Now) {
			cause = "its node does not answer"
		}
		return f.failed(v1alpha1.ReasonDisrupted, fmt.Sprintf(
			"%s was stopped before it was done: %s. The work may have had effects; %s.", f.several.name(p), cause, f.several.tally()))
	},
}, {
	Name:    "several-never-ran",
	Pods:    SeveralPods,
	Seen:    "the Job failed because pods failed before their main container ran",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonCannotStart, v1alpha1.ReasonImagePullFailed},
	speak: func(f *facts) *Verdict {
		if !f.severalOver() {
			return nil
		}
		p := f.unfinishedPart((*attempt).neverRan)
		if p == nil {
			return nil
		}
		w := failedPod(p.last.pod, f.main)
		if p.last.ending != nil {
			w.message = f.cannotRun(p.last)
		}
		return f.failed(w.reason, fmt.Sprintf("%s: %s (%s.)", f.several.name(p), w.message, f.several.tally()))
	},
}, {
	Name:    "several-outcome-unknown",
	Pods:    SeveralPods,
	Seen:    "the Job failed, and no pod is left that would say why",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonOutcomeUnknown},
	speak: func(f *facts) *Verdict {
		if !f.severalOver() {
			return nil
		}
		return f.outcomeUnknown()
	},
}, {
	Name:    "several-node-lost",
	Pods:    SeveralPods,
	Seen:    "a pod was told to stop, its node has not said that it ended, and nothing else of the Job has happened for two minutes",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonDisrupted},
	Note:    "Also after a cancel. The other pods may finish first.",
	speak: func(f *facts) *Verdict {
		if f.severalLost() == nil {
			return nil
		}
		return f.failed(v1alpha1.ReasonDisrupted, fmt.Sprintf("The node that ran one of the pods does not answer. The work may have "+
			"had effects, and may still be going on there; %s.", f.several.tally()))
	},
}}

// severalRunRules speak on everything that is left of a Job with several pods.
var severalRunRules = []Rule{{
	Name:    "several-ending",
	Pods:    SeveralPods,
	Seen:    "the Job has succeeded or failed, and the pods that it does not need any more are being stopped",
	State:   v1alpha1.StateWorking,
	Reasons: []string{v1alpha1.ReasonRunning},
	speak: func(f *facts) *Verdict {
		if !f.complete && f.broken == "" {
			return nil
		}
		v := f.working(v1alpha1.ReasonRunning, "Ending: "+f.several.tally()+"; pods that are not needed any more are being stopped.")
		v.After = soonest(f.untilLost(), max(0, f.endBy().Sub(f.Now)))
		return f.paced(v)
	},
}, {
	Name:    "several-running",
	Pods:    SeveralPods,
	Seen:    "pods run, or the next ones are due",
	State:   v1alpha1.StateWorking,
	Reasons: []string{v1alpha1.ReasonRunning},
	Note: "The message says how many are done, and what keeps further pods from running. It is written at most every 10 seconds. " +
		"`startupDeadline` does not count while a pod runs.",
	speak: func(f *facts) *Verdict {
		text, after, ask := f.held()
		if ask != nil {
			return ask
		}
		v := f.working(v1alpha1.ReasonRunning, strings.TrimSpace("Running: "+f.several.tally()+". "+text))
		v.After = soonest(after, f.untilLost())
		return f.paced(v)
	},
}}

// severalUntilLost is how long it takes at least until a pod that is being deleted counts as lost with its node; 0: there is
// none.
func (f *facts) severalUntilLost() time.Duration {
	var wait time.Duration
	for _, a := range f.attempts {
		if !a.deleting() || a.over() {
			continue
		}
		due := later(a.pod.DeletionTimestamp.Time, f.several.since).Add(lostAfter)
		wait = soonest(wait, max(time.Second, due.Sub(f.Now)))
	}
	return wait
}
