package task

import (
	"testing"
	"time"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// polled makes a task's poll interval bounded by least and most; 0: not set.
func (s *scene) polled(least, most time.Duration) *scene {
	s.Task.Spec.Execution.PollInterval.Duration = least
	s.Task.Spec.Execution.MaxPollInterval.Duration = most
	return s
}

func (s *scene) startedAt(seconds int) *scene {
	return s.status(func(status *v1alpha1.MCPTaskStatus) {
		status.State, status.Reason = working, v1alpha1.ReasonRunning
		status.StartedAt, status.LastUpdatedAt = micro(seconds, 0), micro(seconds, 0)
	})
}

func TestPollInterval(t *testing.T) {
	running := func() *scene { return newScene().startedAt(60) }
	waiting := func(seconds int) *scene {
		return newScene().status(func(s *v1alpha1.MCPTaskStatus) {
			s.State, s.Reason, s.LastUpdatedAt = working, v1alpha1.ReasonStarting, micro(seconds, 0)
		})
	}
	for _, c := range []struct {
		name string
		seen *scene
		at   time.Duration // since the task's creation
		want time.Duration
	}{
		{"just created", newScene(), 0, 2 * time.Second},
		{"a clock behind the API server's", newScene(), -time.Hour, 2 * time.Second},
		{"waiting for its start for 39 s", newScene(), 39 * time.Second, 2 * time.Second},
		{"waiting for its start for 41 s", newScene(), 41 * time.Second, 4 * time.Second},
		{"waiting, with news just now", waiting(600), 601 * time.Second, 2 * time.Second},
		{"queued for a day", waiting(0), 24 * time.Hour, 30 * time.Second},
		{"started just now, after long waiting", newScene().startedAt(3600), 3601 * time.Second, 2 * time.Second},
		{"running for 39 s", running(), 99 * time.Second, 2 * time.Second},
		{"running for 40 s", running(), 100 * time.Second, 4 * time.Second},
		{"running for 80 s", running(), 140 * time.Second, 8 * time.Second},
		{"running for 299 s", running(), 359 * time.Second, 16 * time.Second},
		{"running for 5 min", running(), 6 * time.Minute, 30 * time.Second},
		{"running for a month", running(), 720 * time.Hour, 30 * time.Second},
		{"running, with news just now", running().status(func(s *v1alpha1.MCPTaskStatus) {
			s.Message, s.LastUpdatedAt = "17 of 50 done.", micro(659, 0)
		}), 660 * time.Second, 30 * time.Second},
		{"asked to cancel just now, after a long run", running().cancel(), 51 * time.Second, 2 * time.Second},
		{"input_required since a day", newScene().asking(), 24 * time.Hour, 30 * time.Second},
		{"answered just now", newScene().asking().answer("confirm", 3600).answer("reason", 3600), 3600 * time.Second, 2 * time.Second},
		{"ended long ago", running().status(func(s *v1alpha1.MCPTaskStatus) { s.State = completed }), time.Hour, 2 * time.Second},
		{"bounds that are equal", running().polled(5*time.Second, 5*time.Second), time.Hour, 5 * time.Second},
		{"short bounds", running().polled(100*time.Millisecond, time.Second), 69 * time.Second, 800 * time.Millisecond},
		{"short bounds, later", running().polled(100*time.Millisecond, time.Second), 70 * time.Second, time.Second},
		{"longer than the default of the most", running().polled(time.Minute, 0), time.Hour, time.Minute},
		{"a most that was set", running().polled(time.Second, time.Hour), 61 * time.Minute, 256 * time.Second},
		{"an object without either, started just now", running().polled(0, 0), time.Minute, 2 * time.Second},
		{"an object without either", running().polled(0, 0), time.Hour, 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := PollInterval(c.seen.Task, t0.Add(c.at)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// A11: the longer a task runs, the longer a client is asked to wait, within the tool's bounds; and the wait is never more than a
// tenth of the time that the task has run, once that is long enough for the least.
func TestPollIntervalGrows_A11(t *testing.T) {
	const least, most = 300 * time.Millisecond, 7 * time.Minute
	s := newScene().startedAt(0).polled(least, most)
	last := time.Duration(0)
	for run := time.Duration(0); run < 100*time.Hour; run += run/7 + time.Millisecond {
		got := PollInterval(s.Task, t0.Add(run))
		if got < last || got < least || got > most || (got > least && got > run/10) {
			t.Fatalf("%s after %s, and %s before that", got, run, last)
		}
		last = got
	}
	if last != most {
		t.Errorf("%s in the end, want %s", last, most)
	}
}
