package task

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

// progressEvery is how often at most the progress of a Job with several pods is written, so that a thousand pods do not make a
// thousand writes.
const progressEvery = 10 * time.Second

// several is what is seen of a Job with several pods. What such a Job came to is the Job controller's to say; its pods say what
// each of them did.
type several struct {
	// indexed: each part is a completion index; otherwise each is a pod.
	indexed bool
	// total is how many parts have to succeed; 0: the Job is a work queue and has no such number.
	total int
	// succeeded is how many parts did, also where their pods are gone.
	succeeded int
	// givenUp is how many indexes the Job controller does not try any more; failed is how many attempts failed, also those that
	// were made good.
	givenUp, failed int
	// parts are those that anything is known of, ordered by number.
	parts []*part
	// since is when something last happened: a pod was created or ended.
	since time.Time
	// overSince is when the Job controller found that the Job succeeded or failed; zero: it hasn't.
	overSince time.Time
}

// part is one completion index, or one pod of a Job without indexes.
type part struct {
	number   int
	attempts []*attempt
	// last is the attempt that counts: one that succeeded, else the newest. nil: no pod is left, or there never was one.
	last *attempt
	// succeeded: it is done; givenUp: it failed for good, by the Job controller's word.
	succeeded, givenUp bool
}

// isSeveral reports whether the task's Job has several pods. Where the Job is gone, its pods know.
func (f *facts) isSeveral() bool {
	if f.Job != nil {
		return job.Several(&f.Job.Spec)
	}
	return slices.ContainsFunc(f.Pods, func(p corev1.Pod) bool { return p.Labels[v1alpha1.LabelSeveral] != "" })
}

// readSeveral sorts what is seen by parts.
func (f *facts) readSeveral() *several {
	s := &several{}
	if f.Job != nil {
		s.indexed = job.Indexed(&f.Job.Spec)
		if n := f.Job.Spec.Completions; n != nil {
			s.total = int(*n)
		}
		s.since, s.failed = f.begun(), int(f.Job.Status.Failed)
		s.overSince = overSince(f.Job)
	}
	if s.indexed {
		s.parts = f.indexes(s.total)
	} else {
		s.parts = f.podsAsParts()
	}
	failed := 0
	for _, p := range s.parts {
		if p.succeeded {
			s.succeeded++
		}
		if p.givenUp {
			s.givenUp++
		}
		for _, a := range p.attempts {
			s.since = later(s.since, a.pod.CreationTimestamp.Time)
			if a.over() {
				s.since = later(s.since, a.overAt())
			}
			if a.pod.Status.Phase == corev1.PodFailed {
				failed++
			}
		}
	}
	s.failed = max(s.failed, failed)
	if f.Job != nil {
		s.succeeded = max(s.succeeded, int(f.Job.Status.Succeeded))
	}
	return s
}

// indexes are the parts of an Indexed Job: all indexes, in their order.
func (f *facts) indexes(total int) []*part {
	parts := make([]*part, total)
	for i := range parts {
		parts[i] = &part{number: i}
	}
	for i := range f.attempts {
		n, err := strconv.Atoi(f.attempts[i].pod.Labels[batchv1.JobCompletionIndexAnnotation])
		if err == nil && n >= 0 && n < total {
			parts[n].add(&f.attempts[i])
		}
	}
	for n := range ranges(f.Job.Status.CompletedIndexes, total) {
		parts[n].succeeded = true
	}
	if given := f.Job.Status.FailedIndexes; given != nil {
		for n := range ranges(*given, total) {
			parts[n].givenUp = true
		}
	}
	return parts
}

// podsAsParts are the parts of a Job without indexes: its pods, in the order in which they ended.
func (f *facts) podsAsParts() []*part {
	pods := make([]*attempt, len(f.attempts))
	for i := range f.attempts {
		pods[i] = &f.attempts[i]
	}
	slices.SortStableFunc(pods, func(a, b *attempt) int {
		if a.endedAt.IsZero() || b.endedAt.IsZero() {
			return -a.endedAt.Compare(b.endedAt) // those that have not ended come last
		}
		return a.endedAt.Compare(b.endedAt)
	})
	parts := make([]*part, len(pods))
	for i, a := range pods {
		parts[i] = &part{number: i + 1}
		parts[i].add(a)
	}
	return parts
}

