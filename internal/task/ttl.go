package task

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// TTL is how long after its creation the task can be counted on to be readable: the wire's ttlMs. nil means until someone
// deletes it.
//
// While the task can still run, that is the longest it may wait for answers, in a queue where it had to, and take, and the
// retention after that, so that it never expires under running work; once it has ended, it is the time it took and the
// retention. The Tasks extension allows the value to change.
func TTL(t *v1alpha1.MCPTask) *time.Duration {
	retention := t.Spec.Execution.Retention.Task
	if retention == nil {
		return nil
	}
	ttl := longest(t.Spec.Execution) + retention.Duration
	if waits := t.Spec.QuestionsDeadline; waits != nil {
		ttl += waits.Duration
	}
	if by := t.Status.AdmitBy; by != nil {
		ttl = max(ttl, by.Sub(t.CreationTimestamp.Time)+longest(t.Spec.Execution)+retention.Duration)
	}
	if finished := t.Status.FinishedAt; t.Status.State.Terminal() && finished != nil {
		// Not less than the retention, should the clock that wrote finishedAt be behind the API server's.
		ttl = max(0, finished.Sub(t.CreationTimestamp.Time)) + retention.Duration
	}
	return &ttl
}

// ExpiresAt is when a task that ended at finished is to be deleted: status.expiresAt. It is rounded up to the whole second that
// the field holds, so that nothing is deleted before its TTL has passed. nil means never.
func ExpiresAt(t *v1alpha1.MCPTask, finished time.Time) *metav1.Time {
	retention := t.Spec.Execution.Retention.Task
	if retention == nil {
		return nil
	}
	at := finished.Add(retention.Duration)
	if whole := at.Truncate(time.Second); whole.Before(at) {
		at = whole.Add(time.Second)
	}
	return &metav1.Time{Time: at}
}

// longest is the most that a task may take from its creation to its end: each pod may take startupDeadline to start and deadline
// to run, and the Job controller waits before each retry.
func longest(e v1alpha1.Execution) time.Duration {
	total := e.StartupDeadline.Duration + e.Deadline.Duration
	for failed := int32(1); failed <= e.Retries; failed++ {
		total += retryDelay(failed) + e.StartupDeadline.Duration + e.Deadline.Duration
	}
	return total
}

// retryDelay is the longest that the Job controller waits, after so many failed pods, before it creates the next one: 10 s,
// doubled for each further failure, at most 10 min.
func retryDelay(failed int32) time.Duration {
	const first, most = 10 * time.Second, 10 * time.Minute
	if failed < 1 {
		return 0
	}
	// 10 s doubled six times is over 10 min; stopping there keeps the shift small.
	return min(first<<min(failed-1, 6), most)
}
