package task

import (
	"strings"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// stopRules speak once somebody wants the Job gone, or it is gone. They come after the outcome rules: a container that came to
// its own end first keeps its outcome.
var stopRules = []Rule{{
	Name:    "cancelled",
	Seen:    "a cancel was asked for, and Job and pods are gone",
	State:   v1alpha1.StateCancelled,
	Reasons: []string{v1alpha1.ReasonCancelled},
	speak: func(f *facts) *Verdict {
		if f.Task.Spec.Cancel == nil || !f.gone() {
			return nil
		}
		return f.cancelled(v1alpha1.ReasonCancelled, f.withLastWords(withReason("Cancelled", f.Task.Spec.Cancel.Reason)))
	},
}, {
	Name:    "cancelling",
	Seen:    "a cancel was asked for, and the pods are being stopped",
	State:   v1alpha1.StateWorking,
	Reasons: []string{v1alpha1.ReasonCancelling},
	Note: "SIGTERM first; how long the grace period is, the tool's template says. The message has the end of the output so far, " +
		"and keeps it: the log goes with the pods.",
	speak: func(f *facts) *Verdict {
		if f.Task.Spec.Cancel == nil {
			return nil
		}
		v := f.working(v1alpha1.ReasonCancelling, f.withLastWords(cancelMessage(f.Task.Spec.Cancel)))
		switch {
		case f.jobDeleting() || f.Stopped:
		case f.SoFar == nil && f.several == nil && f.last != nil && f.last.running():
			v.Next, v.Pod, v.Container = NextGlance, f.last.pod, f.main
		default:
			v.Next = NextStop
		}
		v.After = f.untilLost()
		return v
	},
}, {
	Name:    "job-deleted",
	Seen:    "somebody deleted the Job while it ran, or before, and Job and pods are gone",
	State:   v1alpha1.StateCancelled,
	Reasons: []string{v1alpha1.ReasonJobDeleted},
	speak: func(f *facts) *Verdict {
		// A task that was last seen running, whose Job and pods have vanished since, may have ended in the meantime.
		seenStopping := f.Task.Status.Reason == v1alpha1.ReasonCancelling
		if !f.gone() || (!seenStopping && !f.startedAt.IsZero()) {
			return nil
		}
		return f.cancelled(v1alpha1.ReasonJobDeleted, "Somebody deleted the Job of this call before it was done.")
	},
}, {
	Name:    "vanished",
	Seen:    "Job and pods were deleted, and nobody saw whether the work was done by then",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonOutcomeUnknown},
	Note:    "For instance while the controller did not run.",
	speak: func(f *facts) *Verdict {
		if !f.gone() {
			return nil
		}
		return f.outcomeUnknown()
	},
}, {
	Name:    "job-being-deleted",
	Seen:    "somebody deleted the Job, and its pods are being stopped",
	State:   v1alpha1.StateWorking,
	Reasons: []string{v1alpha1.ReasonCancelling},
	speak: func(f *facts) *Verdict {
		if !f.jobDeleting() {
			return nil
		}
		v := f.working(v1alpha1.ReasonCancelling, "Somebody deleted the Job of this call; waiting until its pods are gone.")
		v.After = f.untilLost()
		return v
	},
}}

// gone: neither the Job nor any of its pods is left.
func (f *facts) gone() bool { return f.launched && f.Job == nil && f.last == nil }

const (
	// lastWordsMark stands before the end of the output in the message of a task that is being cancelled.
	lastWordsMark = ". Its last output: "
	// maxLastWords is how much of the output that is, in bytes.
	maxLastWords = 300
)

// withLastWords adds to a message the end of what the work had written when it was stopped, where anybody knows. Once the pods
// are gone only the record has it.
func (f *facts) withLastWords(message string) string {
	words := ""
	switch s := f.Task.Status; {
	case f.SoFar != nil:
		words = f.SoFar.LastWords(maxLastWords)
	case s.Reason == v1alpha1.ReasonCancelling:
		if rest, ok := strings.CutPrefix(s.Message, beforeLastWords(cancelMessage(f.Task.Spec.Cancel))); ok {
			words = rest
		}
	}
	if words == "" {
		return message
	}
	return beforeLastWords(message) + words
}

func beforeLastWords(message string) string { return strings.TrimRight(message, ". ") + lastWordsMark }
