package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/task"
)

// asks adds a question with the answer {"ok": boolean}, which must be true.
func asks(key string) func(*v1alpha1.MCPTool) {
	return func(tool *v1alpha1.MCPTool) {
		tool.Spec.Questions = append(tool.Spec.Questions, v1alpha1.ToolQuestion{
			Key:       key,
			Message:   fmt.Sprintf("'%s for ' + arguments.text + '?'", key),
			Schema:    &apiextensionsv1.JSON{Raw: []byte(`{"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"}}}`)},
			ProceedIf: "answer.ok",
		})
	}
}

// ask creates a task of a tool with questions, and waits until it asks.
func (w *world) ask(changes ...func(*v1alpha1.MCPTool)) *v1alpha1.MCPTask {
	w.Helper()
	return w.awaitState(w.call(w.tool(changes...)), v1alpha1.StateInputRequired)
}

// answers records answers as the endpoint does, by key: the action, and after a blank the content.
func (w *world) answers(t *v1alpha1.MCPTask, answers map[string]string) {
	w.Helper()
	w.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		now := &v1alpha1.MCPTask{}
		w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(t), now))
		changed := now.DeepCopy()
		if changed.Spec.Answers == nil {
			changed.Spec.Answers = map[string]v1alpha1.Answer{}
		}
		for key, answer := range answers {
			action, content, _ := strings.Cut(answer, " ")
			changed.Spec.Answers[key] = v1alpha1.Answer{
				Action: v1alpha1.AnswerAction(action), Content: content, At: metav1.NowMicro(),
			}
		}
		return admin.Patch(w.ctx, changed, client.MergeFromWithOptions(now, client.MergeFromWithOptimisticLock{}))
	}))
}

// wantNothingRun checks that the task never had a Job, and so never a pod.
func (w *world) wantNothingRun(t *v1alpha1.MCPTask) {
	w.Helper()
	if n := w.jobsOf(t); n != 0 {
		w.Errorf("task %s had %d Jobs, want none", t.Name, n)
	}
	var pods corev1.PodList
	w.must(admin.List(w.ctx, &pods, client.InNamespace(w.ns), client.MatchingLabels{v1alpha1.LabelTask: t.Name}))
	if len(pods.Items) != 0 {
		w.Errorf("task %s has %d pods, want none", t.Name, len(pods.Items))
	}
}

// A12: several questions at once, answered one by one; then the Job, which has the answers.
func TestQuestionsFromAskingToTheJob_A12(t *testing.T) {
	w := newWorld(t)
	w.controller()
	asked := w.ask(asks("first"), asks("second"))
	if q := asked.Status.Questions; len(q) != 2 || q["first"].Message != "first for hello?" || q["second"].AnswerBy == nil {
		t.Errorf("asks %+v", q)
	}
	if asked.Status.Reason != v1alpha1.ReasonAwaitingInput || asked.Status.Job != nil {
		t.Errorf("status %+v", asked.Status)
	}

	w.answers(asked, map[string]string{"second": `accept {"ok": true}`})
	partly := await(w, asked, "the answer to be counted in", func(t *v1alpha1.MCPTask) bool {
		return strings.Contains(t.Status.Message, "first for hello?")
	})
	if open := task.Wire(partly, time.Now()).InputRequests; len(open) != 1 || open["first"].Params.Message == "" {
		t.Errorf("after a part of the answers, open are %+v", open)
	}
	if partly.Status.State != v1alpha1.StateInputRequired {
		t.Errorf("state %s", partly.Status.State)
	}
	w.wantNothingRun(asked)

	w.answers(asked, map[string]string{"first": `accept {"ok":true,"more":[1]}`})
	job := w.job(asked)
	annotations := job.Spec.Template.Annotations
	const want = `{"first":{"action":"accept","content":{"ok":true,"more":[1]}},"second":{"action":"accept","content":{"ok":true}}}`
	if got := annotations[v1alpha1.AnnotationAnswers]; got != want {
		t.Errorf("the Job has the answers %s, want %s", got, want)
	}
	env := map[string]string{}
	for _, v := range job.Spec.Template.Spec.Containers[0].Env {
		env[v.Name] = v.Value
	}
	if env["MCP_ANSWER_FIRST_OK"] != "true" || env["MCP_ARG_TEXT"] != "hello" {
		t.Errorf("the container has %v", env)
	}
	pod := w.pod(asked)
	w.runs(pod)
	w.exits(pod, "main", 0)
	done := w.awaitState(asked, v1alpha1.StateCompleted)
	if len(done.Status.Questions) != 2 || len(done.Spec.Answers) != 2 {
		t.Errorf("questions and answers are not kept: %+v, %+v", done.Status.Questions, done.Spec.Answers)
	}
	w.wantOneJob(asked)
}

