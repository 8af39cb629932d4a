package task

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// states are all that status.state may be.
var states = []v1alpha1.TaskState{
	"", v1alpha1.StateWorking, v1alpha1.StateInputRequired, v1alpha1.StateCompleted, v1alpha1.StateFailed, v1alpha1.StateCancelled,
}

// seen decodes all of what clients get to see, as a client does.
type seen struct {
	TaskID         *string                    `json:"taskId"`
	Status         string                     `json:"status"`
	StatusMessage  string                     `json:"statusMessage"`
	CreatedAt      time.Time                  `json:"createdAt"`
	LastUpdatedAt  time.Time                  `json:"lastUpdatedAt"`
	TTLMs          *int64                     `json:"ttlMs"`
	PollIntervalMs *int64                     `json:"pollIntervalMs"`
	Result         json.RawMessage            `json:"result"`
	Error          *Error                     `json:"error"`
	InputRequests  map[string]json.RawMessage `json:"inputRequests"`
}

// FuzzWire shows any task that the API server lets exist to a client: what it is shown is valid, and has exactly what its status
// asks for (T-9, T-11, T-12, T-23 to T-26).
func FuzzWire(f *testing.F) {
	f.Add(byte(1), byte(0), "Running.", `{}`, int32(90), int32(10), int32(100), uint32(0))
	f.Add(byte(2), byte(0b01_11), "", `{"content":[{"type":"text","text":"\u2028"}]}`, int32(-5), int32(0), int32(3), uint32(7))
	f.Add(byte(3), byte(0b1_0000), "Done.\x00\xff", `{"structuredContent":1e400}`, int32(5), int32(5), int32(4), uint32(1<<31))
	f.Add(byte(4), byte(0b11_1111), "<No> & \u2028", `{"reason":"Rejected"}`,
		int32(1<<30), int32(-1<<31), int32(1<<31-1), uint32(99))
	f.Fuzz(func(t *testing.T, state, flags byte, text, document string, started, updated, now int32, limits uint32) {
		task := recorded(states[int(state)%len(states)], flags, text, document, started, updated, limits)
		at := t0.Add(time.Duration(now) * time.Second)
		view := Wire(task, at)
		if diff := cmp.Diff(view, Wire(task, at)); diff != "" {
			t.Fatalf("two views of one task: %s", diff)
		}
		if diff := cmp.Diff(view.Created, WireCreated(task, at)); diff != "" {
			t.Fatalf("tools/call says something else than tasks/get: %s", diff)
		}
		if later := Wire(task, at.Add(time.Hour)); task.Status.State.Terminal() && !cmp.Equal(view, later) {
			t.Fatalf("a task that has ended changes: %s", cmp.Diff(view, later))
		}
		encoded, err := json.Marshal(view)
		if err != nil || !utf8.Valid(encoded) {
			t.Fatalf("%v: %q", err, encoded)
		}
		var got seen
		if err := json.Unmarshal(encoded, &got); err != nil {
			t.Fatalf("%v: %s", err, encoded)
		}
		checkSeen(t, task, got)
	})
}

