package task

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

const (
	working   = v1alpha1.StateWorking
	completed = v1alpha1.StateCompleted
	failed    = v1alpha1.StateFailed
	cancelled = v1alpha1.StateCancelled

	inputRequired = v1alpha1.StateInputRequired
)

// situation is what can be seen of a task, and what has to follow from it.
type situation struct {
	name   string
	seen   *scene
	rule   string
	state  v1alpha1.TaskState
	reason string
	says   string // in the message
	next   Next
}

// ignoreDisruptions leaves disruptions out of the count of failures.
var ignoreDisruptions = batchv1.PodFailurePolicyRule{
	Action: batchv1.PodFailurePolicyActionIgnore,
	OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
		{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
	},
}

// failOn ends the Job on an exit code of any container.
func failOn(code int32) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{
		Action: batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{code},
		},
	}
}

var situations = []situation{
	// Before there is a Job.
	{"a new task from the cache",
		newScene(),
		"to-launch", working, v1alpha1.ReasonQueued, "Accepted", NextFreshTask},
	{"a new task, read past the cache",
		newScene().fresh(),
		"to-launch", working, v1alpha1.ReasonQueued, "Accepted", NextLaunch},
	{"cancelled before the Job, from the cache",
		newScene().cancel(),
		"cancelled-before-start", working, v1alpha1.ReasonQueued, "", NextFreshJob},
	{"cancelled before the Job",
		newScene().cancel().fresh(),
		"cancelled-before-start", cancelled, v1alpha1.ReasonCancelled, "changed my mind", ""},
	{"a tool of another tenant",
		newScene().with(func(o *Observation) { o.Task.Spec.Tool.Namespace = "team-b"; o.Tool = nil }),
		"foreign-tool", failed, v1alpha1.ReasonRejected, "own namespace", ""},
	{"the cache does not have the tool",
		newScene().with(func(o *Observation) { o.Tool = nil }),
		"tool-removed", working, v1alpha1.ReasonQueued, "", NextFreshTask},
	{"the cache has an older tool than the call",
		newScene().with(func(o *Observation) { o.Tool.Generation = 1 }),
		"tool-removed", working, v1alpha1.ReasonQueued, "", NextFreshTask},
	{"the tool is gone",
		newScene().fresh().with(func(o *Observation) { o.Tool = nil }),
		"tool-removed", failed, v1alpha1.ReasonToolChanged, "removed", ""},
	{"the tool is another one of the same name",
		newScene().fresh().with(func(o *Observation) { o.Tool.UID = "other" }),
		"tool-removed", failed, v1alpha1.ReasonToolChanged, "removed", ""},
	{"the arguments do not fit the changed tool",
		newScene().fresh().refused(v1alpha1.ReasonToolChanged, "steps: is needed now"),
		"tool-changed", failed, v1alpha1.ReasonToolChanged, "steps", ""},
	{"the quota is full",
		newScene().fresh().refused(v1alpha1.ReasonQuotaExceeded, "A quota is full: count/jobs.batch"),
		"quota-full", failed, v1alpha1.ReasonQuotaExceeded, "count/jobs.batch", ""},
	{"a webhook refuses the Job",
		newScene().fresh().refused(v1alpha1.ReasonRejected, "denied the request"),
		"job-refused", failed, v1alpha1.ReasonRejected, "denied", ""},
	{"the Secret with the arguments is on its way",
		newScene().fresh().withSecret(false).clock(1),
		"awaiting-arguments", working, v1alpha1.ReasonQueued, "secret arguments", ""},
	{"the Secret with the arguments still isn't there",
		newScene().fresh().withSecret(false).clock(60),
		"awaiting-arguments", working, v1alpha1.ReasonQueued, "secret arguments", ""},
	{"the Secret with the arguments never came, as far as the cache knows",
		newScene().withSecret(false).clock(601),
		"arguments-lost", working, v1alpha1.ReasonQueued, "", NextFreshTask},
	{"the Secret with the arguments never came",
		newScene().fresh().withSecret(false).clock(601),
		"arguments-lost", failed, v1alpha1.ReasonCannotStart, "never stored", ""},
	{"the Secret with the arguments is there",
		newScene().fresh().withSecret(true),
		"to-launch", working, v1alpha1.ReasonQueued, "Accepted", NextLaunch},
	{"cancelled before the Secret with the arguments was there",
		newScene().cancel().fresh().withSecret(false),
		"cancelled-before-start", cancelled, v1alpha1.ReasonCancelled, "changed my mind", ""},
	{"the API server could not create the Job",
		newScene().fresh().with(func(o *Observation) { o.Trouble = "etcd is busy" }),
		"to-launch", working, v1alpha1.ReasonQueued, "etcd is busy", ""},
	{"the API server still cannot create the Job",
		newScene().fresh().clock(601).with(func(o *Observation) { o.Trouble = "no answer" }),
		"not-created-in-time", failed, v1alpha1.ReasonCannotStart, "within 10m: no answer", ""},

	// Until the container runs.
	{"a Job of this moment",
		newScene().job().clock(2),
		"queued", working, v1alpha1.ReasonQueued, "Waiting for a pod", ""},
	{"a Job without a pod after a while",
		newScene().job().clock(10),
		"queued", working, v1alpha1.ReasonQueued, "", NextEvents},
	{"a quota keeps the pod out",
		newScene().job().event("FailedCreate",
			`Error creating: pods "t-1-x" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=1, limited: pods=1`),
		"queued", working, v1alpha1.ReasonQueued, "room in the quota: exceeded quota: compute, requested: pods=1", ""},
	{"a quota keeps the pod out for good",
		newScene().job().clock(700).event("FailedCreate",
			`Error creating: pods "t-1-x" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=1, limited: pods=1`),
		"start-deadline", failed, v1alpha1.ReasonQuotaExceeded, "within 10m", NextStop},
	{"a policy refuses the pod",
		newScene().job().event("FailedCreate",
			`Error creating: pods "t-1-x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true`),
		"pod-refused", failed, v1alpha1.ReasonRejected, "runAsNonRoot", NextStop},
	{"a webhook refuses the pod",
		newScene().job().event("FailedCreate",
			`Error creating: admission webhook "policy.example" denied the request: no`),
		"pod-refused", failed, v1alpha1.ReasonRejected, "policy.example", NextStop},
	{"a webhook does not answer",
		newScene().job().event("FailedCreate",
			`Error creating: Internal error occurred: failed calling webhook "policy.example": connection refused`),
		"queued", working, v1alpha1.ReasonQueued, "cannot be created yet", ""},
	{"the service account does not exist yet",
		newScene().job().event("FailedCreate",
			`Error creating: pods "t-1-x" is forbidden: error looking up service account team-a/runner: `+
				`serviceaccount "runner" not found`),
		"queued", working, v1alpha1.ReasonQueued, "runner", ""},
	{"a pod came after a refusal",
		newScene().job().event("FailedCreate", "Error creating: quota").event("SuccessfulCreate", "Created pod"),
		"queued", working, v1alpha1.ReasonQueued, "Waiting for a pod", ""},
	{"B38 the Job is suspended",
		newScene().job().suspended(1).with(noEvents),
		"suspended", working, v1alpha1.ReasonQueued, "Queued: the Job is suspended until somebody resumes it.", ""},
	{"B38 the Job is suspended, and nobody has read why",
		newScene().job().suspended(1),
		"suspended", working, v1alpha1.ReasonQueued, "", NextEvents},
	{"B38 the Job is suspended, and the Job controller has not seen it",
		newScene().job().suspended(1).with(noEvents).with(func(o *Observation) { o.Job.Status.Conditions = nil }),
		"suspended", working, v1alpha1.ReasonQueued, "suspended", ""},
	{"B38 the Job is resumed, and the Job controller has not seen it",
		newScene().job().suspended(1).clock(1000).with(noEvents).with(func(o *Observation) { o.Job.Spec.Suspend = nil }),
		"suspended", working, v1alpha1.ReasonQueued, "suspended", ""},
	{"C09 the Job waits in a queue of Kueue's",
		newScene().job().suspended(1).with(noEvents).with(inQueue("user-queue")),
		"suspended", working, v1alpha1.ReasonQueued, "Queued until the queue user-queue admits it.", ""},
	{"B38 the queue took the Job back",
		newScene().job().suspended(30).with(inQueue("user-queue")).event("Started", "Admitted").
			event("Stopped", "Preempted to accommodate a workload of higher priority"),
		"suspended", working, v1alpha1.ReasonQueued, "admits it: Preempted to accommodate a workload of higher priority.", ""},
	{"B38 the queue took the Job back, long ago",
		newScene().job().suspended(30).with(inQueue("user-queue")).event("Stopped", "Preempted").event("Started", "Admitted"),
		"suspended", working, v1alpha1.ReasonQueued, "user-queue admits it.", ""},
	{"B38 time in the queue is no time to start",
		newScene().job().suspended(1).clock(1700).with(noEvents),
		"suspended", working, v1alpha1.ReasonQueued, "suspended", ""},
	{"B38 in the queue for too long",
		newScene().job().suspended(1).clock(1801).with(noEvents).with(inQueue("nowhere")),
		"queue-deadline", failed, v1alpha1.ReasonNotAdmitted, "not admitted within 30m. Queued until the queue nowhere", NextStop},
	{"B38 in the queue for too long, and nobody has read why",
		newScene().job().suspended(1).clock(1801),
		"queue-deadline", working, v1alpha1.ReasonQueued, "", NextEvents},
	{"B38 cancelled in the queue",
		newScene().job().suspended(1).cancel(),
		"cancelling", working, v1alpha1.ReasonCancelling, "", NextStop},
	{"B38 resumed: the time to start begins",
		newScene().job().suspended(1).resumed(1700).clock(2200).with(noEvents),
		"queued", working, v1alpha1.ReasonQueued, "Waiting for a pod", ""},
	{"B38 resumed, and no pod comes",
		newScene().job().suspended(1).resumed(1700).clock(2301).with(noEvents),
		"start-deadline", failed, v1alpha1.ReasonCannotStart, "within 10m", NextStop},
	{"B38 resumed, and the container runs",
		newScene().job().suspended(1).resumed(1700).clock(9999).pod(1701, runs(1702)),
		"running", working, v1alpha1.ReasonRunning, "Running.", ""},
	{"B38 resumed before the Job controller ever saw the Job",
		newScene().job().clock(1000).with(noEvents).with(func(o *Observation) { *o.Job.Status.StartTime = at(900) }),
		"queued", working, v1alpha1.ReasonQueued, "Waiting for a pod", ""},
	{"B38 suspended while it runs, and not stopped yet",
		newScene().job().started().suspended(40).pod(2, runs(5)),
		"running", working, v1alpha1.ReasonRunning, "", ""},
	{"B38 suspended while it runs, and being stopped",
		newScene().job().started().suspended(40).pod(2, runs(5), deleted(40)),
		"being-disrupted", working, v1alpha1.ReasonRunning, "Being stopped: its Job was suspended.", ""},
	{"B38 suspended while it ran, with a retry left",
		newScene().job().started().retries(1).suspended(40).pod(2, runs(5), deleted(40), exits(143, 41)).with(noEvents),
		"suspended", working, v1alpha1.ReasonQueued, "suspended", ""},
	{"B38 suspended while it ran, with a retry left, and its pod is gone",
		newScene().job().started().retries(1).suspended(40).with(noEvents),
		"suspended", working, v1alpha1.ReasonQueued, "suspended", ""},
	{"B38 suspended while it ran, resumed, and its pod is still there",
		newScene().job().started().retries(1).suspended(40).pod(2, runs(5), deleted(40), exits(143, 41)).resumed(1700).clock(1701),
		"retrying", working, v1alpha1.ReasonStarting, "waiting for the next one", ""},
	{"B38 suspended while it ran, resumed, and no pod comes",
		newScene().job().started().retries(1).suspended(40).pod(2, runs(5), deleted(40), exits(143, 41)).resumed(1700).clock(2320).
			with(noEvents),
		"start-deadline", failed, v1alpha1.ReasonCannotStart, "within 10m", NextStop},
	{"B38 suspended while it ran, without a retry",
		newScene().job().started().suspended(40).pod(2, runs(5), deleted(40), exits(143, 41)),
		"disrupted", failed, v1alpha1.ReasonDisrupted, "its Job was suspended", NextStop},
	{"B38 suspended after it had ended",
		newScene().job().started().suspended(40).pod(2, runs(5), exits(0, 30)).log("done"),
		"exit-ok", completed, v1alpha1.ReasonSucceeded, "", ""},
	{"no node has the GPU",
		newScene().job().pod(2,
			unschedulable("0/3 nodes are available: 1 node(s) had taint {gpu: no}, 2 Insufficient nvidia.com/gpu. preemption: none")),
		"starting", working, v1alpha1.ReasonStarting, "Waiting for a node: had taint {gpu: no}, insufficient nvidia.com/gpu.", ""},
	{"no node has had the GPU for too long",
		newScene().job().clock(603).pod(2, unschedulable("0/1 nodes are available: 1 Insufficient cpu.")),
		"start-deadline", failed, v1alpha1.ReasonUnschedulable, "insufficient cpu", NextStop},
	{"too late to start, and the Job is stopped",
		newScene().job().clock(603).pod(2, unschedulable("")).with(func(o *Observation) { o.Stopped = true }),
		"start-deadline", failed, v1alpha1.ReasonUnschedulable, "did not start within 10m", ""},
	{"the image cannot be pulled",
		newScene().job().pod(2, waitingWith("ErrImagePull",
			`rpc error: code = NotFound desc = failed to pull and unpack image "example/tool:1": manifest unknown`)),
		"starting", working, v1alpha1.ReasonStarting, "The image example/tool:1 cannot be pulled: manifest unknown.", ""},
	{"the image cannot be pulled, between two tries",
		newScene().job().pod(2, waitingWith("ImagePullBackOff",
			`Back-off pulling image "example/tool:1": ErrImagePull: rpc error: code = NotFound desc = `+
				`failed to pull and unpack image "example/tool:1": manifest unknown`)),
		"starting", working, v1alpha1.ReasonStarting, "The image example/tool:1 cannot be pulled: manifest unknown.", ""},
	{"a registry's error names a password",
		newScene().job().pod(2, waitingWith("ErrImagePull", "get https://bob:secret@registry.example/v2: 401")),
		"starting", working, v1alpha1.ReasonStarting, "https://registry.example/v2", ""},
	{"a registry's error names an address of the cluster",
		newScene().job().pod(2, waitingWith("ErrImagePull",
			"dial tcp: lookup registry.example on 10.0.0.10:53: dial udp 10.0.0.10:53: connect: network is unreachable")),
		"starting", working, v1alpha1.ReasonStarting, "lookup registry.example: connect: network is unreachable", ""},
	{"the image could not be pulled in time",
		newScene().job().clock(603).pod(2, waitingWith("ImagePullBackOff", "")),
		"start-deadline", failed, v1alpha1.ReasonImagePullFailed, "cannot be pulled", NextStop},
	{"the image's name is nonsense",
		newScene().job().pod(2, waitingWith("InvalidImageName", "")),
		"image-unusable", failed, v1alpha1.ReasonImagePullFailed, "not valid", NextStop},
	{"the image may not be pulled",
		newScene().job().pod(2, waitingWith("ErrImageNeverPull", "")),
		"image-unusable", failed, v1alpha1.ReasonImagePullFailed, "Never", NextStop},
	{"a Secret is missing",
		newScene().job().pod(2, waitingWith("CreateContainerConfigError", `secret "db" not found`)),
		"starting", working, v1alpha1.ReasonStarting, `secret "db" not found`, ""},
	{"a Secret is missing for good",
		newScene().job().clock(603).pod(2, waitingWith("CreateContainerConfigError", `secret "db" not found`)),
		"start-deadline", failed, v1alpha1.ReasonCannotStart, `secret "db" not found`, NextStop},
	{"the container is being created, and nobody says why it takes so long",
		newScene().job().pod(2, onNode),
		"starting", working, v1alpha1.ReasonQueued, "", NextEvents},
	{"a volume is missing",
		newScene().job().pod(2, onNode).event("FailedMount", `SetUp failed for volume "s" : configmap "scripts" not found`),
		"starting", working, v1alpha1.ReasonStarting, `volume "s": configmap "scripts" not found`, ""},
	{"a large image is being pulled",
		newScene().job().pod(2, onNode).event("Pulling", `Pulling image "example/tool:1"`),
		"starting", working, v1alpha1.ReasonStarting, "Pulling the image", ""},
	{"an init container runs",
		newScene().job().pod(2, onNode, func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{
				Name: "clone", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			}}
		}),
		"starting", working, v1alpha1.ReasonStarting, "clone", ""},
	{"an init container fails",
		newScene().job().pod(2, onNode, initFails(7), podFailed("", "")),
		"never-ran", working, v1alpha1.ReasonStarting, "clone failed with exit code 7", NextOutput},
	{"an init container has failed and said why",
		newScene().job().pod(2, onNode, initFails(7), podFailed("", "")).
			log(strings.Repeat("Cloning.\n", 100) + "fatal: no such\nrepository\n"),
		"never-ran", failed, v1alpha1.ReasonCannotStart, "Its output ended: …", NextStop},
	{"an init container has failed with an end to what it said",
		newScene().job().pod(2, onNode, initFails(7), podFailed("", "")).log("fatal: no such\nrepository\n"),
		"never-ran", failed, v1alpha1.ReasonCannotStart, "never ran. Its output ended: fatal: no such repository", NextStop},
	{"an init container has failed and said nothing",
		newScene().job().pod(2, onNode, initFails(7), podFailed("", "")).log(""),
		"never-ran", failed, v1alpha1.ReasonCannotStart, "clone failed with exit code 7", NextStop},
	{"the node refuses the pod",
		newScene().job().pod(2, podFailed("OutOfcpu", "Node didn't have enough resource: cpu")),
		"never-ran", failed, v1alpha1.ReasonCannotStart, "Node didn't have enough resource", NextStop},
	{"the deadline passes while the image is pulled",
		newScene().job().pod(2, waitingWith("ImagePullBackOff", "gone"), podFailed("DeadlineExceeded", "")),
		"never-ran", failed, v1alpha1.ReasonImagePullFailed, "deadline passed before it ran", NextStop},
	{"the program is not in the image",
		newScene().job().pod(2, onNode, exits(128, 6), neverStarted,
			endReason("StartError", "failed: unable to start container process: exec: nope: not found")),
		"cannot-run", failed, v1alpha1.ReasonCannotStart, "could not be started: exec: nope", NextStop},

	// While it runs, and how it ends.
	{"it runs",
		newScene().job().pod(2, runs(5)),
		"running", working, v1alpha1.ReasonRunning, "Running.", ""},
	{"it exited with 0, its log is not read",
		newScene().job().pod(2, runs(5), exits(0, 30)),
		"exit-ok", working, v1alpha1.ReasonRunning, "", NextOutput},
	{"it exited with 0",
		newScene().job().pod(2, runs(5), exits(0, 30)).log("done"),
		"exit-ok", completed, v1alpha1.ReasonSucceeded, "", ""},
	{"it exited with 0 beside a sidecar that goes on",
		newScene().job().pod(2, sidecar, runs(5), exits(0, 30)).log("done"),
		"exit-ok", completed, v1alpha1.ReasonSucceeded, "", ""},
	{"it exited with 0 and its log is lost",
		newScene().job().pod(2, runs(5), exits(0, 30)).with(func(o *Observation) {
			o.Output = &job.Output{Unavailable: "its node did not hand out the log"}
		}),
		"exit-ok", completed, v1alpha1.ReasonSucceeded, "", ""},
	{"it exited with 3",
		newScene().job().pod(2, runs(5), exits(3, 30)).log("no such table"),
		"exit-error", completed, v1alpha1.ReasonToolError, "", ""},
	{"it was killed for memory",
		newScene().job().pod(2, runs(5), exits(137, 30), endReason("OOMKilled", "")).log(""),
		"oom", completed, v1alpha1.ReasonOOMKilled, "", ""},
	{"a child of it was killed for memory",
		newScene().job().pod(2, runs(5), exits(0, 30), endReason("OOMKilled", "")).log(""),
		"oom", completed, v1alpha1.ReasonOOMKilled, "", ""},
	{"it ran too long and is being stopped",
		newScene().job().started().pod(2, runs(5), podFailedReasonOnly("DeadlineExceeded")),
		"deadline", working, v1alpha1.ReasonRunning, "longer than its deadline", ""},
	{"it ran too long",
		newScene().job().pod(2, runs(5), exits(137, 3605), podFailed("DeadlineExceeded", "")).log("half"),
		"deadline", completed, v1alpha1.ReasonDeadlineExceeded, "", ""},
	{"it was done before a sidecar kept the pod until its deadline",
		newScene().job().pod(2, runs(5), exits(0, 30), podFailed("DeadlineExceeded", ""),
			podDeadline(2, 3600)).log("done"),
		"exit-ok", completed, v1alpha1.ReasonSucceeded, "", ""},
	{"the Job ran too long and its pod is gone",
		newScene().job().started().fresh().jobSays(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded),
		"deadline", completed, v1alpha1.ReasonDeadlineExceeded, "", ""},
	{"the Job is complete and its pod is gone, from the cache",
		newScene().job().started().jobSays(batchv1.JobComplete, ""),
		"succeeded-unread", working, v1alpha1.ReasonRunning, "", NextFreshJob},
	{"the Job is complete and its pod is gone",
		newScene().job().started().fresh().jobSays(batchv1.JobComplete, ""),
		"succeeded-unread", completed, v1alpha1.ReasonSucceeded, "", ""},
	{"the Job failed and its pod is gone",
		newScene().job().started().fresh().jobSays(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded),
		"outcome-unknown", failed, v1alpha1.ReasonOutcomeUnknown, "unknown", ""},
	{"the pod succeeded and says nothing of its container",
		newScene().job().fresh().pod(2, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		"outcome-unknown", failed, v1alpha1.ReasonOutcomeUnknown, "", NextStop},

	// Disruptions.
	{"evicted, without a word of its container",
		newScene().job().pod(2, podFailed("Evicted", "The node was low on resource: memory")),
		"disrupted", failed, v1alpha1.ReasonDisrupted, "evicted", NextStop},
	{"preempted",
		newScene().job().pod(2, runs(5), deleted(20), disruptedBy(corev1.PodReasonPreemptionByScheduler, 20), exits(143, 21)),
		"disrupted", failed, v1alpha1.ReasonDisrupted, "more important pod", NextStop},
	{"preempted, and it ended with 0",
		newScene().job().pod(2, runs(5), deleted(20), disruptedBy(corev1.PodReasonPreemptionByScheduler, 20), exits(0, 25)),
		"disrupted", failed, v1alpha1.ReasonDisrupted, "", NextStop},
	{"it was done before its node was drained",
		newScene().job().pod(2, runs(5), exits(0, 19), disruptedBy("EvictionByEvictionAPI", 20)).log("done"),
		"exit-ok", completed, v1alpha1.ReasonSucceeded, "", ""},
	{"being preempted",
		newScene().job().clock(22).pod(2, runs(5), deleted(20), disruptedBy(corev1.PodReasonPreemptionByScheduler, 20)),
		"being-disrupted", working, v1alpha1.ReasonRunning, "more important pod", ""},
	{"somebody deleted the pod",
		newScene().job().pod(2, runs(5), deleted(20), exits(143, 21)),
		"disrupted", failed, v1alpha1.ReasonDisrupted, "pod was deleted", NextStop},
	{"somebody deleted the pod, and the kubelet is done with it",
		newScene().job().pod(2, runs(5), removedByKubelet(25), exits(143, 21)),
		"disrupted", failed, v1alpha1.ReasonDisrupted, "pod was deleted", NextStop},
	{"somebody deleted the pod after it was done",
		newScene().job().pod(2, runs(5), removedByKubelet(25), exits(3, 21)).log("no"),
		"exit-error", completed, v1alpha1.ReasonToolError, "", ""},
	{"its node restarted",
		newScene().job().pod(2, runs(5), exits(137, 30), endReason("ContainerStatusUnknown", "")),
		"disrupted", failed, v1alpha1.ReasonDisrupted, "lost", NextStop},
	{"its node is gone and the pod was given up",
		newScene().job().pod(2, runs(5), podFailed("", ""), disruptedBy("DeletionByPodGC", 400)),
		"disrupted", failed, v1alpha1.ReasonDisrupted, "node is gone", NextStop},
	{"its node does not answer",
		newScene().job().started().clock(300).pod(2, runs(5), deleted(100), disruptedBy("DeletionByTaintManager", 100)),
		"node-lost", failed, v1alpha1.ReasonDisrupted, "may still be going on", NextStop},

	// Retries.
	{"a first attempt failed",
		newScene().job().retries(2).pod(2, runs(5), exits(3, 30)).clock(31),
		"retrying", working, v1alpha1.ReasonStarting, "Attempt 1 ended with exit code 3", ""},
	{"a first attempt was evicted",
		newScene().job().retries(1).
			pod(2, runs(5), podFailed("Evicted", ""), disruptedBy(corev1.PodReasonTerminationByKubelet, 30)).clock(31),
		"retrying", working, v1alpha1.ReasonStarting, "ran out of resources", ""},
	{"a second attempt runs",
		newScene().job().retries(2).pod(2, runs(5), exits(3, 30)).pod(40, runs(45)),
		"running", working, v1alpha1.ReasonRunning, "attempt 2", ""},
	{"a second attempt succeeded",
		newScene().job().retries(2).pod(2, runs(5), exits(3, 30)).pod(40, runs(45), exits(0, 50)).log("done"),
		"exit-ok", completed, v1alpha1.ReasonSucceeded, "", ""},
	{"the last attempt failed, and the Job controller has not said so yet",
		newScene().job().retries(1).pod(2, runs(5), exits(3, 30)).pod(40, runs(45), exits(4, 50)).log("no"),
		"exit-error", completed, v1alpha1.ReasonToolError, "", ""},
	{"a second attempt runs, and the first one's pod is gone",
		newScene().job().retries(1).with(func(o *Observation) { o.Job.Status.Failed = 1 }).pod(40, runs(45)),
		"running", working, v1alpha1.ReasonRunning, "attempt 2", ""},
	{"the last attempt failed",
		newScene().job().retries(1).pod(2, runs(5), exits(3, 30)).pod(40, runs(45), exits(4, 50)).
			jobSays(batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded).log("no"),
		"exit-error", completed, v1alpha1.ReasonToolError, "", ""},
	{"B39: a disruption that is not counted",
		newScene().job().policy(ignoreDisruptions).clock(31).
			pod(2, runs(5), deleted(20), disruptedBy("EvictionByEvictionAPI", 20), exits(143, 30)),
		"retrying", working, v1alpha1.ReasonStarting, "Attempt 1 was stopped: its pod was evicted; waiting for the next one.", ""},
	{"B39: being stopped by a disruption that is not counted",
		newScene().job().policy(ignoreDisruptions).clock(22).
			pod(2, runs(5), deleted(20), disruptedBy("EvictionByEvictionAPI", 20)),
		"being-disrupted", working, v1alpha1.ReasonRunning, "was evicted", ""},
	{"B39: the attempt after a disruption that is not counted",
		newScene().job().policy(ignoreDisruptions).
			pod(2, runs(5), podFailed("", ""), disruptedBy("EvictionByEvictionAPI", 20), exits(143, 30)).pod(40, runs(45)),
		"running", working, v1alpha1.ReasonRunning, "attempt 2", ""},
	{"B39: a failure that is counted, after a disruption that is not",
		newScene().job().policy(ignoreDisruptions).
			pod(2, runs(5), podFailed("", ""), disruptedBy("EvictionByEvictionAPI", 20), exits(143, 30)).
			pod(40, runs(45), exits(3, 50)).log("no"),
		"exit-error", completed, v1alpha1.ReasonToolError, "", ""},
	{"B39: a disruption that is counted",
		newScene().job().pod(2, runs(5), deleted(20), disruptedBy("EvictionByEvictionAPI", 20), exits(143, 30)),
		"disrupted", failed, v1alpha1.ReasonDisrupted, "its pod was evicted. The work may have had effects.", NextStop},
	{"C05: an exit code that ends the Job, whatever retries are left",
		newScene().job().retries(6).policy(failOn(42), ignoreDisruptions).pod(2, runs(5), exits(42, 30)).log("no"),
		"exit-error", completed, v1alpha1.ReasonToolError, "", ""},
	{"no further attempt comes",
		newScene().job().retries(1).clock(700).
			pod(2, runs(5), exits(3, 30)).event("FailedCreate", "Error creating: exceeded quota: q"),
		"start-deadline", failed, v1alpha1.ReasonQuotaExceeded, "", NextStop},
	{"the pod vanished and the Job is still open",
		newScene().job().started(),
		"pod-gone", working, v1alpha1.ReasonStarting, "pod is gone", ""},

	// Two pods at once, of which the Job controller deletes one.
	{"B36: the second pod is told to stop",
		newScene().job().pod(2, runs(5)).pod(20, runs(25), deleted(30)),
		"running", working, v1alpha1.ReasonRunning, "Running.", ""},
	{"B36: the second pod was stopped",
		newScene().job().pod(2, runs(5)).pod(20, runs(25), deleted(30), exits(143, 31)),
		"running", working, v1alpha1.ReasonRunning, "Running.", ""},
	{"B36: the second pod never had a node",
		newScene().job().pod(2, runs(5)).pod(20, deleted(20)),
		"running", working, v1alpha1.ReasonRunning, "Running.", ""},
	{"B36: the first pod was stopped",
		newScene().job().pod(2, runs(5), deleted(30), exits(143, 31)).pod(20, runs(25)),
		"running", working, v1alpha1.ReasonRunning, "Running.", ""},
	{"B36: the second pod was stopped, the first succeeded",
		newScene().job().pod(2, runs(5), exits(0, 50)).pod(20, runs(25), deleted(30), exits(143, 31)).log("done"),
		"exit-ok", completed, v1alpha1.ReasonSucceeded, "", ""},
	{"B36: the second pod was stopped, the first failed",
		newScene().job().pod(2, runs(5), exits(3, 50)).pod(20, runs(25), deleted(30), exits(143, 31)).log("no"),
		"exit-error", completed, v1alpha1.ReasonToolError, "", ""},
	{"B36: the first pod failed, and the second was stopped with the Job",
		newScene().job().pod(2, runs(5), exits(3, 40)).pod(20, runs(25), deleted(41), exits(143, 42)).
			jobSays(batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded).log("no"),
		"exit-error", completed, v1alpha1.ReasonToolError, "", ""},
	{"B36: the second pod was stopped, and a retry waits for the first alone",
		newScene().job().retries(2).pod(2, runs(5), exits(3, 50)).pod(20, runs(25), deleted(30), exits(143, 31)).clock(51),
		"retrying", working, v1alpha1.ReasonStarting, "Attempt 1 ended with exit code 3", ""},
	{"B36: both were stopped",
		newScene().job().pod(2, runs(5), deleted(40), exits(143, 41)).pod(20, runs(25), deleted(30), exits(143, 31)),
		"disrupted", failed, v1alpha1.ReasonDisrupted, "pod was deleted", NextStop},
	{"B36: both were stopped, and cancel asked for it",
		newScene().job().cancel().jobGone().fresh().pod(2, runs(5), deleted(51)).pod(20, runs(25), deleted(30), exits(143, 31)),
		"cancelling", working, v1alpha1.ReasonCancelling, "", ""},
	{"the first pod was stopped before the second began, and that one failed",
		newScene().job().retries(2).pod(2, runs(5), deleted(20), exits(143, 30)).pod(40, runs(45), exits(3, 50)).clock(51),
		"retrying", working, v1alpha1.ReasonStarting, "Attempt 2 ended with exit code 3", ""},

	// Cancel and deletion.
	{"cancel while it waits for a node",
		newScene().job().cancel().pod(2),
		"cancelling", working, v1alpha1.ReasonCancelling, "changed my mind", NextStop},
	{"cancel while it runs",
		newScene().job().started().cancel().pod(2, runs(5)),
		"cancelling", working, v1alpha1.ReasonCancelling, "", NextGlance},
	{"B41: cancel while it runs, and what it has written is known",
		newScene().job().started().cancel().pod(2, runs(5)).soFar("step 41 of 100\n"),
		"cancelling", working, v1alpha1.ReasonCancelling, "changed my mind. Its last output: step 41 of 100", NextStop},
	{"B41: cancel while it runs, and its log cannot be read",
		newScene().job().started().cancel().pod(2, runs(5)).soFar(""),
		"cancelling", working, v1alpha1.ReasonCancelling, "changed my mind", NextStop},
	{"B41: it is being stopped after a cancel, and what it had written is on the record",
		newScene().job().started().cancel().deletingJob().pod(2, runs(5), deleted(51)).
			record(working, v1alpha1.ReasonCancelling).
			says("Cancel requested; stopping the work: changed my mind. Its last output: step 41"),
		"cancelling", working, v1alpha1.ReasonCancelling, "changed my mind. Its last output: step 41", ""},
	{"B41: a reason that looks like the end of the output",
		newScene().job().started().cancel().deletingJob().pod(2, runs(5), deleted(51)).
			with(func(o *Observation) { o.Task.Spec.Cancel.Reason = "no. Its last output: x" }).
			record(working, v1alpha1.ReasonCancelling).says("Cancel requested; stopping the work: no. Its last output: x"),
		"cancelling", working, v1alpha1.ReasonCancelling, "stopping the work: no. Its last output: x", ""},
	{"B41: it is cancelled, and what it had written is on the record",
		newScene().job().started().cancel().with(func(o *Observation) { o.Job = nil }).fresh().
			record(working, v1alpha1.ReasonCancelling).
			says("Cancel requested; stopping the work: changed my mind. Its last output: step 41"),
		"cancelled", cancelled, v1alpha1.ReasonCancelled, "Cancelled: changed my mind. Its last output: step 41", ""},
	{"the Job is being deleted after a cancel",
		newScene().job().started().cancel().deletingJob().pod(2, runs(5), deleted(51)),
		"cancelling", working, v1alpha1.ReasonCancelling, "", ""},
	{"it was done before the cancel",
		newScene().job().cancel().pod(2, runs(5), exits(0, 49)).log("done"),
		"exit-ok", completed, v1alpha1.ReasonSucceeded, "", ""},
	{"it was done before the Job's deletion for a cancel",
		newScene().job().cancel().deletingJob().pod(2, runs(5), deleted(51), exits(0, 50)).log("done"),
		"exit-ok", completed, v1alpha1.ReasonSucceeded, "", ""},
	{"it ended with 0 because it was told to stop",
		newScene().job().cancel().deletingJob().pod(2, runs(5), deleted(51), exits(0, 51)),
		"cancelling", working, v1alpha1.ReasonCancelling, "", ""},
	{"it ended with 143 because it was told to stop",
		newScene().job().cancel().deletingJob().pod(2, runs(5), deleted(51), exits(143, 52)),
		"cancelling", working, v1alpha1.ReasonCancelling, "", ""},
	{"it was told to stop, and the kubelet is done with it",
		newScene().job().cancel().deletingJob().pod(2, runs(5), removedByKubelet(55), exits(143, 52)),
		"cancelling", working, v1alpha1.ReasonCancelling, "", ""},
	{"cancel, and all is gone",
		newScene().job().started().cancel().jobGone().fresh(),
		"cancelled", cancelled, v1alpha1.ReasonCancelled, "changed my mind", ""},
	{"cancel, and the cache says that all is gone",
		newScene().job().started().cancel().jobGone(),
		"job-unseen", working, v1alpha1.ReasonRunning, "", NextFreshJob},
	{"the cache shows a pod, and not yet the Job",
		newScene().job().started().jobGone().pod(2, runs(5)),
		"job-unseen", working, v1alpha1.ReasonRunning, "", NextFreshJob},
	{"cancel, and its node does not answer",
		newScene().job().started().cancel().deletingJob().clock(300).pod(2, runs(5), deleted(51)),
		"node-lost", failed, v1alpha1.ReasonDisrupted, "", ""},
	{"somebody deleted the Job, its pod stops",
		newScene().job().started().jobGone().fresh().pod(2, runs(5), deleted(51)),
		"job-being-deleted", working, v1alpha1.ReasonCancelling, "Somebody deleted", ""},
	{"somebody deleted the Job, its pod has stopped",
		newScene().job().started().record(working, v1alpha1.ReasonCancelling).jobGone().fresh().
			pod(2, runs(5), removedByKubelet(55), exits(0, 52)),
		"job-being-deleted", working, v1alpha1.ReasonCancelling, "", ""},
	{"somebody deleted the Job, and all is gone",
		newScene().job().started().record(working, v1alpha1.ReasonCancelling).jobGone().fresh(),
		"job-deleted", cancelled, v1alpha1.ReasonJobDeleted, "deleted the Job", ""},
	{"somebody deleted the Job before it ran",
		newScene().job().jobGone().fresh(),
		"job-deleted", cancelled, v1alpha1.ReasonJobDeleted, "", ""},
	{"all is gone and nobody saw how",
		newScene().job().started().jobGone().fresh(),
		"vanished", failed, v1alpha1.ReasonOutcomeUnknown, "unknown", ""},
	{"the pod outlived its Job, done",
		newScene().job().started().jobGone().fresh().pod(2, runs(5), exits(0, 30)).log("done"),
		"exit-ok", completed, v1alpha1.ReasonSucceeded, "", ""},

	// The end.
	{"completed, and everything is gone",
		newScene().job().record(completed, v1alpha1.ReasonSucceeded).jobGone(),
		"ended", completed, v1alpha1.ReasonSucceeded, "", ""},
	{"cancelled, and its container says that it succeeded",
		newScene().job().record(cancelled, v1alpha1.ReasonCancelled).pod(2, runs(5), exits(0, 30)),
		"ended", cancelled, v1alpha1.ReasonCancelled, "", ""},
}

