package task

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// waiting is what keeps a Job's main container from running.
type waiting struct {
	// reason is the task's reason should it never end.
	reason string
	// message says it in one sentence.
	message string
	// hopeless: it will not go away by waiting.
	hopeless bool
	// since is when the Job or pod began to wait.
	since time.Time
	// inEvents is the object whose events may say more; empty: they do not.
	inEvents types.UID
	// container is the init container whose log says more; empty: there is none.
	container string
}

// waiting is what the Job waits for; nil where its main container runs or is past that.
func (f *facts) waiting() *waiting {
	switch {
	case f.Job == nil:
		return nil
	case f.several != nil:
		return f.severalWaiting()
	case f.last == nil:
		return f.waitingForPod(f.Job.CreationTimestamp.Time)
	case f.awaitsRetry():
		return f.waitingForPod(f.last.overAt())
	case f.last.running(), f.last.ending != nil, f.last.deleting():
		return nil
	}
	return f.waitingAttempt(f.last)
}

// waitingAttempt is what the pod of an attempt waits for.
func (f *facts) waitingAttempt(a *attempt) *waiting {
	w := waitingPod(a.pod, f.main)
	w.since = a.pod.CreationTimestamp.Time
	if w.inEvents != "" {
		if e := lastEvent(f.Events, podTrouble); e != nil {
			w.message = mountMessage(e)
		} else if e := lastEvent(f.Events, []string{"Pulling", "Pulled"}); e != nil && e.Reason == "Pulling" {
			w.reason, w.message = v1alpha1.ReasonImagePullFailed, "Pulling the image."
		}
	}
	return w
}

// podTrouble are the reasons of a pod's events that say why its containers are not created.
var podTrouble = []string{"FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"}

// waitingForPods is said where nobody says more.
const waitingForPods = "Waiting for a pod."

// waitingForPod is what a Job without a pod waits for. Its status does not say that; the events of the Job controller do.
func (f *facts) waitingForPod(since time.Time) *waiting {
	w := &waiting{reason: v1alpha1.ReasonCannotStart, message: waitingForPods, since: since, inEvents: f.Job.UID}
	e := lastEvent(f.Events, []string{"FailedCreate", "SuccessfulCreate"})
	if e == nil || e.Reason != "FailedCreate" {
		return w
	}
	// The name of the pod that was not created is another one with each try.
	switch detail := newPod.ReplaceAllString(tidy(e.Message), ""); {
	case strings.Contains(detail, "exceeded quota"):
		room, _, _ := strings.Cut(detail, ", used: ")
		w.reason, w.message = v1alpha1.ReasonQuotaExceeded, "Waiting for room in the quota: "+room
	// A webhook that does not answer may answer later, and a service account may still be made; both say "forbidden" too.
	case containsAny(detail, "failed calling webhook", "error looking up service account"):
		w.message = "The pod cannot be created yet: " + detail
	case containsAny(e.Message, "forbidden", "denied the request", "is invalid"):
		w.reason, w.message, w.hopeless = v1alpha1.ReasonRejected, "The pod is refused: "+detail, true
	default:
		w.message = "The pod cannot be created yet: " + detail
	}
	return w
}

// waitingPod is what a pod waits for, from its status.
func waitingPod(pod *corev1.Pod, main string) *waiting {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return unscheduled(c)
		}
	}
	if pod.Spec.NodeName == "" {
		return &waiting{reason: v1alpha1.ReasonUnschedulable, message: "Waiting for a node."}
	}
	for _, c := range pod.Spec.InitContainers {
		s := statusOf(pod.Status.InitContainerStatuses, c.Name)
		if s == nil || s.State.Waiting == nil {
			continue
		}
		if w := waitingContainer(s, c.Image); w != nil {
			return w
		}
	}
	if s := statusOf(pod.Status.ContainerStatuses, main); s != nil && s.State.Waiting != nil {
		if w := waitingContainer(s, imageOf(pod, main)); w != nil {
			return w
		}
	}
	for _, s := range pod.Status.InitContainerStatuses {
		if s.State.Running != nil && !isSidecar(pod, s.Name) {
			return &waiting{reason: v1alpha1.ReasonCannotStart, message: "Running the init container " + s.Name + "."}
		}
	}
	return &waiting{reason: v1alpha1.ReasonCannotStart, message: "Creating the container.", inEvents: pod.UID}
}

// waitingContainer is what a container waits for; nil where it only waits for its turn.
func waitingContainer(s *corev1.ContainerStatus, image string) *waiting {
	detail := tidy(s.State.Waiting.Message)
	switch reason := s.State.Waiting.Reason; reason {
	case "", "ContainerCreating", "PodInitializing":
		return nil
	case "ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		return &waiting{reason: v1alpha1.ReasonImagePullFailed,
			message: sentence("The image "+image+" cannot be pulled", pullCause(detail))}
	case "InvalidImageName":
		return &waiting{reason: v1alpha1.ReasonImagePullFailed, hopeless: true,
			message: "The image name " + image + " is not valid."}
	case "ErrImageNeverPull":
		return &waiting{reason: v1alpha1.ReasonImagePullFailed, hopeless: true,
			message: "The image " + image + " is not on the node, and the tool's imagePullPolicy is Never."}
	default:
		return &waiting{reason: v1alpha1.ReasonCannotStart,
			message: sentence("The container "+s.Name+" cannot be created", cmp.Or(detail, reason))}
	}
}

