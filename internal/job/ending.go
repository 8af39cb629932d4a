package job

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// What Kubernetes keeps of termination messages, in bytes: of one container's, and of all of a pod's together, in equal parts.
const (
	maxContainerMessage = 4096
	maxPodMessages      = 12 << 10
)

// An Ending is how the main container ended.
type Ending struct {
	// ExitCode of the container's process.
	ExitCode int32
	// Signal that ended the process, where the runtime reports it apart from ExitCode; else 0.
	Signal int32
	// OOMKilled: the container, or a process in it, was killed because memory ran out, whatever ExitCode says.
	OOMKilled bool
	// DeadlineExceeded: the kubelet stopped the pod at its activeDeadlineSeconds.
	DeadlineExceeded bool
	// Deadline is the pod's activeDeadlineSeconds; 0 where it has none.
	Deadline time.Duration
	// TerminationMessage is what Kubernetes kept of the container's termination message.
	TerminationMessage string
	// TerminationMessageLimit is how many bytes of it Kubernetes kept at most; 0 stands for 4096.
	TerminationMessageLimit int
}

// EndingOf reads from a pod how its container of that name ended; false while it has not, or where the pod does not say.
func EndingOf(pod *corev1.Pod, container string) (Ending, bool) {
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		if status.Name != container || status.State.Terminated == nil {
			continue
		}
		end := status.State.Terminated
		return Ending{
			ExitCode:                end.ExitCode,
			Signal:                  end.Signal,
			OOMKilled:               end.Reason == "OOMKilled",
			DeadlineExceeded:        pod.Status.Reason == "DeadlineExceeded" && !endedBefore(pod, end),
			Deadline:                deadlineOf(pod),
			TerminationMessage:      end.Message,
			TerminationMessageLimit: messageLimit(pod),
		}, true
	}
	return Ending{}, false
}

// endedBefore reports whether a container ended by itself before the pod's deadline, though the pod, for another container,
// ran into it. Times and deadline are whole seconds.
func endedBefore(pod *corev1.Pod, end *corev1.ContainerStateTerminated) bool {
	deadline := deadlineOf(pod)
	if pod.Status.StartTime == nil || deadline == 0 || end.FinishedAt.IsZero() {
		return false
	}
	return end.FinishedAt.Time.Before(pod.Status.StartTime.Add(deadline))
}

// deadlineOf is how long a pod may run; 0 for as long as it likes.
func deadlineOf(pod *corev1.Pod) time.Duration {
	if pod.Spec.ActiveDeadlineSeconds == nil {
		return 0
	}
	return time.Duration(*pod.Spec.ActiveDeadlineSeconds) * time.Second
}

func messageLimit(pod *corev1.Pod) int {
	containers := len(pod.Spec.Containers) + len(pod.Spec.InitContainers) + len(pod.Spec.EphemeralContainers)
	return min(maxContainerMessage, maxPodMessages/max(containers, 1))
}

// messageFull reports whether the termination message is as long as Kubernetes lets it be, so that more of it is likely lost.
// It may be longer than that: half characters at its ends have been replaced by whole ones.
func (e Ending) messageFull() bool { return len(e.TerminationMessage) >= e.messageLimit() }

func (e Ending) messageLimit() int { return cmp.Or(e.TerminationMessageLimit, maxContainerMessage) }

// Failed reports whether the tool did not succeed.
func (e Ending) Failed() bool {
	return e.ExitCode != 0 || e.Signal != 0 || e.OOMKilled || e.DeadlineExceeded
}

// account says, with the task's reason, in one sentence how a tool ended that did not succeed; the reason is "" where it did.
// What Kubernetes did to the tool explains its exit code, and so comes first.
func (e Ending) account(execution v1alpha1.Execution) (reason, sentence string) {
	switch {
	case e.DeadlineExceeded:
		// The pod's is in whole seconds, and shorter where a binding makes it so.
		deadline := execution.Deadline.Duration
		if e.Deadline > 0 && e.Deadline < deadline {
			deadline = e.Deadline
		}
		return v1alpha1.ReasonDeadlineExceeded, fmt.Sprintf("The tool was stopped because it ran longer than its deadline of %s.",
			DurationText(deadline))
	case e.OOMKilled && e.ExitCode == 0:
		return v1alpha1.ReasonOOMKilled,
			"A process of the tool was killed because memory ran out, though the tool exited with code 0."
	case e.OOMKilled:
		return v1alpha1.ReasonOOMKilled, "The tool was killed because it ran out of memory."
	case e.ExitCode != 0:
		return v1alpha1.ReasonToolError, fmt.Sprintf("The tool exited with code %d%s.", e.ExitCode, e.signal())
	case e.Signal != 0:
		return v1alpha1.ReasonToolError, fmt.Sprintf("The tool was ended by signal %d%s.", e.Signal, e.signal())
	default:
		return "", ""
	}
}

// fate says, as the end of a sentence about one pod of several, how it ended.
func (e Ending) fate(execution v1alpha1.Execution) string {
	switch {
	case e.DeadlineExceeded:
		return "was stopped because it ran longer than the deadline of " + DurationText(execution.Deadline.Duration)
	case e.OOMKilled && e.ExitCode == 0:
		return "exited with code 0, but a process of it was killed because memory ran out"
	case e.OOMKilled:
		return "was killed because it ran out of memory"
	case e.ExitCode == 0 && e.Signal != 0:
		return fmt.Sprintf("was ended by signal %d%s", e.Signal, e.signal())
	default:
		return fmt.Sprintf("exited with code %d%s", e.ExitCode, e.signal())
	}
}

var signals = map[int32]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV",
	13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
}

// signal names the signal that ended the tool, or that its exit code stands for by convention: 128 and the signal's number.
func (e Ending) signal() string {
	number := e.Signal
	if number == 0 && e.ExitCode > 128 {
		number = e.ExitCode - 128
	}
	if name, ok := signals[number]; ok {
		return " (" + name + ")"
	}
	return ""
}
