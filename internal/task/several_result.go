package task

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

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
