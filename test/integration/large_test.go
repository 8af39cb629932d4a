package integration

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// largest lets a tool's result be as long as any may be.
func largest(t *v1alpha1.MCPTool) { t.Spec.Result.Limit = resource.MustParse("512Ki") }

// The API server refuses objects that take more than about 1.5 MB in etcd. Within JSON "<" takes six bytes: a call and its result
// can be larger there than the limits of both seem to allow.
func TestLarge_B20_CallAndResultEndWithWhatFits(t *testing.T) {
	w := newWorld(t)
	w.logs.set(strings.Repeat("<", 600<<10)+"the end", nil)
	w.controller()
	call := w.newCall(w.tool(largest), `{"text":"`+strings.Repeat("<", v1alpha1.MaxArgumentsBytes-20)+`"}`)
	w.must(admin.Create(w.ctx, call))
	pod := w.pod(call)
	w.runs(pod)
	w.exits(pod, "main", 0)

	done := w.awaitState(call, v1alpha1.StateCompleted)
	text, isError := resultText(t, done)
	if isError || done.Status.Reason != v1alpha1.ReasonSucceeded || !strings.HasSuffix(text, "the end\n") {
		t.Errorf("reason %s, isError %v, and a result of %d bytes", done.Status.Reason, isError, len(done.Status.Result))
	}
	if len(text) < 32<<10 || !strings.Contains(text, "bytes of the output are missing") {
		t.Errorf("of the output there are %d bytes: %.100s", len(text), text)
	}
}

func TestLarge_B20_CallThatLeavesNoRoomForAResult(t *testing.T) {
	w := newWorld(t)
	w.logs.set(strings.Repeat("<", 600<<10), nil)
	w.controller()
	call := w.newCall(w.tool(largest), `{"text":"`+strings.Repeat("<", v1alpha1.MaxArgumentsBytes-20)+`"}`)
	call.Annotations = map[string]string{"example.org/somebodys-own": strings.Repeat("x", 250<<10)}
	w.must(admin.Create(w.ctx, call))
	pod := w.pod(call)
	w.runs(pod)
	w.exits(pod, "main", 0)

	done := w.awaitState(call, v1alpha1.StateCompleted)
	text, isError := resultText(t, done)
	if !isError || done.Status.Reason != v1alpha1.ReasonInvalidOutput || !strings.Contains(text, "cannot be stored") {
		t.Errorf("reason %s, isError %v: %.200s", done.Status.Reason, isError, text)
	}
}