// add counts an attempt in. The Job controller takes a pod for done by its phase.
func (p *part) add(a *attempt) {
	p.attempts = append(p.attempts, a)
	if p.last == nil || p.last.pod.Status.Phase != corev1.PodSucceeded {
		p.last = a
	}
	p.succeeded = p.succeeded || a.pod.Status.Phase == corev1.PodSucceeded
}

// ranges are the numbers in a Job's list of indexes, "0,3-5" for instance, that are below limit.
func ranges(text string, limit int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for item := range strings.SplitSeq(text, ",") {
			from, to, isRange := strings.Cut(item, "-")
			first, err := strconv.Atoi(from)
			if err != nil {
				continue
			}
			last := first
			if isRange {
				if last, err = strconv.Atoi(to); err != nil {
					continue
				}
			}
			for n := first; n <= min(last, limit-1); n++ {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// overSince is when the Job controller found that the Job succeeded or failed; zero: it has not. SuccessCriteriaMet and
// FailureTarget say so before the other pods are gone, Complete and Failed after.
func overSince(j *batchv1.Job) time.Time {
	var since time.Time
	for _, c := range j.Status.Conditions {
		switch c.Type {
		case batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget, batchv1.JobComplete, batchv1.JobFailed:
			if c.Status == corev1.ConditionTrue {
				since = earliest(since, c.LastTransitionTime.Time)
			}
		}
	}
	return since
}

// lost: the pod was told to stop, its grace period is over for a while, and its node has not said that it ended.
func (a *attempt) lost(now time.Time) bool {
	return a.deleting() && a.ending == nil && a.pod.Spec.NodeName != "" && !now.Before(a.pod.DeletionTimestamp.Add(lostAfter))
}

// severalOver: the Job is Complete or Failed; or it will be, and only nodes, or a Job controller, that do not answer keep it from
// being so. What the Job controller says after somebody deleted the Job does not count.
func (f *facts) severalOver() bool {
	if f.Job == nil || !f.complete && f.broken == "" {
		return false
	}
	if d := f.Job.DeletionTimestamp; d != nil && !f.several.overSince.Before(d.Time) {
		return false
	}
	return f.severalEnded() || f.nothingLeft()
}

// severalEnded: the Job controller is done with the Job; none of its pods goes on.
func (f *facts) severalEnded() bool {
	return isTrue(f.Job, batchv1.JobComplete) || isTrue(f.Job, batchv1.JobFailed)
}

// nothingLeft: all pods are over, or lost with their nodes, and have been for a while.
func (f *facts) nothingLeft() bool {
	return !f.Now.Before(f.endBy()) &&
		!slices.ContainsFunc(f.attempts, func(a attempt) bool { return !podOver(a.pod) && !a.lost(f.Now) })
}

// endBy is when a Job that has succeeded or failed has to be so at the latest, if none of its pods goes on.
func (f *facts) endBy() time.Time { return later(f.several.since, f.several.overSince).Add(lostAfter) }

// severalUnseen: of a Job that is over, the cache may not have all that its pods say.
func (f *facts) severalUnseen() bool {
	if f.FreshJob {
		return false
	}
	s, seen := f.several, 0
	for _, p := range s.parts {
		if p.last != nil && p.last.pod.Status.Phase == corev1.PodSucceeded {
			seen++
		}
	}
	behind := slices.ContainsFunc(f.attempts, func(a attempt) bool { return !podOver(a.pod) && !a.lost(f.Now) })
	failures := slices.ContainsFunc(f.attempts, func(a attempt) bool { return a.pod.Status.Phase == corev1.PodFailed })
	return behind || !f.severalEnded() || seen < s.succeeded || f.broken != "" && !failures
}

// severalLost is a pod on a node that does not answer, once nothing else of the Job has happened, or can, for a while.
func (f *facts) severalLost() *attempt {
	var lost *attempt
	for i := range f.attempts {
		switch a := &f.attempts[i]; {
		case a.lost(f.Now):
			lost = a
		case !a.over():
			return nil
		}
	}
	if f.Now.Before(f.several.since.Add(lostAfter)) {
		return nil
	}
	return lost
}

// anyRunning reports whether an attempt runs that nothing has told to stop.
func (f *facts) anyRunning() bool {
	return slices.ContainsFunc(f.attempts, func(a attempt) bool { return a.running() && !a.deleting() })
}

// waits: the pod is there and its main container does not run yet.
func (a *attempt) waits() bool { return !a.over() && !a.running() && !a.deleting() }

// tally is how far the Job is: "17 of 50 done, 2 failed".
func (s *several) tally() string {
	text := fmt.Sprintf("%d done", s.succeeded)
	if s.total > 0 {
		text = fmt.Sprintf("%d of %d done", s.succeeded, s.total)
	}
	switch {
	case s.givenUp > 0:
		text += fmt.Sprintf(", %d failed", s.givenUp)
	case s.failed == 1:
		text += ", 1 attempt failed"
	case s.failed > 1:
		text += fmt.Sprintf(", %d attempts failed", s.failed)
	}
	return text
}

// severalWaiting is what keeps the pods of the Job from running; nil where one of them runs, or none has to.
func (f *facts) severalWaiting() *waiting {
	if f.complete || f.broken != "" || f.anyRunning() {
		return nil
	}
	var first *waiting
	for i := range f.attempts {
		a := &f.attempts[i]
		if !a.waits() {
			if !a.over() {
				return nil // It is being stopped.
			}
			continue
		}
		if w := f.waitingAttempt(a); first == nil || w.hopeless && !first.hopeless {
			first = w
		}
	}
	if first == nil {
		return f.waitingForPod(f.several.since)
	}
	return first
}

// held says what keeps pods from running while others run: in words, and when to look again. The verdict, where there is one, has
// to come first.
func (f *facts) held() (text string, after time.Duration, ask *Verdict) {
	live, waits, stopping := 0, 0, 0
	var first *waiting
	cause := ""
	for i := range f.attempts {
		a := &f.attempts[i]
		switch {
		case a.over():
			continue
		case a.deleting():
			stopping++
			cause = a.stopCause
		case a.waits():
			w := f.waitingAttempt(a)
			if settled := w.since.Add(settling); f.Now.Before(settled) {
				after = soonest(after, settled.Sub(f.Now))
			} else if w.inEvents == "" {
				waits++
				first = cmp.Or(first, w)
			}
		}
		live++
	}
	switch {
	case first != nil:
		return fmt.Sprintf("%s. %s", counted(waits, "waits", "wait"), first.message), after, nil
	case stopping > 0:
		return fmt.Sprintf("%s being stopped: %s.", counted(stopping, "is", "are"), cause), after, nil
	case live >= f.wanted():
		return "", after, nil
	}
	w := f.waitingForPod(f.several.since)
	if ask = f.askEvents(w); ask != nil {
		return "", 0, ask
	}
	if settled := w.since.Add(settling); f.Now.Before(settled) {
		return "", soonest(after, settled.Sub(f.Now)), nil
	}
	if w.message == waitingForPods {
		return "", f.eventsAgain(w), nil
	}
	return f.words(w), f.eventsAgain(w), nil
}

// counted is how many pods do something.
func counted(n int, one, more string) string {
	if n == 1 {
		return "1 pod " + one
	}
	return fmt.Sprintf("%d pods %s", n, more)
}

// wanted is how many pods the Job should have now.
func (f *facts) wanted() int {
	n := 1
	if p := f.Job.Spec.Parallelism; p != nil {
		n = int(*p)
	}
	s := f.several
	switch {
	case s.total > 0:
		return min(n, s.total-s.succeeded-s.givenUp)
	case s.succeeded > 0:
		return 0 // A work queue from which one worker has gone home is empty.
	}
	return n
}

// soonest is the shorter one of two waits, where 0 stands for none.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// paced holds a change of the progress back that comes too early after the last one. What a task waits for before it has run,
// and how it ends, is not progress.
func (f *facts) paced(v *Verdict) *Verdict {
	s := f.Task.Status
	if f.several == nil || s.StartedAt == nil || s.LastUpdatedAt == nil || v.Next != NextNothing ||
		v.Message == s.Message && v.Reason == s.Reason {
		return v
	}
	if due := s.LastUpdatedAt.Add(progressEvery); f.Now.Before(due) {
		v.Passing = true
		v.After = soonest(v.After, due.Sub(f.Now))
	}
	return v
}

// severalParts is what the parts of a Job that is over came to, for its result.
func (f *facts) severalParts() job.Parts {
	s := f.several
	all := job.Parts{
		Indexed: s.indexed, Total: s.total, Succeeded: s.succeeded, Complete: f.complete,
		Overdue: !f.complete && f.broken == batchv1.JobReasonDeadlineExceeded,
	}
	for _, p := range s.parts {
		all.List = append(all.List, f.partResult(p))
	}
	return all
}

func (f *facts) partResult(p *part) job.Part {
	r := job.Part{Number: p.number, Attempts: len(p.attempts), Succeeded: p.succeeded}
	a := p.last
	switch {
	case a == nil && p.succeeded:
		r.Fate = "succeeded; its pod is gone, and its output with it"
		return r
	case a == nil && p.givenUp:
		r.Fate = "failed; its pod is gone, and its output with it"
		return r
	case a == nil: // The Job controller removes pods that it stops, and nobody knows which those were.
		r.Fate = "stopped with the Job, or never started"
		return r
	}
	if output, ok := f.Outputs[a.pod.UID]; ok {
		r.Output = output
	}
	switch {
	case a.neverRan():
		r.Fate = "never ran"
	case a.ending != nil && p.succeeded:
		done := *a.ending
		done.DeadlineExceeded = false // that was another container's
		r.Ending = &done
	case a.ending != nil && f.endedItself(a):
		r.Ending = a.ending
	case podOver(a.pod) && a.pod.Status.Reason == "DeadlineExceeded":
		r.Ending = &job.Ending{DeadlineExceeded: true}
	case a.lost(f.Now):
		r.Fate = "was left on a node that does not answer"
	case f.stoppedWithJob(a):
		r.Fate = "was stopped, as the Job was over"
	case a.disrupted():
		r.Fate = "was stopped before it was done, because " + a.disruptionCause()
	default:
		r.Fate = "ended nobody knows how"
	}
	return r
}

// stoppedWithJob: the pod was deleted because the Job was over without it.
func (f *facts) stoppedWithJob(a *attempt) bool {
	return a.deleting() && !a.stopAskedAt.Before(f.several.overSince.Truncate(time.Second))
}

// neverRan: the pod is over, and its main container could not be started, or was never due.
func (a *attempt) neverRan() bool {
	if a.ending != nil {
		t := a.status.State.Terminated
		return t.Reason == "StartError" || t.Reason == "ContainerCannotRun"
	}
	return podOver(a.pod) && a.pod.Status.Phase == corev1.PodFailed && a.startedAt().IsZero() && a.stopAskedAt.IsZero()
}

// disrupted: the pod was stopped, or its container lost, before it was done.
func (a *attempt) disrupted() bool {
	lost := podOver(a.pod) && a.ending == nil && !a.startedAt().IsZero() ||
		a.ending != nil && lostContainer(a.status.State.Terminated)
	stopped := !a.stopAskedAt.IsZero() && a.over()
	return lost || stopped
}

func (a *attempt) disruptionCause() string {
	if a.stopCause == "" {
		return "its node lost it"
	}
	return a.stopCause
}

// name is what a message calls a part.
func (s *several) name(p *part) string {
	if s.indexed {
		return fmt.Sprintf("Index %d", p.number)
	}
	return fmt.Sprintf("Pod %d", p.number)
}

// unfinishedPart is the first part of a Job that is over which did not succeed and is as wanted; nil: there is none.
func (f *facts) unfinishedPart(wanted func(a *attempt) bool) *part {
	for _, p := range f.several.parts {
		if !p.succeeded && p.last != nil && wanted(p.last) {
			return p
		}
	}
	return nil
}

// completedSeveral ends the task with the result that the pods and their outputs make, once those have been read.
func (f *facts) completedSeveral(parts job.Parts) *Verdict {
	v := &Verdict{State: v1alpha1.StateCompleted}
	var ended time.Time
	var wanted []*corev1.Pod
	for i, p := range f.several.parts {
		if p.last == nil {
			continue
		}
		ended = later(ended, p.last.endedAt)
		if f.wantsLogOf(p.last, parts.List[i]) {
			wanted = append(wanted, p.last.pod)
		}
	}
	if f.Outputs == nil && len(wanted) > 0 {
		v = f.working(v1alpha1.ReasonRunning, "Ended; its output is being read.")
		v.Next, v.Pods, v.Container, v.Passing = NextOutputs, wanted, f.main, true
	} else {
		result := job.ReadParts(f.Task, f.outputSchema(), parts)
		v.Reason, v.Message, v.Result = result.Reason, result.Message, result.JSON
	}
	v.EndedAt = ended
	return v
}

// wantsLogOf: the container ran, and its log is, or explains, what it left.
func (f *facts) wantsLogOf(a *attempt, p job.Part) bool {
	if a.startedAt().IsZero() {
		return false
	}
	return p.Ending == nil || f.wantsLog(*p.Ending)
}
