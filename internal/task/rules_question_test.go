package task

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/question"
)

const confirmForm = `{"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"}}}`

// twoQuestions are asked at once; a third one follows from the answer to the first.
var twoQuestions = []v1alpha1.ToolQuestion{
	{Key: "a", Message: "'Really?'", Schema: &apiextensionsv1.JSON{Raw: []byte(confirmForm)}, ProceedIf: "answer.ok"},
	{Key: "b", Message: "'And b?'", Deadline: &metav1.Duration{Duration: time.Hour}},
	{Key: "c", Message: "'And c, after ' + string(answers.a.ok) + '?'"},
}

// declaring gives the tool questions.
func (s *scene) declaring(questions ...v1alpha1.ToolQuestion) *scene {
	s.Tool.Spec.Questions = questions
	s.Task.Spec.QuestionsDeadline = &metav1.Duration{Duration: 48 * time.Hour}
	return s
}

// asked: the questions are on the record, and the generation that they were asked at.
func (s *scene) asked(keys ...string) *scene {
	s.record(v1alpha1.StateInputRequired, v1alpha1.ReasonAwaitingInput)
	s.Task.Status.Questions = map[string]v1alpha1.Question{}
	for _, key := range keys {
		by := metav1.NewMicroTime(at(3600).Time)
		s.Task.Status.Questions[key] = v1alpha1.Question{
			Message: "Recorded " + key + "?", RequestedSchema: confirmForm, AskedAt: metav1.NewMicroTime(at(0).Time), AnswerBy: &by,
		}
	}
	applyInputRequired(s.Task, s.Now)
	return s
}

// answers is somebody's answer to a question.
func (s *scene) answers(key string, action v1alpha1.AnswerAction, content string) *scene {
	if s.Task.Spec.Answers == nil {
		s.Task.Spec.Answers = map[string]v1alpha1.Answer{}
	}
	s.Task.Spec.Answers[key] = v1alpha1.Answer{Action: action, Content: content, At: metav1.NewMicroTime(at(50).Time)}
	s.Task.Generation++
	return s
}

// plan evaluates the questions as the controller does.
func (s *scene) plan() *scene {
	s.Plan, s.PlanProblem = planOf(s.Tool, s.Task)
	return s
}

func planOf(tool *v1alpha1.MCPTool, t *v1alpha1.MCPTask) (*question.Plan, string) {
	set, err := question.Compile(tool.Spec.Questions, nil)
	if err != nil {
		panic(err)
	}
	p, err := set.Plan(v1alpha1.AskTask, []byte(t.Spec.Arguments), question.AnswersOf(t))
	if err != nil {
		return nil, err.Error()
	}
	return &p, ""
}

func (s *scene) toolChanged() *scene { s.Tool.Generation++; return s }

