package job

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

func TestEndingOf(t *testing.T) {
	start := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	after := func(seconds int) metav1.Time { return metav1.NewTime(start.Add(time.Duration(seconds) * time.Second)) }
	terminated := func(state corev1.ContainerStateTerminated) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{
			{Name: "injected", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			{Name: "main", State: corev1.ContainerState{Terminated: &state}},
		}
	}
	pod := func(status corev1.PodStatus, containers int) *corev1.Pod {
		p := &corev1.Pod{Status: status}
		p.Spec.ActiveDeadlineSeconds = ptr(int64(60))
		p.Spec.Containers = make([]corev1.Container, containers)
		return p
	}
	tests := []struct {
		name string
		pod  *corev1.Pod
		want Ending
		none bool
	}{
		{name: "no status", pod: pod(corev1.PodStatus{Phase: corev1.PodSucceeded}, 1), none: true},
		{name: "evicted without a status", pod: pod(corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}, 1), none: true},
		{name: "running", pod: pod(corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "main"}}}, 1), none: true},
		{name: "other container", pod: pod(corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "other", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}}, 1), none: true},
		{
			name: "exited",
			pod: pod(corev1.PodStatus{ContainerStatuses: terminated(corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error",
				Message: "m"})}, 2),
			want: Ending{ExitCode: 3, TerminationMessage: "m", TerminationMessageLimit: 4096},
		},
		{
			name: "four containers share the room for messages",
			pod:  pod(corev1.PodStatus{ContainerStatuses: terminated(corev1.ContainerStateTerminated{})}, 4),
			want: Ending{TerminationMessageLimit: 3072},
		},
		{
			name: "out of memory",
			pod: pod(corev1.PodStatus{ContainerStatuses: terminated(corev1.ContainerStateTerminated{ExitCode: 137, Signal: 9,
				Reason: "OOMKilled"})}, 1),
			want: Ending{ExitCode: 137, Signal: 9, OOMKilled: true, TerminationMessageLimit: 4096},
		},
		{
			name: "out of memory with code 0",
			pod: pod(corev1.PodStatus{Phase: corev1.PodSucceeded,
				ContainerStatuses: terminated(corev1.ContainerStateTerminated{Reason: "OOMKilled"})}, 1),
			want: Ending{OOMKilled: true, TerminationMessageLimit: 4096},
		},
		{
			name: "killed by somebody",
			pod:  pod(corev1.PodStatus{ContainerStatuses: terminated(corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error"})}, 1),
			want: Ending{ExitCode: 137, TerminationMessageLimit: 4096},
		},
		{
			name: "deadline",
			pod: pod(corev1.PodStatus{Phase: corev1.PodFailed, Reason: "DeadlineExceeded", StartTime: &start,
				ContainerStatuses: terminated(corev1.ContainerStateTerminated{ExitCode: 143, FinishedAt: after(60)})}, 1),
			want: Ending{ExitCode: 143, DeadlineExceeded: true, TerminationMessageLimit: 4096},
		},
		{
			name: "deadline of another container",
			pod: pod(corev1.PodStatus{Phase: corev1.PodFailed, Reason: "DeadlineExceeded", StartTime: &start,
				ContainerStatuses: terminated(corev1.ContainerStateTerminated{FinishedAt: after(59)})}, 1),
			want: Ending{TerminationMessageLimit: 4096},
		},
		{
			name: "deadline at an unknown time",
			pod: pod(corev1.PodStatus{Phase: corev1.PodFailed, Reason: "DeadlineExceeded",
				ContainerStatuses: terminated(corev1.ContainerStateTerminated{ExitCode: 137})}, 1),
			want: Ending{ExitCode: 137, DeadlineExceeded: true, TerminationMessageLimit: 4096},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := EndingOf(tt.pod, "main")
			if ok {
				tt.want.Deadline = time.Minute // of all these pods
			}
			if ok == tt.none || got != tt.want {
				t.Errorf("EndingOf = %+v, %t; want %+v", got, ok, tt.want)
			}
		})
	}
}

func TestAccount(t *testing.T) {
	tests := []struct {
		ending   Ending
		reason   string
		sentence string
	}{
		{Ending{}, "", ""},
		{Ending{ExitCode: 1}, "ToolError", "The tool exited with code 1."},
		{Ending{ExitCode: 2}, "ToolError", "The tool exited with code 2."},
		{Ending{ExitCode: 3}, "ToolError", "The tool exited with code 3."},
		{Ending{ExitCode: 126}, "ToolError", "The tool exited with code 126."},
		{Ending{ExitCode: 127}, "ToolError", "The tool exited with code 127."},
		{Ending{ExitCode: 128}, "ToolError", "The tool exited with code 128."},
		{Ending{ExitCode: 130}, "ToolError", "The tool exited with code 130 (SIGINT)."},
		{Ending{ExitCode: 137}, "ToolError", "The tool exited with code 137 (SIGKILL)."},
		{Ending{ExitCode: 139}, "ToolError", "The tool exited with code 139 (SIGSEGV)."},
		{Ending{ExitCode: 143}, "ToolError", "The tool exited with code 143 (SIGTERM)."},
		{Ending{ExitCode: 255}, "ToolError", "The tool exited with code 255."},
		{Ending{ExitCode: -1}, "ToolError", "The tool exited with code -1."},
		{Ending{Signal: 9}, "ToolError", "The tool was ended by signal 9 (SIGKILL)."},
		{Ending{ExitCode: 137, OOMKilled: true}, "OOMKilled", "The tool was killed because it ran out of memory."},
		{Ending{OOMKilled: true}, "OOMKilled", "A process of the tool was killed because memory ran out, though the tool exited " +
			"with code 0."},
		{Ending{ExitCode: 137, DeadlineExceeded: true}, "DeadlineExceeded",
			"The tool was stopped because it ran longer than its deadline of 1h30m."},
		{Ending{DeadlineExceeded: true}, "DeadlineExceeded", "The tool was stopped because it ran longer than its deadline of 1h30m."},
		{Ending{DeadlineExceeded: true, Deadline: 90 * time.Second}, "DeadlineExceeded",
			"The tool was stopped because it ran longer than its deadline of 1m30s."},
		{Ending{ExitCode: 137, OOMKilled: true, DeadlineExceeded: true}, "DeadlineExceeded",
			"The tool was stopped because it ran longer than its deadline of 1h30m."},
	}
	execution := v1alpha1.Execution{Deadline: metav1.Duration{Duration: 90 * time.Minute}}
	for _, tt := range tests {
		if reason, sentence := tt.ending.account(execution); reason != tt.reason || sentence != tt.sentence {
			t.Errorf("%+v: %s, %q; want %s, %q", tt.ending, reason, sentence, tt.reason, tt.sentence)
		}
	}
}

func TestDurationText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "1s", time.Minute: "1m", time.Hour: "1h", 90 * time.Second: "1m30s", 720 * time.Hour: "720h",
		10 * time.Second:        "10s",
		1500 * time.Millisecond: "1.5s", time.Hour + time.Second: "1h0m1s", 10 * time.Minute: "10m", 20 * time.Hour: "20h",
	} {
		if got := DurationText(d); got != want {
			t.Errorf("DurationText(%v) = %s, want %s", d, got, want)
		}
	}
}
