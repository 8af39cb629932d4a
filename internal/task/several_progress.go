package task

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// progressEvery is how often at most the progress of a Job with several pods is written, so that a thousand pods do not make a
// thousand writes.
const progressEvery = 10 * time.Second

// anyRunning reports whether an attempt runs that nothing has told to stop.
func (f *facts) anyRunning() bool {
	return slices.ContainsFunc(f.attempts, func(a *attempt) bool { return a.running() && !a.deleting() })
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
	for _, a := range f.attempts {
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
	for _, a := range f.attempts {
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
