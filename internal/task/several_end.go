package task

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

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
		!slices.ContainsFunc(f.attempts, func(a *attempt) bool { return !podOver(a.pod) && !a.lost(f.Now) })
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
	behind := slices.ContainsFunc(f.attempts, func(a *attempt) bool { return !podOver(a.pod) && !a.lost(f.Now) })
	failures := slices.ContainsFunc(f.attempts, func(a *attempt) bool { return a.pod.Status.Phase == corev1.PodFailed })
	return behind || !f.severalEnded() || seen < s.succeeded || f.broken != "" && !failures
}

// severalLost is a pod on a node that does not answer, once nothing else of the Job has happened, or can, for a while.
func (f *facts) severalLost() *attempt {
	var lost *attempt
	for _, a := range f.attempts {
		switch {
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
