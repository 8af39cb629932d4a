package task

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

const (
	// settling is how old a pod or Job may be before it counts as waiting for something rather than as on its way.
	settling = 3 * time.Second
	// eventsEvery is how often events are read, at first, while only they can say what a Job or pod waits for. Whoever has waited
	// for long is likely to wait on, for the same reason: each time they are read again after a sixth of that, at the latest after
	// eventsAtLeastEvery. That something changed other than the reason, the watches of Jobs and pods tell.
	eventsEvery        = 10 * time.Second
	eventsAtLeastEvery = 2 * time.Minute
)

// startRules speak while the Job is there and its main container does not run.
var startRules = []Rule{{
	Name:    "retrying",
	Pods:    OnePod,
	Seen:    "an attempt failed or was disrupted, and the Job controller will start another",
	State:   v1alpha1.StateWorking,
	Reasons: []string{v1alpha1.ReasonStarting},
	speak: func(f *facts) *Verdict {
		a := f.last
		if !f.awaitsRetry() || !f.Now.Before(f.startBy()) {
			return nil
		}
		how := "failed before it ran"
		switch {
		case f.endedItself(a):
			how = fmt.Sprintf("ended with exit code %d", a.ending.ExitCode)
		case !a.stopAskedAt.IsZero():
			how = "was stopped: " + a.stopCause
		}
		v := f.working(v1alpha1.ReasonStarting, fmt.Sprintf("Attempt %d %s; waiting for the next one.", f.attemptsSoFar(), how))
		v.After = f.startBy().Sub(f.Now)
		return v
	},
}, {
	Name:    "image-unusable",
	Seen:    "the image's name is not valid, or it may not be pulled and is not on the node",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonImagePullFailed},
	Note:    "At once.",
	speak: func(f *facts) *Verdict {
		if w := f.waiting(); w != nil && w.hopeless && w.reason == v1alpha1.ReasonImagePullFailed {
			return f.failed(w.reason, w.message)
		}
		return nil
	},
}, {
	Name:    "pod-refused",
	Seen:    "a policy refuses the Job's pod",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonRejected},
	Note:    "At once. Read from the Job's events: its status does not say so.",
	speak: func(f *facts) *Verdict {
		if w := f.waiting(); w != nil && w.hopeless && w.reason == v1alpha1.ReasonRejected {
			return f.failed(w.reason, w.message)
		}
		return nil
	},
}, {
	Name:    "never-ran",
	Pods:    OnePod,
	Seen:    "the pod failed before its main container ran: an init container failed, or the node refused the pod",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonCannotStart, v1alpha1.ReasonImagePullFailed},
	Note:    "With the end of the init container's output.",
	speak: func(f *facts) *Verdict {
		if f.last == nil || !podOver(f.last.pod) || f.last.ending != nil || f.mayRetry() {
			return nil
		}
		w := failedPod(f.last.pod, f.main)
		if w.container == "" {
			return f.failed(w.reason, w.message)
		}
		if f.Output == nil {
			v := f.working(v1alpha1.ReasonStarting, w.message)
			v.Next, v.Pod, v.Container, v.Passing = NextOutput, f.last.pod, w.container, true
			return v
		}
		return f.failed(w.reason, w.message+endOf(*f.Output))
	},
}, {
	Name:  "start-deadline",
	Seen:  "the main container does not run by `startupDeadline`",
	State: v1alpha1.StateFailed,
	Reasons: []string{
		v1alpha1.ReasonImagePullFailed, v1alpha1.ReasonCannotStart, v1alpha1.ReasonUnschedulable, v1alpha1.ReasonQuotaExceeded,
	},
	Note: "The reason is what it waited for last. The Job is deleted.",
	speak: func(f *facts) *Verdict {
		w := f.waiting()
		if w == nil || f.Now.Before(f.startBy()) {
			return nil
		}
		if v := f.askEvents(w); v != nil {
			return v
		}
		what := "It"
		if f.several != nil && !f.startedAt.IsZero() {
			what = f.several.tally() + "; the next pod"
		}
		return f.failed(w.reason, fmt.Sprintf("%s did not start within %s. %s",
			what, job.DurationText(f.Task.Spec.Execution.StartupDeadline.Duration), f.words(w)))
	},
}, {
	Name:    "pod-gone",
	Pods:    OnePod,
	Seen:    "the pod is gone, and the Job controller has not said yet what follows",
	State:   v1alpha1.StateWorking,
	Reasons: []string{v1alpha1.ReasonStarting},
	speak: func(f *facts) *Verdict {
		if f.last != nil || f.startedAt.IsZero() {
			return nil
		}
		v := f.working(v1alpha1.ReasonStarting, "Its pod is gone; waiting for the next one.")
		v.After = f.startBy().Sub(f.Now)
		return v
	},
}, {
	Name:    "queued",
	Seen:    "the Job has no pod yet",
	State:   v1alpha1.StateWorking,
	Reasons: []string{v1alpha1.ReasonQueued},
	Note:    "The message says why, where the cluster does.",
	speak: func(f *facts) *Verdict {
		if f.last != nil || f.waiting() == nil {
			return nil
		}
		return f.startingUp(v1alpha1.ReasonQueued)
	},
}, {
	Name:    "starting",
	Seen:    "there is a pod and its main container does not run yet",
	State:   v1alpha1.StateWorking,
	Reasons: []string{v1alpha1.ReasonStarting},
	Note:    "The message says what it waits for: a node, the image, a volume.",
	speak: func(f *facts) *Verdict {
		if f.waiting() == nil {
			return nil
		}
		return f.startingUp(v1alpha1.ReasonStarting)
	},
}}