// failedPod is why a pod is over whose main container never ran.
func failedPod(pod *corev1.Pod, main string) *waiting {
	for _, s := range pod.Status.InitContainerStatuses {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
			return &waiting{reason: v1alpha1.ReasonCannotStart, container: s.Name, message: fmt.Sprintf(
				"The init container %s failed with exit code %d, so that %s never ran.", s.Name, t.ExitCode, main)}
		}
	}
	// The kubelet counts the time that it takes to start in the pod's deadline.
	if pod.Status.Reason == "DeadlineExceeded" {
		w := waitingPod(pod, main)
		if w.reason != v1alpha1.ReasonImagePullFailed {
			w.reason = v1alpha1.ReasonCannotStart
		}
		w.message = "The deadline passed before it ran. " + w.message
		return w
	}
	detail := cmp.Or(tidy(pod.Status.Message), pod.Status.Reason, "it gave no reason")
	return &waiting{reason: v1alpha1.ReasonCannotStart, message: sentence("The node refused the pod", detail)}
}

func unscheduled(c corev1.PodCondition) *waiting {
	w := &waiting{reason: v1alpha1.ReasonUnschedulable, message: "Waiting for a node."}
	switch {
	case c.Reason == corev1.PodReasonSchedulingGated:
		w.message = "Held back by a scheduling gate; waiting until it is lifted."
	case c.Message != "":
		w.message = sentence("Waiting for a node", nodeTrouble(c.Message))
	}
	return w
}

var (
	// "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {a: b}. preemption: ..."
	availability = regexp.MustCompile(`^\d+/\d+ nodes are available: `)
	nodeCount    = regexp.MustCompile(`^\d+ (?:node\(s\) )?`)
	newPod       = regexp.MustCompile(`^Error creating: (?:pods "[^"]*" is forbidden: )?`)
	pullBackOff  = regexp.MustCompile(`^Back-off pulling image "[^"]*"(?:: )?`)
	pullPrefix   = regexp.MustCompile(
		`^(?:ErrImagePull: )?(?:rpc error: code = \w+ desc = )?(?:failed to pull and unpack image "[^"]*": )?`)
	userInfo = regexp.MustCompile(`://[^/@\s]+@`)
	// "lookup registry.example on 10.0.0.10:53: dial udp 10.0.0.10:53: connect: connection refused"
	addresses = regexp.MustCompile(
		`(?: on|:? (?:dial|read|write) (?:tcp|udp)) \d+(?:\.\d+){3}(?::\d+)?(?:->\d+(?:\.\d+){3}:\d+)?`)
	// What the layers of the container runtime put before the cause.
	ociPrefix = regexp.MustCompile(`^.*unable to start container process: `)
	spaces    = regexp.MustCompile(`\s+`)
)

// nodeTrouble puts the scheduler's message in words that stay the same while nodes come and go: without counts, each cause
// once.
func nodeTrouble(message string) string {
	message, _, _ = strings.Cut(availability.ReplaceAllString(message, ""), ". ")
	var causes []string
	for cause := range strings.SplitSeq(strings.TrimSuffix(message, "."), ", ") {
		cause = nodeCount.ReplaceAllString(cause, "")
		cause = strings.Replace(cause, "Insufficient", "insufficient", 1)
		if !slices.Contains(causes, cause) {
			causes = append(causes, cause)
		}
	}
	slices.Sort(causes)
	return tidy(strings.Join(causes, ", "))
}

// pullCause is what both of the kubelet's messages have in common, the one of the failure and the one of the back-off after it,
// so that the task's message does not change to and fro with them.
func pullCause(message string) string {
	return pullPrefix.ReplaceAllString(pullBackOff.ReplaceAllString(message, ""), "")
}

func mountMessage(e *corev1.Event) string {
	if e.Reason == "FailedCreatePodSandBox" {
		return sentence("The pod cannot be set up yet", tidy(e.Message))
	}
	return sentence("A volume cannot be mounted yet", strings.ReplaceAll(tidy(e.Message), " : ", ": "))
}

// lastEvent is the latest of the events that has one of the reasons; nil: there is none.
func lastEvent(events []corev1.Event, reasons []string) *corev1.Event {
	var last *corev1.Event
	for i := range events {
		e := &events[i]
		if slices.Contains(reasons, e.Reason) && (last == nil || eventTime(e).After(eventTime(last))) {
			last = e
		}
	}
	return last
}

func eventTime(e *corev1.Event) time.Time {
	at := e.LastTimestamp.Time
	if e.EventTime.After(at) {
		at = e.EventTime.Time
	}
	if e.Series != nil && e.Series.LastObservedTime.After(at) {
		at = e.Series.LastObservedTime.Time
	}
	return at
}

func imageOf(pod *corev1.Pod, container string) string {
	for _, c := range pod.Spec.Containers {
		if c.Name == container {
			return c.Image
		}
	}
	return ""
}

func containsAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// isSidecar: an init container that keeps running beside the others.
func isSidecar(pod *corev1.Pod, container string) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == container && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	})
}