func (s *scene) refused(reason, message string) *scene {
	s.Refusal = &Refusal{Reason: reason, Message: message}
	return s
}

func (s *scene) deletingJob() *scene {
	when := at(51)
	s.Job.DeletionTimestamp = &when
	return s.record(working, v1alpha1.ReasonCancelling)
}

// podFailedReasonOnly is what the kubelet says of a pod that is over while its containers are still being stopped.
func podFailedReasonOnly(reason string) func(p *corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Reason = reason }
}

// noEvents: they were read, and there are none.
func noEvents(o *Observation) { o.Events = []corev1.Event{} }

func inQueue(name string) func(o *Observation) {
	return func(o *Observation) { o.Job.Labels = map[string]string{"kueue.x-k8s.io/queue-name": name} }
}

// podDeadline is what the pod's status and spec say about its deadline.
func podDeadline(start int, seconds int64) func(p *corev1.Pod) {
	return func(p *corev1.Pod) {
		since := at(start)
		p.Status.StartTime, p.Spec.ActiveDeadlineSeconds = &since, &seconds
	}
}

func TestDecide(t *testing.T) {
	spoke := map[string]bool{}
	for _, s := range slices.Concat(situations, questionSituations, severalSituations) {
		t.Run(s.name, func(t *testing.T) {
			v := Decide(s.seen.Observation)
			spoke[v.Rule] = true
			if v.Rule != s.rule {
				t.Errorf("rule %q spoke, want %q: %+v", v.Rule, s.rule, v)
			}
			if v.State != s.state || v.Next != s.next {
				t.Errorf("got %s, next %q; want %s, next %q", v.State, v.Next, s.state, s.next)
			}
			if asks := v.Next != NextNothing && v.Next != NextLaunch && v.Next != NextStop; !asks && v.Reason != s.reason {
				t.Errorf("reason %s, want %s", v.Reason, s.reason)
			}
			if !strings.Contains(v.Message, s.says) {
				t.Errorf("message %q does not say %q", v.Message, s.says)
			}
			if v.Next == NextNothing {
				checkSound(t, v)
			}
		})
	}
	for _, r := range Rules {
		if !spoke[r.Name] {
			t.Errorf("no situation in which rule %q speaks", r.Name)
		}
	}
}