// recorded is a task as the API server would take it.
func recorded(
	state v1alpha1.TaskState, flags byte, text, document string, started, updated int32, limits uint32,
) *v1alpha1.MCPTask {
	if !json.Valid([]byte(document)) || !utf8.ValidString(document) || !strings.HasPrefix(document, "{") {
		document = `{}`
	}
	task := newScene().Task
	at := func(seconds int32) *metav1.MicroTime {
		return &metav1.MicroTime{Time: t0.Add(time.Duration(seconds) * time.Second)}
	}
	e := &task.Spec.Execution
	e.PollInterval.Duration = time.Duration(limits%3_600_000) * time.Millisecond // 0: an object that was written without it
	e.MaxPollInterval.Duration = time.Duration(limits/7%3_600_000) * time.Millisecond
	e.Retries = int32(limits % 21)
	e.Retention.Task.Duration = time.Duration(limits%(8760*3600)+1) * time.Second
	if flags&1 != 0 {
		e.Retention.Task = nil
	}
	s := &task.Status
	s.State, s.Message, s.LastUpdatedAt = state, strings.ToValidUTF8(text, "�"), at(updated)
	if flags&2 != 0 {
		s.StartedAt = at(started)
	}
	switch state {
	case v1alpha1.StateCompleted:
		s.Result, s.FinishedAt = document, at(updated)
	case v1alpha1.StateFailed:
		s.Error, s.FinishedAt = &v1alpha1.TaskError{Code: -32603, Message: s.Message, Data: document}, at(updated)
	case v1alpha1.StateCancelled:
		s.FinishedAt = at(updated)
	case v1alpha1.StateInputRequired:
		s.Questions = map[string]v1alpha1.Question{}
		for i, key := range []string{"a", "b", s.Message} {
			s.Questions[key] = v1alpha1.Question{Message: s.Message, RequestedSchema: document, AskedAt: *at(updated)}
			if flags&(4<<i) != 0 {
				if task.Spec.Answers == nil {
					task.Spec.Answers = map[string]v1alpha1.Answer{}
				}
				task.Spec.Answers[key] = v1alpha1.Answer{Action: v1alpha1.AnswerDecline, At: *at(started)}
			}
		}
	}
	if flags&32 != 0 {
		task.Spec.Cancel = &v1alpha1.Cancellation{At: *at(started), By: "agent", Reason: s.Message}
	}
	return task
}

// checkSeen checks what the rules of the extension ask of every task.
func checkSeen(t *testing.T, task *v1alpha1.MCPTask, got seen) {
	t.Helper()
	state := v1alpha1.TaskState(got.Status)
	open := OpenQuestions(task)
	switch {
	case got.TaskID == nil || *got.TaskID != task.Name:
		t.Fatalf("taskId %v", got.TaskID)
	case !state.Terminal() && state != v1alpha1.StateWorking && state != v1alpha1.StateInputRequired:
		t.Fatalf("status %q", state)
	case task.Status.State.Terminal() && state != task.Status.State:
		t.Fatalf("status %q after the end, which was %q", state, task.Status.State)
	case (state == v1alpha1.StateCompleted) != (got.Result != nil):
		t.Fatalf("status %q with result %q", state, got.Result)
	case state == v1alpha1.StateCompleted && string(got.Result) != compact(t, task.Status.Result):
		t.Fatalf("result %q became %q", task.Status.Result, got.Result)
	case (state == v1alpha1.StateFailed) != (got.Error != nil):
		t.Fatalf("status %q with error %v", state, got.Error)
	case (state == v1alpha1.StateInputRequired) != (len(got.InputRequests) > 0) || len(got.InputRequests) != len(open):
		t.Fatalf("status %q with %d input requests of %d", state, len(got.InputRequests), len(open))
	case task.Spec.Cancel != nil && state == v1alpha1.StateInputRequired:
		t.Fatal("a task that is to be cancelled asks something")
	case (got.TTLMs == nil) != (task.Spec.Execution.Retention.Task == nil) || got.TTLMs != nil && *got.TTLMs <= 0:
		t.Fatalf("ttlMs %v", got.TTLMs)
	case got.PollIntervalMs == nil || *got.PollIntervalMs <= 0 || *got.PollIntervalMs > time.Hour.Milliseconds():
		t.Fatalf("pollIntervalMs %v", got.PollIntervalMs)
	case !got.CreatedAt.Equal(task.CreationTimestamp.Time) || got.LastUpdatedAt.Before(got.CreatedAt):
		t.Fatalf("created %s, last updated %s", got.CreatedAt, got.LastUpdatedAt)
	}
	for key := range got.InputRequests {
		if _, answered := task.Spec.Answers[key]; answered {
			t.Fatalf("question %q is asked again", key)
		}
	}
}

// compact is what encoding/json makes of JSON that is embedded: the same values with less space between them.
func compact(t *testing.T, document string) string {
	t.Helper()
	out, err := json.Marshal(json.RawMessage(document))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
