package listen_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// A23: however the life of tasks and of streams interleave, each stream hears of each task in its order, nothing twice, and
// of its end exactly once.
func TestOrderUnderRandomInterleavings_A23(t *testing.T) {
	const rounds, tasksPerRound, streamsPerRound = 100, 3, 3
	e := newEndpoint(t, endpointOptions{})
	for round := range rounds {
		random := rand.New(rand.NewPCG(1, uint64(round)))
		fence := fmt.Sprintf("t-fence-%d", round)
		e.records.create(fence, alice)
		ids := make([]string, tasksPerRound)
		var all sync.WaitGroup
		for i := range ids {
			ids[i] = fmt.Sprintf("t-%d-%d", round, i)
			e.records.create(ids[i], alice)
			steps, pause := random.IntN(30), random.IntN(50)
			all.Go(func() { live(e.records, ids[i], steps, pause) })
		}
		streams := make([]*reader, streamsPerRound)
		for i := range streams {
			pause := random.IntN(500)
			all.Go(func() {
				yield(pause)
				streams[i] = e.open(t, filterOf(append([]string{fence}, ids...)...))
			})
		}
		all.Wait()
		e.records.say(fence, "all is over")
		for _, stream := range streams {
			if stream == nil {
				t.FailNow() // open has said why
			}
			checkOrder(t, stream, fence, ids)
		}
		e.records.say(fence, "nothing comes after the end")
		for _, stream := range streams {
			stream.expect(t, fence, "nothing comes after the end")
			_ = stream.response.Body.Close()
		}
	}
}

// live leads a task to its end. What it says is the number of the step, in as many digits as sort well.
func live(r *records, id string, steps, pause int) {
	for step := range steps {
		r.change(id, func(t *v1alpha1.MCPTask) {
			t.Status.State = v1alpha1.StateWorking
			if step%3 != 0 { // the others change nothing that clients see
				t.Status.Message = fmt.Sprintf("step %03d", step)
			}
			t.Labels = map[string]string{"step": fmt.Sprint(step)}
		})
		yield(pause)
	}
	r.change(id, func(t *v1alpha1.MCPTask) {
		t.Status.State, t.Status.Result = v1alpha1.StateCompleted, `{"content":[]}`
		t.Status.Message = "the end"
		now := metav1.NowMicro()
		t.Status.FinishedAt = &now
	})
	r.change(id, func(t *v1alpha1.MCPTask) { t.Labels = nil })
}

// yield lets others go first, a number of times.
func yield(times int) {
	for range times {
		runtime.Gosched()
	}
}

// checkOrder reads a stream until the fence, and until all tasks have ended.
func checkOrder(t *testing.T, stream *reader, fence string, ids []string) {
	t.Helper()
	told := map[string]string{}
	ended := 0
	for fenced := false; !fenced || ended < len(ids); {
		message := stream.next(t)
		now := message.task(t)
		before, known := told[now.TaskID]
		told[now.TaskID] = now.StatusMessage
		switch {
		case now.TaskID == fence:
			fenced = now.StatusMessage == "all is over"
		case strings.HasPrefix(before, "the end"):
			t.Fatalf("after its end: %s", message.raw)
		case now.Status == "completed":
			ended++
		case known && before != accepted && now.StatusMessage <= before:
			t.Fatalf("%q came after %q", now.StatusMessage, before)
		}
	}
}