// A12, A13 and A35, as the controller decides them.
var questionSituations = []situation{
	{"a call with questions, from the cache",
		newScene().declaring(twoQuestions...),
		"to-plan", working, v1alpha1.ReasonQueued, "", NextFreshTask},
	{"a call with questions, read past the cache",
		newScene().fresh().declaring(twoQuestions...),
		"to-plan", working, v1alpha1.ReasonQueued, "", NextPlan},
	{"two questions at once",
		newScene().fresh().declaring(twoQuestions...).plan(),
		"input-required", inputRequired, v1alpha1.ReasonAwaitingInput, "2 questions: a, b", ""},
	{"one question",
		newScene().fresh().declaring(twoQuestions[0]).plan(),
		"input-required", inputRequired, v1alpha1.ReasonAwaitingInput, "Waiting for an answer: Really?", ""},
	{"nothing new needs no plan",
		newScene().declaring(twoQuestions...).asked("a", "b"),
		"input-required", inputRequired, v1alpha1.ReasonAwaitingInput, "2 questions", ""},
	{"an answer",
		newScene().declaring(twoQuestions...).asked("a", "b").answers("b", "accept", ""),
		"to-plan", inputRequired, v1alpha1.ReasonAwaitingInput, "", NextFreshTask},
	{"one of two is answered",
		newScene().fresh().declaring(twoQuestions...).asked("a", "b").answers("b", "accept", "").plan(),
		"input-required", inputRequired, v1alpha1.ReasonAwaitingInput, "Recorded a?", ""},
	{"an answer brings another question",
		newScene().fresh().declaring(twoQuestions...).asked("a", "b").answers("a", "accept", `{"ok":true}`).plan(),
		"input-required", inputRequired, v1alpha1.ReasonAwaitingInput, "2 questions: b, c", ""},
	{"all are answered",
		newScene().fresh().declaring(twoQuestions...).asked("a", "b", "c").answers("a", "accept", `{"ok":true}`).
			answers("b", "accept", "").answers("c", "accept", "").plan(),
		"to-launch", working, v1alpha1.ReasonQueued, "", NextLaunch},
	{"answered with the call",
		newScene().fresh().declaring(v1alpha1.ToolQuestion{Key: "n", Message: "'Name?'", Ask: v1alpha1.AskCall}).
			with(func(o *Observation) { o.Task.Spec.CallAnswers = map[string]v1alpha1.Answer{"n": {Action: "accept"}} }).plan(),
		"to-launch", working, v1alpha1.ReasonQueued, "", NextLaunch},
	{"an answer that does not let the call proceed",
		newScene().fresh().declaring(twoQuestions...).asked("a", "b").answers("a", "accept", `{"ok":false}`).plan(),
		"declined", completed, v1alpha1.ReasonDeclined, `the answer to the question "a" does not let the tool run`, ""},
	{"declined, the other still open",
		newScene().fresh().declaring(twoQuestions...).asked("a", "b").answers("b", "decline", "").plan(),
		"declined", completed, v1alpha1.ReasonDeclined, `"b" was declined`, ""},
	{"dismissed",
		newScene().fresh().declaring(twoQuestions...).asked("a", "b").answers("a", "cancel", "").plan(),
		"question-cancelled", cancelled, v1alpha1.ReasonQuestionCancelled, `"a" was dismissed`, ""},
	{"the deadline passes, from the cache",
		newScene().declaring(twoQuestions...).asked("a", "b").clock(3600),
		"question-expired", inputRequired, v1alpha1.ReasonAwaitingInput, "", NextFreshTask},
	{"the deadline has passed",
		newScene().fresh().declaring(twoQuestions...).asked("a", "b").answers("a", "accept", `{"ok":true}`).clock(3600),
		"question-expired", cancelled, v1alpha1.ReasonQuestionExpired, `"b" was not answered within 1h`, ""},
	{"an answer in time, seen later",
		newScene().fresh().declaring(twoQuestions[0]).asked("a").answers("a", "accept", `{"ok":true}`).clock(7200).plan(),
		"to-launch", working, v1alpha1.ReasonQueued, "", NextLaunch},
	{"cancelled while it waits for an answer",
		newScene().fresh().declaring(twoQuestions...).asked("a", "b").cancel(),
		"cancelled-before-start", cancelled, v1alpha1.ReasonCancelled, "changed my mind", ""},
	{"the tool was changed while the call waited",
		newScene().fresh().declaring(twoQuestions...).asked("a", "b").toolChanged(),
		"tool-changed-under-questions", failed, v1alpha1.ReasonToolChanged, "was changed", ""},
	{"the tool was changed, says the cache",
		newScene().declaring(twoQuestions...).asked("a", "b").toolChanged(),
		"tool-changed-under-questions", inputRequired, v1alpha1.ReasonToolChanged, "", NextFreshTask},
	{"questions were added after the call",
		newScene().fresh().declaring(twoQuestions...).toolChanged(),
		"tool-changed-under-questions", failed, v1alpha1.ReasonToolChanged, "was changed", ""},
	{"the tool was removed while the call waited",
		newScene().fresh().declaring(twoQuestions...).asked("a").with(func(o *Observation) { o.Tool = nil }),
		"tool-removed", failed, v1alpha1.ReasonToolChanged, "removed", ""},
	{"an expression that fails",
		newScene().fresh().declaring(v1alpha1.ToolQuestion{Key: "a", Message: "string(1 / size(dyn('')))"}).plan(),
		"questions-fail", failed, v1alpha1.ReasonRejected, `question "a": message: division by zero`, ""},
}

func TestQuestionsAreAskedOnce_A12_T31(t *testing.T) {
	s := newScene().fresh().declaring(slices.Clone(twoQuestions)...).plan()
	v := Decide(s.Observation)
	if v.After != time.Hour {
		t.Errorf("looks again after %v, want the first deadline, 1h", v.After)
	}
	if !Apply(v, s.Task, nil, s.Now) {
		t.Fatal("the questions are not written")
	}
	asked := *s.Task.Status.DeepCopy()
	a := asked.Questions["a"]
	if len(asked.Questions) != 2 || a.Message != "Really?" || a.RequestedSchema != confirmForm ||
		!a.AskedAt.Time.Equal(s.Now) || !a.AnswerBy.Time.Equal(s.Now.Add(question.DefaultDeadline)) {
		t.Errorf("asked %+v", asked.Questions)
	}

	// Nothing new: nothing is written.
	s.Plan = nil
	s.clock(120)
	if v := Decide(s.Observation); Apply(v, s.Task, nil, s.Now) {
		t.Errorf("written without news: %+v", v)
	}

	// The recorded words count, whatever the tool would say now; the answered question stays on the record.
	s.Tool.Spec.Questions[0].Message = "'Something else?'"
	s.answers("b", "accept", "").plan()
	if v := Decide(s.Observation); !Apply(v, s.Task, nil, s.Now) {
		t.Error("that an answer was counted in is not written")
	}
	got := s.Task.Status.Questions
	if got["a"].Message != "Really?" || !got["a"].AnswerBy.Equal(a.AnswerBy) || len(got) != 2 {
		t.Errorf("the record changed to %+v", got)
	}
	if keys := OpenQuestions(s.Task); len(keys) != 1 || keys["a"].Message == "" {
		t.Errorf("open are %v, want a only", keys)
	}

	// Another question follows, with a deadline of its own, and a key that was never used.
	s.clock(240).answers("a", "accept", `{"ok":true}`).plan()
	Apply(Decide(s.Observation), s.Task, nil, s.Now)
	c := s.Task.Status.Questions["c"]
	if c.Message != "And c, after true?" || !c.AskedAt.Time.Equal(s.Now) || len(s.Task.Status.Questions) != 3 {
		t.Errorf("then asked %+v", s.Task.Status.Questions)
	}
}