// A13: only a clear yes runs anything.
func TestQuestionsWithoutConsent_A13(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		state  v1alpha1.TaskState
		reason string
	}{
		"accepted with no": {`accept {"ok":false}`, v1alpha1.StateCompleted, v1alpha1.ReasonDeclined},
		"declined":         {"decline", v1alpha1.StateCompleted, v1alpha1.ReasonDeclined},
		"dismissed":        {"cancel", v1alpha1.StateCancelled, v1alpha1.ReasonQuestionCancelled},
		// Never lets anything run, should it get onto the record in spite of the endpoint.
		"accepted with nothing": {"accept", v1alpha1.StateFailed, v1alpha1.ReasonRejected},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.controller()
			asked := w.ask(asks("sure"), asks("other"))
			w.answers(asked, map[string]string{"sure": c.answer})
			done := w.awaitState(asked, c.state)
			if done.Status.Reason != c.reason {
				t.Errorf("reason %s (%s), want %s", done.Status.Reason, done.Status.Message, c.reason)
			}
			if c.state == v1alpha1.StateCompleted {
				if text, isError := resultText(t, done); !isError || !strings.Contains(text, "Nothing was run") {
					t.Errorf("result %s", done.Status.Result)
				}
			}
			w.wantNothingRun(asked)
		})
	}
}

func TestQuestionsCancelWhileWaiting_A10(t *testing.T) {
	w := newWorld(t)
	w.controller()
	asked := w.ask(asks("sure"))
	w.cancel(asked)
	w.awaitReason(asked, v1alpha1.ReasonCancelled)
	w.wantNothingRun(asked)
}

// A35: nobody answers for a weekend, and the controller does not run for most of it.
func TestQuestionsOutliveTheController_A35(t *testing.T) {
	w := newWorld(t)
	now := time.Now().Truncate(time.Second)
	clock := testclock.NewFakePassiveClock(now)
	at := func(s *setup) { s.options.Clock = clock }
	stop := w.controller(at)
	threeDays := func(tool *v1alpha1.MCPTool) {
		tool.Spec.Questions[0].Deadline = &metav1.Duration{Duration: 4 * 24 * time.Hour}
	}
	patient := w.ask(named("patient"), asks("sure"), threeDays)
	hasty := w.ask(named("hasty"), asks("sure"))
	stop()

	clock.SetTime(now.Add(24*time.Hour + time.Second))
	stop = w.controller(at)
	expired := w.awaitReason(hasty, v1alpha1.ReasonQuestionExpired)
	if expired.Status.State != v1alpha1.StateCancelled || !strings.Contains(expired.Status.Message, "within 24h") {
		t.Errorf("status %+v", expired.Status)
	}
	stop()

	clock.SetTime(now.Add(3 * 24 * time.Hour))
	before := &v1alpha1.MCPTask{}
	w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(patient), before))
	if before.ResourceVersion != patient.ResourceVersion {
		t.Errorf("a task that waits was written to: %+v", before.Status)
	}
	w.wantNothingRun(patient)
	w.wantNothingRun(hasty)
	w.answers(patient, map[string]string{"sure": `accept {"ok":true}`})
	w.controller(at)
	w.job(patient)
	w.wantOneJob(patient)
}

