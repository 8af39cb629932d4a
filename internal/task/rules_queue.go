package task

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

const (
	// labelQueue on a Job names the queue that Kueue admits it from.
	labelQueue = "kueue.x-k8s.io/queue-name"
	// defaultQueueDeadline stands for execution.queueDeadline in tasks that do not have one.
	defaultQueueDeadline = 24 * time.Hour
)

// queueRules speak while the Job is suspended and none of its pods is left to end: its author, or a webhook, made it so, and
// somebody (a queue, a person) resumes it; or somebody has suspended it while it ran. None of this is time to start or to run.
var queueRules = []Rule{{
	Name:    "queue-deadline",
	Seen:    "the Job is suspended for longer than `queueDeadline`",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonNotAdmitted},
	Note:    "The Job is deleted.",
	speak: func(f *facts) *Verdict {
		if !f.queued() || f.Now.Before(f.admitBy()) {
			return nil
		}
		if v := f.askEvents(f.inQueue()); v != nil {
			return v
		}
		return f.failed(v1alpha1.ReasonNotAdmitted, fmt.Sprintf("It was not admitted within %s. %s",
			job.DurationText(f.queueDeadline()), f.inQueue().message))
	},
}, {
	Name:    "suspended",
	Seen:    "the Job is suspended: it waits in a queue, or was stopped for a while",
	State:   v1alpha1.StateWorking,
	Reasons: []string{v1alpha1.ReasonQueued},
	Note: "Counts neither towards `startupDeadline` nor towards `deadline`. A pod that ran is stopped; another follows only where " +
		"`retries` are left.",
	speak: func(f *facts) *Verdict {
		if !f.queued() {
			return nil
		}
		v := f.waitFor(v1alpha1.ReasonQueued, f.inQueue(), f.admitBy())
		// One that ran is news at once; and since when it does not, only the record may say.
		v.Passing = v.Passing && (v.Next != NextNothing || f.startedAt.IsZero())
		v.AdmitBy = f.admitBy()
		return v
	},
}}

// suspended: the Job has no pods because somebody wants it so, or has not got any since.
func (f *facts) suspended() bool {
	return f.unfinished() && f.Job.DeletionTimestamp == nil && !f.complete && f.broken == "" &&
		(f.Job.Spec.Suspend != nil && *f.Job.Spec.Suspend || isTrue(f.Job, batchv1.JobSuspended))
}

// queued: the Job is suspended, and there is no pod whose end has to be waited for.
func (f *facts) queued() bool {
	if f.several != nil {
		return f.suspended() && !slices.ContainsFunc(f.attempts, func(a *attempt) bool { return !a.over() })
	}
	return f.suspended() && (f.last == nil || f.awaitsRetry())
}

// inQueue is what a suspended Job waits for.
func (f *facts) inQueue() *waiting {
	w := &waiting{message: "Queued: the Job is suspended until somebody resumes it.", since: f.queuedSince(), inEvents: f.Job.UID}
	if queue := f.Job.Labels[labelQueue]; queue != "" {
		w.message = "Queued until the queue " + tidy(queue) + " admits it."
	}
	// A queue says why it took a Job back where it stops it, and where it cannot take it in.
	if e := lastEvent(f.Events, []string{"Stopped", "ErrWorkloadCompose", "Started", "Resumed"}); e != nil && e.Message != "" &&
		e.Reason != "Started" && e.Reason != "Resumed" {
		w.message = sentence(w.message[:len(w.message)-1], tidy(e.Message))
	}
	return w
}

// queuedSince is when the Job was suspended. The Job controller says so as soon as it has noticed; until then, it was at the
// latest of the times that are known.
func (f *facts) queuedSince() time.Time {
	since := f.begun()
	if f.several != nil {
		since = later(since, f.several.since)
	} else if f.last != nil {
		since = later(since, f.last.overAt())
	}
	for _, c := range f.Job.Status.Conditions {
		if c.Type == batchv1.JobSuspended {
			since = later(since, c.LastTransitionTime.Time)
		}
	}
	if f.last == nil && !f.startedAt.IsZero() && !isTrue(f.Job, batchv1.JobSuspended) {
		since = later(since, f.podGoneSince())
	}
	return since
}

// begun is when the Job was created, or resumed the last time: that resets its startTime.
func (f *facts) begun() time.Time {
	begun := f.Job.CreationTimestamp.Time
	if at := f.Job.Status.StartTime; at != nil {
		begun = later(begun, at.Time)
	}
	return begun
}

func (f *facts) queueDeadline() time.Duration {
	return cmp.Or(f.Task.Spec.Execution.QueueDeadline.Duration, defaultQueueDeadline)
}

// admitBy is when a suspended Job has to be resumed.
func (f *facts) admitBy() time.Time { return f.queuedSince().Add(f.queueDeadline()) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