// checkSound checks what holds for every last word: completed has a result, failed an error, nothing else has either; the rule's
// row of the table announces the state and the reason.
func checkSound(t *testing.T, v Verdict) {
	t.Helper()
	if v.Rule == "ended" {
		return
	}
	if (v.State == completed) != (v.Result != "") {
		t.Errorf("%s with result %q", v.State, v.Result)
	}
	if (v.State == failed) != (v.Error != nil) {
		t.Errorf("%s with error %v", v.State, v.Error)
	}
	if v.Message == "" || len(v.Message) > maxMessage {
		t.Errorf("message of %d bytes: %q", len(v.Message), v.Message)
	}
	for _, r := range Rules {
		if r.Name != v.Rule {
			continue
		}
		if v.State.Terminal() && v.State != r.State {
			t.Errorf("state %s, but the table says %s", v.State, r.State)
		}
		for _, reason := range r.Reasons {
			if reason == v.Reason {
				return
			}
		}
		if v.State.Terminal() || r.State == working {
			t.Errorf("reason %s is not in the table's row of %q", v.Reason, r.Name)
		}
	}
}

func TestDecideLooksAgainInTime(t *testing.T) {
	for _, s := range []struct {
		name string
		seen *scene
		want time.Duration
	}{
		{"a Job of this moment settles first", newScene().job().clock(2), 2 * time.Second},
		{"events are read again while nothing else says more",
			newScene().job().clock(60).with(noEvents), eventsEvery},
		{"events are read again less often by and by",
			newScene().job().clock(301).with(noEvents), 50 * time.Second},
		{"events are read again at least every two minutes",
			newScene().job().suspended(1).clock(1501).with(noEvents), eventsAtLeastEvery},
		{"what is queued is given up at its deadline",
			newScene().job().suspended(1).clock(1790).with(noEvents), 11 * time.Second},
		{"what waits for a node is given up at its deadline", newScene().job().clock(60).pod(2, unschedulable("")), 542 * time.Second},
		{"a node that stops answering is given up",
			newScene().job().started().clock(22).pod(2, runs(5), deleted(20)), 148 * time.Second},
		{"a running container needs no looking after", newScene().job().pod(2, runs(5)), 0},
	} {
		if got := Decide(s.seen.Observation).After; got != s.want {
			t.Errorf("%s: after %v, want %v", s.name, got, s.want)
		}
	}
}

