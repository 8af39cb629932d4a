package task

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

// facts is an Observation read once, so that the rules need not know how Jobs and pods say things.
type facts struct {
	Observation
	// main is the name of the container whose exit ends the task.
	main string
	// attempts are the Job's pods, oldest first; of a Job with one pod at a time, without doubles.
	attempts []*attempt
	// last is the attempt that counts: one that succeeded, else the newest. nil: the Job has no pod.
	last *attempt
	// startedAt is when the main container first began to run, on the record or in a pod; zero: not yet.
	startedAt time.Time
	// several is what is seen of a Job with several pods; nil for all other Jobs.
	several *several
	// launched: the task's Job exists, or existed.
	launched bool
	// complete: the Job controller says that the Job succeeded.
	complete bool
	// broken is the Job controller's reason why the Job failed, or is about to; empty while it hasn't.
	broken string
}

// attempt is one pod of the Job. Containers are never restarted in place: package job lets no such template through.
type attempt struct {
	pod *corev1.Pod
	// status of the main container; nil where the kubelet has not said anything of it.
	status *corev1.ContainerStatus
	// ending is how the main container ended for good; nil while it has not.
	ending *job.Ending
	// endedAt is when it ended, in whole seconds.
	endedAt time.Time
	// stopAskedAt is when somebody or something told the pod to stop, in whole seconds; zero: nobody has.
	stopAskedAt time.Time
	// stopAskedBy: stopAskedAt may be later than it really was. When the kubelet has done all that there is to do for a pod's
	// deletion, the API server moves its time, if a finalizer still holds the pod.
	stopAskedBy bool
	// stopCause says who or what that was.
	stopCause string
}

func look(o Observation) *facts {
	f := &facts{Observation: o, launched: o.Job != nil || o.Task.Status.Job != nil}
	if at := o.Task.Status.StartedAt; at != nil {
		f.startedAt = at.Time
	}
	f.main = mainContainer(o)
	if o.Job != nil {
		f.complete = isTrue(o.Job, batchv1.JobComplete) || isTrue(o.Job, batchv1.JobSuccessCriteriaMet)
		f.broken = brokenBecause(o.Job)
	}
	for i := range o.Pods {
		f.attempts = append(f.attempts, f.readPod(&o.Pods[i]))
	}
	slices.SortFunc(f.attempts, func(a, b *attempt) int {
		return cmp.Or(a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time), cmp.Compare(a.pod.Name, b.pod.Name))
	})
	isSeveral := f.isSeveral()
	if !isSeveral {
		f.attempts = withoutDoubles(f.attempts)
	}
	for _, a := range f.attempts {
		if at := a.startedAt(); f.startedAt.IsZero() && !at.IsZero() {
			f.startedAt = at
		}
		if f.last == nil || !f.last.succeeded() {
			f.last = a
		}
	}
	if isSeveral {
		f.several = f.readSeveral()
	}
	return f
}

// mainContainer prefers the Job's template to the pod: whoever injects containers into pods may put theirs first.
func mainContainer(o Observation) string {
	if o.Job != nil {
		return job.MainContainer(o.Task.Spec.Result, &o.Job.Spec.Template)
	}
	if len(o.Pods) > 0 {
		return job.MainContainer(o.Task.Spec.Result, &corev1.PodTemplateSpec{Spec: o.Pods[0].Spec})
	}
	return o.Task.Spec.Result.Container
}

func (f *facts) readPod(pod *corev1.Pod) *attempt {
	a := &attempt{pod: pod, status: statusOf(pod.Status.ContainerStatuses, f.main)}
	a.readStop()
	if a.stopCause == podDeleted && f.Job != nil && f.Job.Spec.Suspend != nil && *f.Job.Spec.Suspend {
		a.stopCause = "its Job was suspended"
	}
	if ending, ok := job.EndingOf(pod, f.main); ok {
		a.ending, a.endedAt = &ending, a.status.State.Terminated.FinishedAt.Time
	}
	return a
}

// startedAt is when the main container began to run in this attempt; zero: it has not.
func (a *attempt) startedAt() time.Time {
	switch {
	case a.status == nil:
	case a.status.State.Running != nil:
		return a.status.State.Running.StartedAt.Time
	case a.status.State.Terminated != nil && !neverRan(a.status.State.Terminated):
		return a.status.State.Terminated.StartedAt.Time
	}
	return time.Time{}
}

// overAt is about when the attempt was over, in whole seconds.
func (a *attempt) overAt() time.Time {
	return cmp.Or(a.endedAt, a.stopAskedAt, a.pod.CreationTimestamp.Time)
}

func (a *attempt) running() bool {
	return a.status != nil && a.status.State.Running != nil && !podOver(a.pod)
}

// over: the main container has ended for good, or will never run.
func (a *attempt) over() bool { return a.ending != nil || podOver(a.pod) }

func (a *attempt) succeeded() bool { return a.ending != nil && a.ending.ExitCode == 0 }

// deleting reports whether the pod is being deleted.
func (a *attempt) deleting() bool { return a.pod.DeletionTimestamp != nil }

// neverRan: the runtime could not start the container's program, or the kubelet found nothing of the container.
func neverRan(t *corev1.ContainerStateTerminated) bool {
	return t.Reason == "StartError" || t.Reason == "ContainerCannotRun" || t.StartedAt.Unix() <= 0
}

