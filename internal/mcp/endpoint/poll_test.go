package endpoint_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// A11: the longer a task runs, the longer its client is asked to wait; whatever the client learns it by says the same, and
// nothing is written for it.
func TestPollIntervalIsTheSameEverywhere_A11(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Now())
	f := newReplicaAt(t, storetest.New(t, tools()...), now, withKeys)
	call := func() *mcpclient.Task {
		t.Helper()
		outcome, err := f.client(alice, withKey("k")).CallTool(t.Context(), "slow", nil)
		if err != nil {
			t.Fatal(err)
		}
		return outcome.Task
	}
	created := call()
	if created.PollIntervalMs != 2000 {
		t.Errorf("a new task is to be asked for each %d ms", created.PollIntervalMs)
	}
	started := metav1.NewMicroTime(now.Now())
	running := f.cluster.SetStatus(t, "team-a", created.TaskID, func(s *v1alpha1.MCPTaskStatus) {
		s.State, s.Reason, s.Message, s.StartedAt = v1alpha1.StateWorking, v1alpha1.ReasonRunning, "Running.", &started
	})
	for _, c := range []struct {
		run  time.Duration
		want int64
	}{{time.Minute, 4000}, {10 * time.Minute, 30_000}} {
		now.SetTime(started.Add(c.run))
		got, err := f.client(alice).Get(t.Context(), created.TaskID)
		if err != nil {
			t.Fatal(err)
		}
		listener := f.listenTo(t, created.TaskID)
		told, err := listener.Next()
		if err != nil {
			t.Fatal(err)
		}
		for what, ms := range map[string]int64{
			"tasks/get": got.PollIntervalMs, "notifications/tasks": told.Task.PollIntervalMs, "tools/call": call().PollIntervalMs,
		} {
			if ms != c.want {
				t.Errorf("%s says %d ms after %s, want %d", what, ms, c.run, c.want)
			}
		}
	}
	if after := f.cluster.Task(t, "team-a", created.TaskID); after.ResourceVersion != running.ResourceVersion {
		t.Errorf("something was written: %+v", after.Status)
	}
}