func TestPassingStatesAreNotWritten(t *testing.T) {
	s := newScene().job().clock(2)
	if v := Decide(s.Observation); !v.Passing || Apply(v, s.Task, s.Job, s.Now) {
		t.Errorf("a Job of this moment: %+v is written", v)
	}
	s = newScene().clock(2)
	s.job().Task.Status = v1alpha1.MCPTaskStatus{}
	if v := Decide(s.Observation); !Apply(v, s.Task, s.Job, s.Now) || s.Task.Status.Job == nil || s.Task.Status.State != working {
		t.Errorf("the first sight of a Job is not written: %+v", s.Task.Status)
	}
	s = newScene().fresh().withSecret(false).clock(1)
	if v := Decide(s.Observation); Apply(v, s.Task, nil, s.Now) || v.After != 2*time.Second {
		t.Errorf("that the Secret is on its way is written, or not looked for again: %+v", v)
	}
	s.clock(4)
	if v := Decide(s.Observation); !Apply(v, s.Task, nil, s.Now) || v.After != 596*time.Second {
		t.Errorf("that the Secret is not there is not written, or not looked for again: %+v", v)
	}
}

func TestApplyEndsOnce(t *testing.T) {
	s := newScene().job().pod(2, runs(5), exits(0, 30)).log("done")
	v := Decide(s.Observation)
	if !Apply(v, s.Task, s.Job, s.Now) {
		t.Fatal("the end is not written")
	}
	got := s.Task.Status
	if got.FinishedAt == nil || !got.FinishedAt.Time.Equal(s.Now) || !got.LastUpdatedAt.Equal(got.FinishedAt) {
		t.Errorf("finishedAt %v, lastUpdatedAt %v, want %v", got.FinishedAt, got.LastUpdatedAt, s.Now)
	}
	if want := metav1.NewTime(s.Now.Add(24 * time.Hour)); !got.ExpiresAt.Equal(&want) {
		t.Errorf("expiresAt %v, want %v", got.ExpiresAt, want)
	}
	if got.StartedAt == nil || !got.StartedAt.Time.Equal(at(5).Time) {
		t.Errorf("startedAt %v, want %v", got.StartedAt, at(5))
	}
	before := s.Task.DeepCopy()
	late := Verdict{State: failed, Reason: "Late"}
	if Apply(late, s.Task, nil, s.Now.Add(time.Hour)) || s.Task.Status.State != before.Status.State {
		t.Error("a finished task was changed")
	}
}