// runRules speak on everything that is left.
var runRules = []Rule{{
	Name:    "being-disrupted",
	Seen:    "the pod was told to stop and has not ended yet",
	State:   v1alpha1.StateWorking,
	Reasons: []string{v1alpha1.ReasonRunning},
	speak: func(f *facts) *Verdict {
		if f.last == nil || f.last.stopAskedAt.IsZero() {
			return nil
		}
		v := f.working(v1alpha1.ReasonRunning, "Being stopped: "+f.last.stopCause+".")
		v.After = f.untilLost()
		return v
	},
}, {
	Name:    "running",
	Seen:    "the main container runs",
	State:   v1alpha1.StateWorking,
	Reasons: []string{v1alpha1.ReasonRunning},
	speak: func(f *facts) *Verdict {
		message := "Running."
		if n := f.attemptsSoFar(); n > 1 {
			message = fmt.Sprintf("Running, attempt %d.", n)
		}
		return f.working(v1alpha1.ReasonRunning, message)
	},
}}

// startingUp is working, with what the Job waits for as its message.
func (f *facts) startingUp(reason string) *Verdict {
	v := f.waitFor(reason, f.waiting(), f.startBy())
	if f.several != nil && !f.startedAt.IsZero() && v.Next == NextNothing {
		v.Message = f.several.tally() + ". " + v.Message
	}
	return f.paced(v)
}

// waitFor is working, with what is waited for as its message, until a deadline.
func (f *facts) waitFor(reason string, w *waiting, deadline time.Time) *Verdict {
	if v := f.askEvents(w); v != nil {
		return v
	}
	v := f.working(reason, f.words(w))
	v.After = deadline.Sub(f.Now)
	switch settled := w.since.Add(settling); {
	case f.Now.Before(settled):
		v.Passing = true
		v.After = min(v.After, settled.Sub(f.Now))
	case w.inEvents != "":
		v.After = min(v.After, f.eventsAgain(w))
	}
	return v
}

// eventsAgain is after how long to read events again.
func (f *facts) eventsAgain(w *waiting) time.Duration {
	return max(eventsEvery, min(f.Now.Sub(w.since)/6, eventsAtLeastEvery))
}

// words say what w waits for, and why not more can be said.
func (f *facts) words(w *waiting) string {
	if w.inEvents == "" || f.NoEvents == "" {
		return w.message
	}
	return w.message + " " + sentence("The reason is in events, which cannot be read", f.NoEvents)
}

// askEvents asks for the events that say what w waits for, once it has had time to get on without.
func (f *facts) askEvents(w *waiting) *Verdict {
	if w.inEvents == "" || f.Events != nil || f.Now.Before(w.since.Add(settling)) {
		return nil
	}
	v := f.unchanged(NextEvents)
	v.About = w.inEvents
	return v
}

// startBy is when the main container of the current attempt has to run.
func (f *facts) startBy() time.Time {
	limit := f.Task.Spec.Execution.StartupDeadline.Duration
	switch {
	case f.Job == nil:
		return f.createBy()
	case f.several != nil:
		// As long as a pod runs, those that wait for its room are not late.
		return f.several.since.Add(retryDelay(int32(f.several.failed)) + limit)
	case f.awaitsRetry():
		return later(f.begun(), f.last.overAt()).Add(retryDelay(f.failures()) + limit)
	case f.last != nil:
		return f.last.pod.CreationTimestamp.Add(limit)
	case f.startedAt.IsZero():
		return f.begun().Add(retryDelay(f.Job.Status.Failed) + limit)
	}
	return later(f.begun(), f.podGoneSince()).Add(retryDelay(f.Job.Status.Failed) + limit)
}

// podGoneSince is since when a pod that ran is gone. When it went nobody says; the record says since when it has been known.
func (f *facts) podGoneSince() time.Time {
	s := f.Task.Status
	if known := s.Reason == v1alpha1.ReasonStarting || s.Reason == v1alpha1.ReasonQueued; known && s.LastUpdatedAt != nil {
		return s.LastUpdatedAt.Time
	}
	return f.Now
}

// attemptsSoFar is the number of the last attempt, counting those whose pods are gone.
func (f *facts) attemptsSoFar() int32 {
	if f.Job == nil {
		return int32(len(f.attempts))
	}
	n := f.failures() + f.ignored()
	if f.awaitsRetry() {
		return n
	}
	return n + 1
}

// ignored is how many of the attempts that are still there failed without being counted.
func (f *facts) ignored() int32 {
	var n int32
	for _, a := range f.attempts {
		if a.over() && !a.succeeded() &&
			failureAction(f.Job.Spec.PodFailurePolicy, a.pod) == batchv1.PodFailurePolicyActionIgnore {
			n++
		}
	}
	return n
}

// awaitsRetry: the last attempt is over, and the Job controller may start another.
func (f *facts) awaitsRetry() bool {
	return f.last != nil && f.last.over() && f.mayRetry()
}

// untilLost is how long it takes until a pod that is being deleted counts as lost with its node.
func (f *facts) untilLost() time.Duration {
	if f.several != nil {
		return f.severalUntilLost()
	}
	if f.last == nil || !f.last.deleting() {
		return 0
	}
	return max(time.Second, f.last.pod.DeletionTimestamp.Add(lostAfter).Sub(f.Now))
}
