package task

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

func TestTTL_A16_T11(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name string
		seen *scene
		want time.Duration
	}{
		{"while it can run: start, run, retention", newScene(), 10*time.Minute + time.Hour + day},
		{"with retries: each attempt, and the waits between", newScene().job().retries(2),
			3*(10*time.Minute+time.Hour) + 10*time.Second + 20*time.Second + day},
		{"with questions: the time for answers, too",
			newScene().declaring(twoQuestions...), 48*time.Hour + 10*time.Minute + time.Hour + day},
		{"at its end: the time it took and the retention", newScene().status(ended(90, 0)), 90*time.Second + day},
		{"ended by a clock behind the API server's", newScene().status(ended(-5, 0)), day},
		{"ended without a time", newScene().record(completed, ""), 10*time.Minute + time.Hour + day},
	} {
		if got := TTL(c.seen.Task); got == nil || *got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	forever := newScene().with(func(o *Observation) { o.Task.Spec.Execution.Retention.Task = nil })
	if got := TTL(forever.Task); got != nil {
		t.Errorf("without retention: %v, want none", got)
	}
	if got := ExpiresAt(forever.Task, t0); got != nil {
		t.Errorf("without retention: expires at %v, want never", got)
	}
}

func ended(seconds, micros int) func(*v1alpha1.MCPTaskStatus) {
	return func(s *v1alpha1.MCPTaskStatus) { s.State, s.FinishedAt = completed, micro(seconds, micros) }
}

// TestNothingExpiresBeforeItsTTL_A16_T60: expiresAt holds whole seconds, the TTL milliseconds.
func TestNothingExpiresBeforeItsTTL_A16_T60(t *testing.T) {
	for _, micros := range []int{0, 1, 500_000, 999_999} {
		s := newScene().status(ended(10, micros))
		expires := ExpiresAt(s.Task, s.Task.Status.FinishedAt.Time)
		readable := s.Task.CreationTimestamp.Add(*TTL(s.Task))
		if expires.Time.Before(readable) || expires.Sub(readable) >= time.Second {
			t.Errorf("finished at 10 s + %d µs: expires at %v, readable until %v", micros, expires, readable)
		}
		if expires.Nanosecond() != 0 {
			t.Errorf("expiresAt %v is no whole second", expires)
		}
	}
}

// TestTheLongestTTLDoesNotOverflow_A16 uses the largest values that the API accepts.
func TestTheLongestTTLDoesNotOverflow_A16(t *testing.T) {
	s := newScene().with(func(o *Observation) {
		o.Task.Spec.Execution.StartupDeadline.Duration = 24 * time.Hour
		o.Task.Spec.Execution.Deadline.Duration = 720 * time.Hour
		o.Task.Spec.Execution.Retries = 20
		o.Task.Spec.Execution.Retention.Task = &metav1.Duration{Duration: 8760 * time.Hour}
	})
	got := Wire(s.Task, t0).TTLMs
	if got == nil || *got < (21*744*time.Hour+8760*time.Hour).Milliseconds() {
		t.Errorf("ttlMs %v", got)
	}
}

func TestRetryDelay(t *testing.T) {
	for failed, want := range map[int32]time.Duration{
		0: 0, 1: 10 * time.Second, 2: 20 * time.Second, 6: 320 * time.Second, 7: 10 * time.Minute, 20: 10 * time.Minute,
	} {
		if got := retryDelay(failed); got != want {
			t.Errorf("after %d failures: %v, want %v", failed, got, want)
		}
	}
}
