package task

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

// t0 is when the tasks of the tests are created.
var t0 = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// at is so many seconds after t0.
func at(seconds int) metav1.Time { return metav1.NewTime(t0.Add(time.Duration(seconds) * time.Second)) }

// scene builds an Observation step by step, in the order in which things happen in a cluster.
type scene struct{ Observation }

// newScene is a task that was just created, and its tool.
func newScene() *scene {
	retention := metav1.Duration{Duration: 24 * time.Hour}
	return &scene{Observation{
		Now:              t0.Add(time.Minute),
		CatalogNamespace: "catalog",
		Task: &v1alpha1.MCPTask{
			ObjectMeta: metav1.ObjectMeta{Name: "t-1", Namespace: "team-a", UID: "task-uid", CreationTimestamp: at(0), Generation: 1},
			Spec: v1alpha1.MCPTaskSpec{
				Tool:      v1alpha1.ToolReference{Namespace: "catalog", Name: "tool", UID: "tool-uid", Generation: 2},
				Arguments: `{}`,
				Execution: v1alpha1.Execution{
					StartupDeadline: metav1.Duration{Duration: 10 * time.Minute},
					QueueDeadline:   metav1.Duration{Duration: 30 * time.Minute},
					Deadline:        metav1.Duration{Duration: time.Hour},
					PollInterval:    metav1.Duration{Duration: 2 * time.Second},
					Retention:       v1alpha1.Retention{Task: &retention, Job: metav1.Duration{Duration: time.Hour}},
				},
				Result: v1alpha1.ResultSource{From: v1alpha1.ResultFromLogs, Container: "main"},
			},
		},
		Tool: &v1alpha1.MCPTool{ObjectMeta: metav1.ObjectMeta{Name: "tool", Namespace: "catalog", UID: "tool-uid", Generation: 2}},
	}}
}

// clock sets the time to so many seconds after the task's creation.
func (s *scene) clock(seconds int) *scene { s.Now = at(seconds).Time; return s }

// with changes the observation in a way that has no step of its own.
func (s *scene) with(change func(o *Observation)) *scene { change(&s.Observation); return s }

// cancel is somebody's wish to stop the task.
func (s *scene) cancel() *scene {
	s.Task.Spec.Cancel = &v1alpha1.Cancellation{At: metav1.NewMicroTime(at(50).Time), By: "agent", Reason: "changed my mind"}
	return s
}

// fresh: everything was read past the cache.
func (s *scene) fresh() *scene { s.FreshTask, s.FreshJob = true, true; return s }

// withSecret: the call has arguments that are kept in a Secret, which is there or not yet.
func (s *scene) withSecret(stored bool) *scene {
	s.Task.Spec.SecretArguments = &v1alpha1.SecretArguments{}
	if stored {
		s.Task.Spec.SecretArguments.StoredAt = &metav1.MicroTime{Time: at(1).Time}
	}
	return s
}

// job creates the task's Job and puts it on the record.
func (s *scene) job() *scene {
	noRetry := int32(0)
	s.Job = &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "t-1", Namespace: "team-a", UID: "job-uid", CreationTimestamp: at(1)},
		Spec: batchv1.JobSpec{BackoffLimit: &noRetry, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "example/tool:1"}},
		}}},
		Status: batchv1.JobStatus{StartTime: &metav1.Time{Time: at(1).Time}},
	}
	s.Task.Status.Job = &v1alpha1.JobReference{Name: "t-1", UID: "job-uid"}
	return s.record(v1alpha1.StateWorking, v1alpha1.ReasonQueued)
}

// retries lets the Job start further pods.
func (s *scene) retries(n int32) *scene {
	s.Task.Spec.Execution.Retries = n
	s.Job.Spec.BackoffLimit = &n
	return s
}

// policy is the Job's podFailurePolicy.
func (s *scene) policy(rules ...batchv1.PodFailurePolicyRule) *scene {
	s.Job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: rules}
	return s
}

// record is what the task's status says.
func (s *scene) record(state v1alpha1.TaskState, reason string) *scene {
	s.Task.Status.State, s.Task.Status.Reason = state, reason
	return s
}

// says is the message on the record.
func (s *scene) says(message string) *scene { s.Task.Status.Message = message; return s }

// soFar is what the container that runs has written.
func (s *scene) soFar(text string) *scene {
	s.SoFar = &job.Output{Data: []byte(text), Total: int64(len(text))}
	return s
}

// started is on the record: the main container ran.
func (s *scene) started() *scene {
	s.Task.Status.StartedAt = &metav1.MicroTime{Time: at(5).Time}
	return s.record(v1alpha1.StateWorking, v1alpha1.ReasonRunning)
}

// jobGone: somebody deleted the Job.
func (s *scene) jobGone() *scene { s.Job = nil; return s }