func TestQuestionsExpireByThemselves(t *testing.T) {
	w := newWorld(t)
	w.controller()
	asked := w.ask(asks("sure"), func(tool *v1alpha1.MCPTool) {
		tool.Spec.Questions[0].Deadline = &metav1.Duration{Duration: 2 * time.Second}
	})
	done := w.awaitReason(asked, v1alpha1.ReasonQuestionExpired)
	if took := done.Status.FinishedAt.Sub(asked.Status.Questions["sure"].AskedAt.Time); took < 2*time.Second {
		t.Errorf("given up after %v", took)
	}
	w.wantNothingRun(asked)
}

// What a person was asked about must be what is run.
func TestQuestionsEndWithTheirTool(t *testing.T) {
	for name, end := range map[string]func(w *world, tool *v1alpha1.MCPTool){
		"changed": func(w *world, tool *v1alpha1.MCPTool) {
			patch := client.MergeFrom(tool.DeepCopy())
			tool.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args = []string{"--force"}
			w.must(admin.Patch(w.ctx, tool, patch))
		},
		"removed": func(w *world, tool *v1alpha1.MCPTool) { w.must(admin.Delete(w.ctx, tool)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.controller()
			tool := w.tool(asks("sure"))
			asked := w.awaitState(w.call(tool), v1alpha1.StateInputRequired)
			w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(tool), tool))
			end(w, tool)
			done := w.awaitState(asked, v1alpha1.StateFailed)
			if done.Status.Reason != v1alpha1.ReasonToolChanged {
				t.Errorf("status %+v", done.Status)
			}
			w.wantNothingRun(asked)
		})
	}
}

// Answers that came with the call are counted in from the beginning.
func TestQuestionsAnsweredWithTheCall(t *testing.T) {
	w := newWorld(t)
	w.controller()
	tool := w.tool(asks("sure"), func(tool *v1alpha1.MCPTool) { tool.Spec.Questions[0].Ask = v1alpha1.AskCall })
	call := w.newCall(tool, `{"text":"hello"}`)
	call.Spec.CallAnswers = map[string]v1alpha1.Answer{
		"sure": {Action: v1alpha1.AnswerAccept, Content: `{"ok":true}`, At: metav1.NowMicro()},
	}
	w.must(admin.Create(w.ctx, call))
	job := w.job(call)
	if got := job.Spec.Template.Annotations[v1alpha1.AnnotationAnswers]; !strings.Contains(got, `"ok":true`) {
		t.Errorf("the Job has the answers %s", got)
	}
}

func TestQuestionsOfATool(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.MCPTool)
		says   string
	}{
		"no such argument": {func(tool *v1alpha1.MCPTool) {
			tool.Spec.Questions[0].Message = "arguments.txt"
		}, "undefined field 'txt'"},
		"a secret": {func(tool *v1alpha1.MCPTool) {
			tool.Spec.Questions[0].Schema.Raw = []byte(`{"type":"object","properties":{"password":{"type":"string"}}}`)
			tool.Spec.Questions[0].ProceedIf = ""
		}, "must not ask for passwords"},
		"nobody gets a task": {func(tool *v1alpha1.MCPTool) { tool.Spec.Execution.Mode = v1alpha1.ModeForbidden }, "use ask: Call"},
		"good":               {func(*v1alpha1.MCPTool) {}, "Agents can call the tool."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.controller()
			tool := await(w, w.tool(asks("sure"), c.change), "its check", func(tool *v1alpha1.MCPTool) bool {
				return len(tool.Status.Conditions) > 0
			})
			ready := tool.Status.Conditions[0]
			wantReason := v1alpha1.ToolReasonInvalidQuestion
			if name == "good" {
				wantReason = v1alpha1.ToolReasonReady
			}
			if ready.Reason != wantReason || !strings.Contains(ready.Message, c.says) {
				t.Errorf("condition %+v", ready)
			}
		})
	}
}