func TestAnsweredCallStarts(t *testing.T) {
	s := newScene().fresh().declaring(twoQuestions[0]).asked("a").answers("a", "accept", `{"ok":true}`)
	// The start may take its time from the answer on, however long that took.
	s.clock(3600 * 24).Task.Spec.Answers["a"] = v1alpha1.Answer{Action: "accept", Content: `{"ok":true}`,
		At: metav1.NewMicroTime(s.Now)}
	s.plan().Trouble = "etcd is busy"
	if v := Decide(s.Observation); v.Rule != "to-launch" || v.After != 10*time.Minute {
		t.Errorf("got %+v, want another try within 10m", v)
	}
	s.Trouble = ""
	status := s.Task.Status.DeepCopy()
	s.job().Task.Status.State, s.Task.Status.Reason, s.Task.Status.Job = status.State, status.Reason, nil
	s.Job.CreationTimestamp = metav1.NewTime(s.Now)
	if v := Decide(s.Observation); !Apply(v, s.Task, s.Job, s.Now) {
		t.Fatal("the start is not written")
	}
	if got := s.Task.Status; got.State != working || got.Job == nil || strings.Contains(got.Message, "answer") {
		t.Errorf("after the start the record says %+v", got)
	}
	if c := s.Task.Status.Conditions[0]; c.Type != v1alpha1.ConditionInputRequired || c.Status != metav1.ConditionFalse {
		t.Errorf("condition %+v, want InputRequired False", c)
	}
}

// TestNoJobWithoutConsent_A13 plays random stories of answers, changed tools, cancels and passing time, seen late or in time: a
// Job is created only for a call whose questions have all been accepted, and a question is never asked in two ways.
func TestNoJobWithoutConsent_A13(t *testing.T) {
	const stories, steps = 2000, 14
	launched, ended := 0, 0
	for seed := range uint64(stories) {
		w := &world{scene: newScene().declaring(slices.Clone(twoQuestions)...), rng: rand.New(rand.NewPCG(seed, 3))}
		asked := map[string]v1alpha1.Question{}
		past, pastVersion := w.snapshot(), 0
		for range steps {
			if w.chance(50) {
				past, pastVersion = w.snapshot(), w.version
			}
			w.answerSomething()
			w.look(t, past, pastVersion)
			for key, q := range w.Task.Status.Questions {
				if before, ok := asked[key]; ok && (before.Message != q.Message || !before.AskedAt.Equal(&q.AskedAt)) {
					t.Errorf("question %s was asked again: %+v after %+v", key, q, before)
				}
				asked[key] = q
			}
		}
		if w.launches > 0 {
			launched++
			for _, key := range []string{"a", "b", "c"} {
				a := w.Task.Spec.Answers[key]
				if a.Action != v1alpha1.AnswerAccept || key == "a" && a.Content != `{"ok":true}` {
					t.Errorf("a Job was created though the answer to %s is %+v", key, a)
				}
			}
		}
		if w.ends > 0 {
			ended++
		}
		if t.Failed() {
			for _, line := range w.history {
				t.Log(line)
			}
			t.Fatalf("story %d", seed)
		}
	}
	if launched < stories/50 || ended < stories/10 {
		t.Errorf("of %d stories, %d have a Job and %d an end: they have become too dull", stories, launched, ended)
	}
}

// answerSomething answers an open question, mostly with a yes, or lets something happen that ends the waiting.
func (w *world) answerSomething() {
	w.second += []int{0, 1, 30, 300}[w.rng.IntN(4)]
	w.clock(w.second)
	open := slices.Sorted(maps.Keys(OpenQuestions(w.Task)))
	switch n := w.rng.IntN(40); {
	case n == 0 && w.Task.Spec.Cancel == nil:
		w.cancel()
	case n == 1:
		w.toolChanged()
	case n == 2:
		w.second += 4000
		w.clock(w.second)
	case n < 30 && len(open) > 0:
		key := open[w.rng.IntN(len(open))]
		action, content := v1alpha1.AnswerAccept, ""
		if key == "a" {
			content = `{"ok":true}`
		}
		switch w.rng.IntN(12) {
		case 0:
			action, content = v1alpha1.AnswerDecline, ""
		case 1:
			action, content = v1alpha1.AnswerCancel, ""
		case 2:
			content = `{"ok":false}` // a no to a; the others have no form
		}
		w.answers(key, action, content)
		w.log("%s %s to %s", action, content, key)
	default:
		return
	}
	w.version++
}
