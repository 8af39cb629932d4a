package integration

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// change patches a task's spec or status and returns the API server's word on it.
func (w *world) change(t *v1alpha1.MCPTask, change func(*v1alpha1.MCPTask)) error {
	w.Helper()
	before := &v1alpha1.MCPTask{}
	w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(t), before))
	after := before.DeepCopy()
	change(after)
	return admin.Patch(w.ctx, after, client.MergeFrom(before))
}

func (w *world) changeStatus(t *v1alpha1.MCPTask, change func(*v1alpha1.MCPTaskStatus)) error {
	w.Helper()
	before := &v1alpha1.MCPTask{}
	w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(t), before))
	after := before.DeepCopy()
	change(&after.Status)
	return admin.Status().Patch(w.ctx, after, client.MergeFrom(before))
}

// wantRefused checks that the API server refused a change, in words.
func wantRefused(t *testing.T, err error, says string) {
	t.Helper()
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want a refusal that says %q", err, says)
	}
}

func TestValidationTheCallIsImmutable(t *testing.T) {
	w := newWorld(t)
	call := w.call(w.tool())
	for says, change := range map[string]func(*v1alpha1.MCPTask){
		"spec.tool is immutable":      func(t *v1alpha1.MCPTask) { t.Spec.Tool.Generation++ },
		"spec.arguments is immutable": func(t *v1alpha1.MCPTask) { t.Spec.Arguments = `{}` },
		"spec.owner is immutable":     func(t *v1alpha1.MCPTask) { t.Spec.Owner.Subject = "mallory" },
		"spec.execution":              func(t *v1alpha1.MCPTask) { t.Spec.Execution.Deadline.Duration = 2 * time.Hour },
		"and spec.result":             func(t *v1alpha1.MCPTask) { t.Spec.Result.Container = "other" },
		"spec.traceparent": func(t *v1alpha1.MCPTask) {
			t.Spec.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		},
	} {
		wantRefused(t, w.change(call, change), says)
	}
}

func TestValidationCancelCannotBeTakenBack(t *testing.T) {
	w := newWorld(t)
	call := w.call(w.tool())
	w.cancel(call)
	wantRefused(t, w.change(call, func(t *v1alpha1.MCPTask) { t.Spec.Cancel = nil }), "spec.cancel cannot be changed")
	wantRefused(t, w.change(call, func(t *v1alpha1.MCPTask) { t.Spec.Cancel.By = "mallory" }), "spec.cancel cannot be changed")
}

func TestValidationAnswers(t *testing.T) {
	w := newWorld(t)
	call := w.call(w.tool())
	answer := func(key string, action v1alpha1.AnswerAction) func(*v1alpha1.MCPTask) {
		return func(t *v1alpha1.MCPTask) {
			if t.Spec.Answers == nil {
				t.Spec.Answers = map[string]v1alpha1.Answer{}
			}
			t.Spec.Answers[key] = v1alpha1.Answer{Action: action, At: metav1.NowMicro()}
		}
	}
	wantRefused(t, w.change(call, answer("confirm", v1alpha1.AnswerDecline)), "may only answer questions")
	w.must(w.changeStatus(call, func(s *v1alpha1.MCPTaskStatus) {
		s.State, s.Reason = v1alpha1.StateInputRequired, v1alpha1.ReasonAwaitingInput
		s.Questions = map[string]v1alpha1.Question{
			"confirm": {Message: "Sure?", RequestedSchema: `{"type":"object"}`, AskedAt: metav1.NowMicro()},
		}
	}))
	wantRefused(t, w.change(call, answer("other", v1alpha1.AnswerDecline)), "may only answer questions")
	w.must(w.change(call, answer("confirm", v1alpha1.AnswerDecline)))
	wantRefused(t, w.change(call, answer("confirm", v1alpha1.AnswerAccept)), "cannot be changed or taken back")
	wantRefused(t, w.change(call, func(t *v1alpha1.MCPTask) { t.Spec.Answers = nil }), "cannot be changed or taken back")
}

func TestValidationTheEndIsTheEnd(t *testing.T) {
	w := newWorld(t)
	tool := w.tool()
	call := w.call(tool)
	set := func(state v1alpha1.TaskState, result string) func(*v1alpha1.MCPTaskStatus) {
		return func(s *v1alpha1.MCPTaskStatus) { s.State, s.Result = state, result }
	}
	wantRefused(t, w.changeStatus(call, set(v1alpha1.StateCompleted, "")), "status.result goes with")
	wantRefused(t, w.changeStatus(call, set(v1alpha1.StateWorking, `{}`)), "status.result goes with")
	wantRefused(t, w.changeStatus(call, set(v1alpha1.StateFailed, "")), "status.error goes with")
	w.must(w.changeStatus(call, set(v1alpha1.StateCompleted, `{"content":[]}`)))
	for says, change := range map[string]func(*v1alpha1.MCPTaskStatus){
		"does not change its state": func(s *v1alpha1.MCPTaskStatus) { s.State, s.Result = v1alpha1.StateWorking, "" },
		"status.result is final":    func(s *v1alpha1.MCPTaskStatus) { s.Result = `{"content":[],"isError":true}` },
		"a finished task":           func(s *v1alpha1.MCPTaskStatus) { *s = v1alpha1.MCPTaskStatus{} },
	} {
		wantRefused(t, w.changeStatus(call, change), says)
	}

	gone := w.call(tool)
	w.must(w.changeStatus(gone, func(s *v1alpha1.MCPTaskStatus) {
		s.State, s.Error = v1alpha1.StateFailed, &v1alpha1.TaskError{Code: -32603, Message: "no"}
	}))
	wantRefused(t, w.changeStatus(gone, func(s *v1alpha1.MCPTaskStatus) { s.Error.Message = "yes" }), "status.error is final")
}

func TestValidationLimits(t *testing.T) {
	w := newWorld(t)
	for says, change := range map[string]func(*v1alpha1.MCPTool){
		"blockFor":        func(t *v1alpha1.MCPTool) { t.Spec.Execution.BlockFor.Duration = time.Hour },
		"pollInterval":    func(t *v1alpha1.MCPTool) { t.Spec.Execution.PollInterval.Duration = time.Millisecond },
		"startupDeadline": startsWithin(48 * time.Hour),
		"deadline must":   func(t *v1alpha1.MCPTool) { t.Spec.Execution.Deadline.Duration = 800 * time.Hour },
		"retention.task":  kept(time.Millisecond, time.Hour),
		"spec.name":       called("no spaces"),
	} {
		err := admin.Create(w.ctx, w.newTool(named("limits"), change))
		wantRefused(t, err, says)
	}
	long := w.newCall(w.tool(), `{"text":"`+strings.Repeat("x", v1alpha1.MaxArgumentsBytes)+`"}`)
	wantRefused(t, admin.Create(w.ctx, long), "spec.arguments")
}
