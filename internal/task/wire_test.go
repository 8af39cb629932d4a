package task

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

func micro(seconds int, micros int) *metav1.MicroTime {
	return &metav1.MicroTime{Time: t0.Add(time.Duration(seconds)*time.Second + time.Duration(micros)*time.Microsecond)}
}

// asking puts two questions on the record.
func (s *scene) asking() *scene {
	s.Task.Status.Questions = map[string]v1alpha1.Question{
		"confirm": {Message: "Sure?", RequestedSchema: `{"type":"object"}`, AskedAt: *micro(3, 0)},
		"reason":  {Message: "Why?", RequestedSchema: `{"type":"object"}`, AskedAt: *micro(3, 0)},
	}
	s.Task.Status.LastUpdatedAt = micro(3, 0)
	return s.record(v1alpha1.StateInputRequired, v1alpha1.ReasonAwaitingInput)
}

func (s *scene) answer(key string, seconds int) *scene {
	if s.Task.Spec.Answers == nil {
		s.Task.Spec.Answers = map[string]v1alpha1.Answer{}
	}
	s.Task.Spec.Answers[key] = v1alpha1.Answer{Action: v1alpha1.AnswerAccept, Content: `{}`, At: *micro(seconds, 0)}
	return s
}

func (s *scene) status(change func(*v1alpha1.MCPTaskStatus)) *scene { change(&s.Task.Status); return s }