// TestB38_QueueIsOnTheRecord: what a task may take grows by the time for which its Job may be suspended, and the same suspension
// is written once.
func TestB38_QueueIsOnTheRecord(t *testing.T) {
	s := newScene().job().suspended(1).with(noEvents)
	before := *TTL(s.Task)
	v := Decide(s.Observation)
	if !Apply(v, s.Task, s.Job, s.Now) {
		t.Fatal("the queue is not written")
	}
	if by := s.Task.Status.AdmitBy; by == nil || !by.Time.Equal(at(1+1800).Time) {
		t.Errorf("admitBy %v, want %v", by, at(1801))
	}
	if got, want := *TTL(s.Task)-before, 1801*time.Second; got != want {
		t.Errorf("the TTL grew by %v, want %v", got, want)
	}
	s.clock(90)
	if Apply(Decide(s.Observation), s.Task, s.Job, s.Now) {
		t.Error("nothing has happened, and it is written again")
	}

	// Of a pod that was seen running and is gone, only the record can say since when.
	s = newScene().job().started().retries(1).suspended(40).with(noEvents)
	s.Job.Status.Conditions = nil
	if !Apply(Decide(s.Observation), s.Task, s.Job, s.Now) || s.Task.Status.Reason != v1alpha1.ReasonQueued {
		t.Fatalf("the suspension is not written: %+v", s.Task.Status)
	}
	s.clock(500)
	if Apply(Decide(s.Observation), s.Task, s.Job, s.Now) {
		t.Error("nothing has happened, and it is written again")
	}
	s.clock(61 + 1800)
	if v := Decide(s.Observation); v.Reason != v1alpha1.ReasonNotAdmitted {
		t.Errorf("in the queue for too long: %+v", v)
	}
}

func TestMessagesAreClipped(t *testing.T) {
	long := strings.Repeat("ü", 2000)
	v := Decide(newScene().fresh().refused(v1alpha1.ReasonRejected, long).Observation)
	if len(v.Message) > maxMessage || len(v.Error.Message) > maxMessage || !strings.HasSuffix(v.Message, "…") {
		t.Errorf("message of %d bytes, error of %d", len(v.Message), len(v.Error.Message))
	}
}
