package task

import (
	"fmt"
	"time"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

// launchRules speak while the task has no Job yet.
var launchRules = []Rule{{
	Name:    "cancelled-before-start",
	Seen:    "a cancel is asked for and there is no Job yet",
	State:   v1alpha1.StateCancelled,
	Reasons: []string{v1alpha1.ReasonCancelled},
	Note:    "No Job is ever created.",
	speak: func(f *facts) *Verdict {
		if f.launched || f.Task.Spec.Cancel == nil {
			return nil
		}
		// The Job may exist all the same: created, and the controller stopped before it could record it.
		if !f.FreshJob {
			return f.unchanged(NextFreshJob)
		}
		return f.cancelled(v1alpha1.ReasonCancelled, withReason("Cancelled before it started", f.Task.Spec.Cancel.Reason))
	},
}, {
	Name:    "foreign-tool",
	Seen:    "spec.tool is in a namespace that is neither the task's own nor the catalog's",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonRejected},
	speak: func(f *facts) *Verdict {
		ns := f.Task.Spec.Tool.Namespace
		if f.launched || ns == f.Task.Namespace || ns == f.CatalogNamespace {
			return nil
		}
		return f.failed(v1alpha1.ReasonRejected, "A task may only use tools of its own namespace or of the catalog.")
	},
}, {
	Name:    "tool-removed",
	Seen:    "the tool was deleted, or deleted and made anew, and there is no Job yet",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonToolChanged},
	speak: func(f *facts) *Verdict {
		if f.launched {
			return nil
		}
		ref := f.Task.Spec.Tool
		same := f.Tool != nil && f.Tool.UID == ref.UID
		if same && f.Tool.Generation >= ref.Generation {
			return nil
		}
		if !f.FreshTask {
			return f.unchanged(NextFreshTask)
		}
		return f.failed(v1alpha1.ReasonToolChanged,
			fmt.Sprintf("The tool %s was removed before the call started. List the tools and call again.", ref.Name))
	},
}, {
	Name:    "arguments-lost",
	Seen:    "the call's `writeOnly` arguments are not in their Secret by `startupDeadline`",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonCannotStart},
	Note: "The endpoint ended between recording the call and storing them. A call that is repeated with its idempotency key " +
		"stores them.",
	speak: func(f *facts) *Verdict {
		switch {
		case !f.awaitsSecret() || f.Now.Before(f.createBy()):
			return nil
		case !f.FreshTask:
			return f.unchanged(NextFreshTask)
		}
		return f.failed(v1alpha1.ReasonCannotStart, "Its secret arguments were never stored, so nothing was started. Call again.")
	},
}, {
	Name:    "awaiting-arguments",
	Seen:    "the call's `writeOnly` arguments are not in their Secret yet",
	State:   v1alpha1.StateWorking,
	Reasons: []string{v1alpha1.ReasonQueued},
	Note:    "A moment, as a rule: the Secret belongs to the task, and so comes after it.",
	speak: func(f *facts) *Verdict {
		if !f.awaitsSecret() {
			return nil
		}
		v := f.working(v1alpha1.ReasonQueued, "Waiting until its secret arguments are stored.")
		v.After = max(time.Second, f.createBy().Sub(f.Now))
		if settled := f.Task.CreationTimestamp.Add(settling); f.Now.Before(settled) {
			v.Passing, v.After = true, settled.Sub(f.Now)
		}
		return v
	},
}, {
	Name:    "tool-changed",
	Seen:    "the tool was changed before the start, and the arguments no longer fit it",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonToolChanged},
	Note:    "Arguments that still fit run with the changed tool.",
	speak:   refusedWith(v1alpha1.ReasonToolChanged),
}, {
	Name:    "quota-full",
	Seen:    "a quota refuses the Job",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonQuotaExceeded},
	speak:   refusedWith(v1alpha1.ReasonQuotaExceeded),
}, {
	Name:    "job-refused",
	Seen:    "the API server or a policy refuses the Job, or another object's Job has its name",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonRejected},
	Note:    "At once; such a refusal does not go away by waiting.",
	speak:   refusedWith(v1alpha1.ReasonRejected),
}, {
	Name:    "not-created-in-time",
	Seen:    "the Job could not be created by `startupDeadline`, for instance because a webhook does not answer",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonCannotStart},
	speak: func(f *facts) *Verdict {
		if f.launched || f.Trouble == "" || f.Now.Before(f.createBy()) {
			return nil
		}
		return f.failed(v1alpha1.ReasonCannotStart, fmt.Sprintf("The Job could not be created within %s: %s",
			job.DurationText(f.Task.Spec.Execution.StartupDeadline.Duration), f.Trouble))
	},
}, {
	Name:    "to-launch",
	Seen:    "there is no Job yet",
	State:   v1alpha1.StateWorking,
	Reasons: []string{v1alpha1.ReasonQueued},
	Note:    "The Job is created once, under the task's name, after a read of the task past every cache.",
	speak: func(f *facts) *Verdict {
		switch {
		case f.launched:
			return nil
		case f.Trouble != "":
			v := f.working(v1alpha1.ReasonQueued, "The Job could not be created yet; trying again: "+f.Trouble)
			v.After = max(time.Second, f.createBy().Sub(f.Now))
			return v
		case !f.FreshTask:
			return f.unchanged(NextFreshTask)
		}
		v := f.working(v1alpha1.ReasonQueued, messageAccepted)
		v.Next = NextLaunch
		return v
	},
}}

// awaitsSecret: there is no Job yet, and must not be before the Secret with the call's arguments is there.
func (f *facts) awaitsSecret() bool {
	secret := f.Task.Spec.SecretArguments
	return !f.launched && secret != nil && secret.StoredAt == nil
}

// createBy is when the Job has to exist: startupDeadline after the call, or after the last answer to its questions.
func (f *facts) createBy() time.Time {
	since := f.Task.CreationTimestamp.Time
	for _, answer := range f.Task.Spec.Answers {
		if answer.At.After(since) {
			since = answer.At.Time
		}
	}
	return since.Add(f.Task.Spec.Execution.StartupDeadline.Duration)
}

func refusedWith(reason string) func(f *facts) *Verdict {
	return func(f *facts) *Verdict {
		if f.launched || f.Refusal == nil || f.Refusal.Reason != reason {
			return nil
		}
		return f.failed(reason, f.Refusal.Message)
	}
}
