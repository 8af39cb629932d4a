package task

import (
	"time"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

const (
	// defaultPollInterval is the default of execution.pollInterval, for objects that were written without it.
	defaultPollInterval = 2 * time.Second
	// defaultMaxPollInterval is the default of execution.maxPollInterval, unless pollInterval is longer.
	defaultMaxPollInterval = 30 * time.Second
	// pollShare is the part of the time already waited that a client is asked to wait again: it learns of the end at most a tenth
	// later than it could.
	pollShare = 10
)

// PollInterval is how long a client should wait between two tasks/get, the wire's pollIntervalMs: the tool's pollInterval at
// first, about a tenth of the time since sinceWhen as that grows, and never more than the tool's maxPollInterval. Below the most
// it doubles rather than grows, so that clients who ask at about the same time are told the same.
//
// It follows from the record and the time, and is not on the record itself: it costs no write, and a client that ignores it is
// not wrong.
func PollInterval(t *v1alpha1.MCPTask, now time.Time) time.Duration {
	least, most := pollBounds(t.Spec.Execution)
	if t.Status.State.Terminal() {
		return least // nothing follows, and nothing that was read may change
	}
	share := now.Sub(sinceWhen(t)) / pollShare
	if share >= most {
		return most
	}
	interval := least
	for 2*interval <= share {
		interval *= 2
	}
	return interval
}

// sinceWhen is when that began which a client of an unfinished task waits for: the run, or the stop that somebody asked for.
// Before the run it is the last news, for then much can change: until it starts, a task has more to say than afterwards.
func sinceWhen(t *v1alpha1.MCPTask) time.Time {
	switch {
	case t.Spec.Cancel != nil:
		return t.Spec.Cancel.At.Time
	case t.Status.StartedAt != nil:
		return t.Status.StartedAt.Time
	default:
		return lastUpdated(t)
	}
}

func pollBounds(e v1alpha1.Execution) (least, most time.Duration) {
	least, most = e.PollInterval.Duration, e.MaxPollInterval.Duration
	if least <= 0 {
		least = defaultPollInterval
	}
	if most <= 0 {
		most = defaultMaxPollInterval
	}
	return least, max(least, most)
}