// jobSays adds a condition to the Job.
func (s *scene) jobSays(condition batchv1.JobConditionType, reason string) *scene {
	s.Job.Status.Conditions = append(s.Job.Status.Conditions,
		batchv1.JobCondition{Type: condition, Status: corev1.ConditionTrue, Reason: reason})
	return s
}

// suspended: somebody has suspended the Job, and the Job controller has seen it.
func (s *scene) suspended(when int) *scene {
	yes := true
	s.Job.Spec.Suspend = &yes
	return s.notes(corev1.ConditionTrue, when)
}

// resumed: somebody has resumed the Job, and the Job controller has seen it.
func (s *scene) resumed(when int) *scene {
	s.Job.Spec.Suspend = nil
	s.Job.Status.StartTime = &metav1.Time{Time: at(when).Time}
	return s.notes(corev1.ConditionFalse, when)
}

// notes is what the Job controller has seen of a suspension.
func (s *scene) notes(status corev1.ConditionStatus, when int) *scene {
	suspended := func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended }
	s.Job.Status.Conditions = append(slices.DeleteFunc(s.Job.Status.Conditions, suspended),
		batchv1.JobCondition{Type: batchv1.JobSuspended, Status: status, LastTransitionTime: at(when)})
	return s
}

// pod adds a pod, created when the clock of the cluster said so many seconds, and changed by the steps.
func (s *scene) pod(created int, steps ...func(p *corev1.Pod)) *scene {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "t-1-" + string(rune('a'+len(s.Pods))), Namespace: "team-a", CreationTimestamp: at(created),
			UID: types.UID("pod-uid-" + string(rune('a'+len(s.Pods)))),
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "example/tool:1"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	for _, step := range steps {
		step(&p)
	}
	s.Pods = append(s.Pods, p)
	return s
}

// log is what the main container left.
func (s *scene) log(text string) *scene {
	s.Output = &job.Output{Data: []byte(text), Total: int64(len(text))}
	return s
}

// event adds an event to those that were read.
func (s *scene) event(reason, message string) *scene {
	s.Events = append(s.Events, corev1.Event{
		Reason: reason, Message: message, LastTimestamp: metav1.NewTime(at(10 + len(s.Events)).Time),
	})
	return s
}

// Steps of a pod's life.

func onNode(p *corev1.Pod) {
	p.Spec.NodeName = "node-1"
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
	setMain(p, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}})
}

func unschedulable(message string) func(p *corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
		})
	}
}

func waitingWith(reason, message string) func(p *corev1.Pod) {
	return func(p *corev1.Pod) {
		onNode(p)
		setMain(p, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}})
	}
}

func runs(since int) func(p *corev1.Pod) {
	return func(p *corev1.Pod) {
		onNode(p)
		p.Status.Phase = corev1.PodRunning
		setMain(p, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(since)}})
	}
}

// exits ends the main container; with it the pod, unless other containers still run.
func exits(code int32, when int) func(p *corev1.Pod) {
	return func(p *corev1.Pod) {
		reason, phase := "Completed", corev1.PodSucceeded
		if code != 0 {
			reason, phase = "Error", corev1.PodFailed
		}
		if len(p.Spec.Containers) == 1 {
			p.Status.Phase = phase
		}
		setMain(p, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: reason, StartedAt: at(5), FinishedAt: at(when),
		}})
	}
}

func endReason(reason, message string) func(p *corev1.Pod) {
	return func(p *corev1.Pod) {
		t := statusOf(p.Status.ContainerStatuses, "main").State.Terminated
		t.Reason, t.Message = reason, message
	}
}

func neverStarted(p *corev1.Pod) {
	statusOf(p.Status.ContainerStatuses, "main").State.Terminated.StartedAt = metav1.Time{Time: time.Unix(0, 0)}
}

func podFailed(reason, message string) func(p *corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, reason, message
	}
}

// deleted asks the pod to stop, with 30 seconds of grace.
func deleted(when int) func(p *corev1.Pod) {
	return func(p *corev1.Pod) {
		grace, gone := int64(30), at(when+30)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &gone, &grace
	}
}

// removedByKubelet is what a pod looks like that only a finalizer still holds.
func removedByKubelet(when int) func(p *corev1.Pod) {
	return func(p *corev1.Pod) {
		none, now := int64(0), at(when)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &now, &none
	}
}

func disruptedBy(reason string, when int) func(p *corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: at(when),
		})
	}
}

// sidecar is a container that something injected, and that does not end by itself.
func sidecar(p *corev1.Pod) {
	p.Spec.Containers = append([]corev1.Container{{Name: "proxy"}}, p.Spec.Containers...)
	p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
		Name: "proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(4)}},
	})
}

func initFails(code int32) func(p *corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "clone", Image: "example/git:1"}}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "clone", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, StartedAt: at(3), FinishedAt: at(4)},
		}}}
	}
}

func setMain(p *corev1.Pod, state corev1.ContainerState) {
	if s := statusOf(p.Status.ContainerStatuses, "main"); s != nil {
		s.State = state
		return
	}
	p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "main", State: state})
}