// lostContainer: the kubelet made the exit code up because it found nothing of the container, after a reboot for instance.
func lostContainer(t *corev1.ContainerStateTerminated) bool {
	return t.Reason == "ContainerStatusUnknown"
}

// podOver: the pod will never run anything again.
func podOver(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// readStop reads when and by what the pod was told to stop before its own end.
func (a *attempt) readStop() {
	pod := a.pod
	if pod.DeletionTimestamp != nil {
		a.stopAskedAt, a.stopCause = pod.DeletionTimestamp.Time, podDeleted
		grace := pod.DeletionGracePeriodSeconds
		a.stopAskedBy = grace == nil || *grace == 0
		if grace != nil {
			a.stopAskedAt = a.stopAskedAt.Add(-time.Duration(*grace) * time.Second)
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			a.stopCause = disruption(c.Reason)
			a.stopAskedAt, a.stopAskedBy = earliest(a.stopAskedAt, c.LastTransitionTime.Time), false
		}
	}
	if a.stopAskedAt.IsZero() && pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == "Evicted" {
		a.stopAskedAt, a.stopCause = pod.CreationTimestamp.Time, "its node ran out of resources and evicted the pod"
	}
}

// earliest is the earlier one of two times, where zero stands for never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// podDeleted is the stopCause where nothing else is known.
const podDeleted = "its pod was deleted"

// disruption puts the reason of a DisruptionTarget condition in words.
func disruption(reason string) string {
	switch reason {
	case corev1.PodReasonPreemptionByScheduler:
		return "a more important pod took its place"
	case corev1.PodReasonTerminationByKubelet:
		return "its node shut down or ran out of resources"
	case "EvictionByEvictionAPI":
		return "its pod was evicted"
	case "DeletionByTaintManager":
		return "its node was drained or stopped answering"
	case "DeletionByPodGC":
		return "its node is gone"
	default:
		return "its pod was disrupted"
	}
}

// endedItself reports whether the main container came to its own end, before anything told the pod to stop.
//
// Kubernetes keeps these times in whole seconds. Where both fall into the same one, a container that did not die by a signal
// is believed to have been first, except when the Job is being deleted: whoever asked for that wants no late success.
func (f *facts) endedItself(a *attempt) bool {
	if a == nil || a.ending == nil || lostContainer(a.status.State.Terminated) {
		return false
	}
	asked := a.stopAskedAt
	switch {
	case f.Job != nil && f.Job.DeletionTimestamp != nil:
		return a.endedAt.Before(earliest(asked, f.Job.DeletionTimestamp.Time))
	case f.Job == nil && f.Task.Status.Reason == v1alpha1.ReasonCancelling:
		return false // It still ran when the Job was seen to be gone.
	case asked.IsZero():
		return true
	}
	killed := a.ending.ExitCode == 137 || a.ending.ExitCode == 143
	if a.stopAskedBy {
		return !killed && !a.endedAt.After(asked)
	}
	return a.endedAt.Before(asked) || a.endedAt.Equal(asked) && !killed
}

// jobDeleting: the Job is being deleted or gone, by whomever.
func (f *facts) jobDeleting() bool {
	return f.launched && (f.Job == nil || f.Job.DeletionTimestamp != nil)
}

// mayRetry reports whether the Job controller may start another pod once the last one has failed.
func (f *facts) mayRetry() bool {
	if f.jobDeleting() || f.complete || f.broken != "" || (f.last != nil && f.last.succeeded()) {
		return false
	}
	policy, limit := f.Job.Spec.PodFailurePolicy, f.Job.Spec.BackoffLimit
	failures := f.failures()
	if f.last != nil && f.last.over() {
		switch failureAction(policy, f.last.pod) {
		case batchv1.PodFailurePolicyActionIgnore:
			return true
		case batchv1.PodFailurePolicyActionFailJob:
			return false
		}
	} else if f.last != nil {
		if ignores(policy) {
			return true // Nobody can say yet how it will fail.
		}
		failures++
	}
	return limit == nil || failures <= *limit
}

// failures is how many attempts have failed and are counted, as far as it is known: the Job's status is behind its pods, and pods
// may be gone.
func (f *facts) failures() int32 {
	var failed int32
	for _, a := range f.attempts {
		if a.over() && !a.succeeded() &&
			failureAction(f.Job.Spec.PodFailurePolicy, a.pod) != batchv1.PodFailurePolicyActionIgnore {
			failed++
		}
	}
	return max(failed, f.Job.Status.Failed)
}

// unfinished: the Job may still have or start pods.
func (f *facts) unfinished() bool {
	return f.Job != nil && !isTrue(f.Job, batchv1.JobComplete) && !isTrue(f.Job, batchv1.JobFailed)
}

func isTrue(j *batchv1.Job, condition batchv1.JobConditionType) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == condition && c.Status == corev1.ConditionTrue
	})
}

// brokenBecause is the reason of the Job's failure; FailureTarget says so before the pods are gone, Failed after.
func brokenBecause(j *batchv1.Job) string {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobFailureTarget || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return cmp.Or(c.Reason, "Failed")
		}
	}
	return ""
}

func statusOf(statuses []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range statuses {
		if statuses[i].Name == name {
			return &statuses[i]
		}
	}
	return nil
}