// TestWire_T11_T12_T23_T26 compares all of what a client sees, as JSON.
func TestWire_T11_T12_T23_T26(t *testing.T) {
	const common = `"taskId":"t-1","createdAt":"2026-11-30T12:00:00.000000Z","pollIntervalMs":2000`
	for _, c := range []struct {
		name string
		seen *scene
		want string
	}{
		{"the controller has not seen it", newScene(),
			`{` + common + `,"status":"working","statusMessage":"Accepted; waiting to be started.",
			"lastUpdatedAt":"2026-11-30T12:00:00.000000Z","ttlMs":90600000}`},
		{"running", newScene().status(func(s *v1alpha1.MCPTaskStatus) {
			s.State, s.Reason, s.Message, s.LastUpdatedAt = working, v1alpha1.ReasonRunning, "Running.", micro(5, 1500)
		}),
			`{` + common + `,"status":"working","statusMessage":"Running.",
			"lastUpdatedAt":"2026-11-30T12:00:05.001500Z","ttlMs":90600000}`},
		{"asked to cancel, and the controller does not know yet", newScene().started().cancel(),
			`{` + common + `,"status":"working","statusMessage":"Cancel requested; stopping the work: changed my mind",
			"lastUpdatedAt":"2026-11-30T12:00:50.000000Z","ttlMs":90600000}`},
		{"asked to cancel while questions are open", newScene().asking().cancel(),
			`{` + common + `,"status":"working","statusMessage":"Cancel requested; stopping the work: changed my mind",
			"lastUpdatedAt":"2026-11-30T12:00:50.000000Z","ttlMs":90600000}`},
		{"two open questions, one answered", newScene().asking().answer("reason", 9),
			`{` + common + `,"status":"input_required","lastUpdatedAt":"2026-11-30T12:00:09.000000Z","ttlMs":90600000,
			"inputRequests":{"confirm":{"method":"elicitation/create","params":{
				"mode":"form","message":"Sure?","requestedSchema":{"type":"object"}}}}}`},
		{"all answered", newScene().asking().answer("reason", 9).answer("confirm", 11),
			`{` + common + `,"status":"working","statusMessage":"Answer received; going on.",
			"lastUpdatedAt":"2026-11-30T12:00:11.000000Z","ttlMs":90600000}`},
		{"completed", newScene().status(func(s *v1alpha1.MCPTaskStatus) {
			s.State, s.Message, s.Result = completed, "Done.", `{"content":[{"type":"text","text":"1 < 2"}]}`
			s.FinishedAt, s.LastUpdatedAt = micro(10, 200), micro(10, 200)
		}),
			`{` + common + `,"status":"completed","statusMessage":"Done.","result":{"content":[{"type":"text","text":"1 < 2"}]},
			"lastUpdatedAt":"2026-11-30T12:00:10.000200Z","ttlMs":86410001}`},
		{"cancelled when it was completed already", newScene().cancel().status(func(s *v1alpha1.MCPTaskStatus) {
			s.State, s.Message, s.Result, s.FinishedAt, s.LastUpdatedAt = completed, "Done.", `{}`, micro(10, 0), micro(10, 0)
		}),
			`{` + common + `,"status":"completed","statusMessage":"Done.","result":{},
			"lastUpdatedAt":"2026-11-30T12:00:10.000000Z","ttlMs":86410000}`},
		{"failed", newScene().status(func(s *v1alpha1.MCPTaskStatus) {
			s.State, s.Message, s.FinishedAt = failed, "No.", micro(10, 0)
			s.Error = &v1alpha1.TaskError{Code: -32603, Message: "No.", Data: `{"reason":"Rejected"}`}
		}),
			`{` + common + `,"status":"failed","statusMessage":"No.",
			"error":{"code":-32603,"message":"No.","data":{"reason":"Rejected"}},
			"lastUpdatedAt":"2026-11-30T12:00:00.000000Z","ttlMs":86410000}`},
		{"cancelled, with a retention of for ever", newScene().status(func(s *v1alpha1.MCPTaskStatus) {
			s.State, s.Message, s.FinishedAt = cancelled, "Cancelled.", micro(10, 0)
		}).with(func(o *Observation) { o.Task.Spec.Execution.Retention.Task = nil }),
			`{` + common + `,"status":"cancelled","statusMessage":"Cancelled.",
			"lastUpdatedAt":"2026-11-30T12:00:00.000000Z","ttlMs":null}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := json.Marshal(Wire(c.seen.Task, t0.Add(20*time.Second)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, c.want), decode(t, string(got))); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

func decode(t *testing.T, doc string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(doc), &m); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	return m
}

// TestWireKeepsTheResult_A26_T24: what is on the record reaches the client byte for byte, large numbers, escapes and all.
func TestWireKeepsTheResult_A26_T24(t *testing.T) {
	const result = `{"structuredContent":{"id":9007199254740993,"x":1.0,"html":"<b>&amp;</b>"},"content":[]}`
	s := newScene().status(func(s *v1alpha1.MCPTaskStatus) { s.State, s.Result = completed, result })
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(Wire(s.Task, t0)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out.Bytes(), []byte(result)) {
		t.Errorf("the result was changed: %s", out.String())
	}
}

// TestWireCreatedIsOnlyTheTask_T9: an answer to tools/call never carries a result, even if the task is over by then.
func TestWireCreatedIsOnlyTheTask_T9(t *testing.T) {
	s := newScene().status(func(s *v1alpha1.MCPTaskStatus) { s.State, s.Result, s.FinishedAt = completed, `{}`, micro(1, 0) })
	doc, err := json.Marshal(WireCreated(s.Task, t0))
	if err != nil {
		t.Fatal(err)
	}
	got := decode(t, string(doc))
	for _, key := range []string{"result", "error", "inputRequests", "resultType"} {
		if _, ok := got[key]; ok {
			t.Errorf("%s is there: %s", key, doc)
		}
	}
	if got["status"] != "completed" {
		t.Errorf("status %v", got["status"])
	}
}

func TestWireNeverShowsAFailureWithoutAnError_T25(t *testing.T) {
	s := newScene().status(func(s *v1alpha1.MCPTaskStatus) { s.State = failed })
	if e := Wire(s.Task, t0).Error; e == nil || e.Code != -32603 || e.Message == "" {
		t.Errorf("error %+v", e)
	}
}
