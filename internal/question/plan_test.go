package question

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// summary is a plan in short: the outcome, and the keys it speaks of.
func summary(p Plan) string {
	parts := []string{string(p.Outcome)}
	for _, q := range p.Questions {
		parts = append(parts, q.Key)
	}
	if p.Key != "" {
		parts = append(parts, p.Key)
	}
	return strings.Join(parts, " ")
}

type answers = map[string]v1alpha1.Answer

func TestPlan(t *testing.T) {
	yes, no := accept(`{"confirm":true}`), accept(`{"confirm":false}`)
	production := `{"environment":"production"}`
	staging := `{"environment":"staging"}`

	inProduction := confirm("confirm")
	inProduction.When = "arguments.environment == 'production'"

	// second is asked once first is out of the way and was answered with yes.
	second := confirm("second")
	second.When = "has(answers.first) && answers.first.confirm"

	// either lets its answer pass only together with that of other, whichever comes first.
	either := confirm("either")
	either.ProceedIf = "answer.confirm || answers.?other.?confirm.orValue(false)"
	other := confirm("other")
	other.ProceedIf = ""

	type step struct {
		answers answers
		want    string
	}
	for _, tt := range []struct {
		name      string
		questions []v1alpha1.ToolQuestion
		ask       v1alpha1.QuestionAsk
		arguments string
		steps     []step
	}{
		{"no questions", nil, v1alpha1.AskTask, `{}`, []step{{nil, "Proceed"}}},
		{"A13: one question, every kind of answer", []v1alpha1.ToolQuestion{inProduction}, v1alpha1.AskTask, production, []step{
			{nil, "Ask confirm"},
			{answers{"confirm": yes}, "Proceed"},
			{answers{"confirm": no}, "Declined confirm"},
			{answers{"confirm": decline}, "Declined confirm"},
			{answers{"confirm": dismiss}, "Cancelled confirm"},
		}},
		{"not applicable, whatever is answered", []v1alpha1.ToolQuestion{inProduction}, v1alpha1.AskTask, staging, []step{
			{nil, "Proceed"},
			{answers{"confirm": no}, "Proceed"},
			{answers{"confirm": decline}, "Proceed"},
			{answers{"confirm": dismiss}, "Proceed"},
		}},
		{"A12: several at once, partial answers, unknown keys", []v1alpha1.ToolQuestion{confirm("a"), confirm("b")},
			v1alpha1.AskTask, `{}`, []step{
				{nil, "Ask a b"},
				{answers{"a": yes}, "Ask b"},
				{answers{"b": yes}, "Ask a"},
				{answers{"zzz": decline}, "Ask a b"},
				{answers{"a": yes, "b": yes, "zzz": dismiss}, "Proceed"},
				{answers{"b": decline}, "Declined b"},
				{answers{"b": no}, "Declined b"},
				{answers{"b": dismiss}, "Cancelled b"},
				{answers{"a": decline, "b": dismiss}, "Declined a"},
				{answers{"a": dismiss, "b": decline}, "Cancelled a"},
			}},
		{"one after the other", []v1alpha1.ToolQuestion{second, confirm("first")}, v1alpha1.AskTask, `{}`, []step{
			{nil, "Ask first"},
			{answers{"second": yes}, "Ask first"},
			{answers{"second": decline}, "Ask first"},
			{answers{"first": yes}, "Ask second"},
			{answers{"first": no}, "Declined first"},
			{answers{"first": no, "second": yes}, "Declined first"},
			{answers{"first": yes, "second": yes}, "Proceed"},
			{answers{"first": yes, "second": no}, "Declined second"},
		}},
		{"the first does not apply", []v1alpha1.ToolQuestion{askWhen("first", "false"), askWhen("second", "!has(answers.first)")},
			v1alpha1.AskTask, `{}`, []step{
				{nil, "Ask second"},
				{answers{"first": accept("{}")}, "Ask second"},
				{answers{"second": accept("{}")}, "Proceed"},
			}},
		{"judged together", []v1alpha1.ToolQuestion{either, other}, v1alpha1.AskTask, `{}`, []step{
			{nil, "Ask either other"},
			{answers{"either": yes}, "Ask other"},
			{answers{"either": no}, "Ask other"},
			{answers{"either": no, "other": no}, "Declined either"},
			{answers{"either": no, "other": yes}, "Proceed"},
			{answers{"other": yes}, "Ask either"},
		}},
		{"T-13: before the task only what is asked of the call", []v1alpha1.ToolQuestion{confirm("task"), onCall(confirm("call"))},
			v1alpha1.AskCall, `{}`, []step{
				{nil, "Ask call"},
				{answers{"task": decline}, "Ask call"},
				{answers{"call": no}, "Declined call"},
				{answers{"call": yes}, "Proceed"},
			}},
		{"T-13: in the task what is left", []v1alpha1.ToolQuestion{confirm("task"), onCall(confirm("call"))},
			v1alpha1.AskTask, `{}`, []step{
				{answers{"call": yes}, "Ask task"},
				{answers{"call": yes, "task": yes}, "Proceed"},
				{nil, "Ask task call"},
			}},
		{"accepted without content", []v1alpha1.ToolQuestion{ask("a")}, v1alpha1.AskTask, `{}`, []step{
			{answers{"a": accept("")}, "Proceed"},
			{answers{"a": accept("null")}, "Proceed"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := mustCompile(t, tt.questions...)
			for _, s := range tt.steps {
				plan, err := set.Plan(tt.ask, []byte(tt.arguments), s.answers)
				if err != nil {
					t.Errorf("%v: %v", s.answers, err)
					continue
				}
				if got := summary(plan); got != s.want {
					t.Errorf("%v: got %q, want %q", s.answers, got, s.want)
				}
				if ended := plan.Outcome == Declined || plan.Outcome == Cancelled; ended != (plan.Message != "") {
					t.Errorf("%v: %s with the message %q", s.answers, plan.Outcome, plan.Message)
				}
			}
		})
	}
}

func TestPlanRendersQuestions(t *testing.T) {
	first := withDeadline(confirm("first"), time.Hour)
	first.Message = "'Delete ' + arguments.environment + '\\n?'"
	second := ask("second")
	second.Message = "'Really, after ' + string(answers.first.confirm) + '?'"
	set := mustCompile(t, first, second)

	plan, err := set.Plan(v1alpha1.AskTask, []byte("{\"environment\":\"\\u202Ea\\u0000\\n\\n<b> \U0001F600\"}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Plan{Outcome: Ask, Questions: []Question{
		{Key: "first", Message: "Delete a <b> \U0001F600 ?", RequestedSchema: confirmSchema, Deadline: time.Hour},
	}}
	if diff := cmp.Diff(want, plan); diff != "" {
		t.Errorf("first plan (-want +got):\n%s", diff)
	}

	plan, err = set.Plan(v1alpha1.AskTask, []byte(`{"environment":"a"}`), answers{"first": accept(`{"confirm":true}`)})
	if err != nil {
		t.Fatal(err)
	}
	want = Plan{Outcome: Ask, Questions: []Question{
		{Key: "second", Message: "Really, after true?", RequestedSchema: emptyForm, Deadline: DefaultDeadline},
	}}
	if diff := cmp.Diff(want, plan); diff != "" {
		t.Errorf("second plan (-want +got):\n%s", diff)
	}
}

func TestPlanEndsInWords(t *testing.T) {
	set := mustCompile(t, confirm("sure"))
	for want, answer := range map[string]v1alpha1.Answer{
		`Not confirmed: the question "sure" was declined. Nothing was run.`:                            decline,
		`Not confirmed: the answer to the question "sure" does not let the tool run. Nothing was run.`: accept(`{"confirm":false}`),
		`The question "sure" was dismissed without an answer. Nothing was run.`:                        dismiss,
	} {
		plan, err := set.Plan(v1alpha1.AskTask, []byte(`{}`), answers{"sure": answer})
		if err != nil {
			t.Fatal(err)
		}
		if plan.Message != want {
			t.Errorf("got %q, want %q", plan.Message, want)
		}
	}
}

func TestPlanReportsErrors(t *testing.T) {
	emptyMessage := ask("a")
	emptyMessage.Message = "'\\n' + arguments.environment"
	judge := confirm("a")
	judge.ProceedIf = "answer.confirm && arguments.steps > 0"
	optional := ask("a")
	optional.Schema = raw(`{"type":"object","properties":{"n":{"type":"number"}}}`)
	optional.ProceedIf = "answer.n > 1.0"
	for _, tt := range []struct {
		name      string
		question  v1alpha1.ToolQuestion
		arguments string
		answers   answers
		want      string
	}{
		{"when", askWhen("a", "arguments.steps > 3"), `{}`, nil, `question "a": when: arguments has no "steps"`},
		{"empty message", emptyMessage, `{"environment":" "}`, nil, `question "a": message: it is empty for these arguments`},
		{"proceedIf", judge, `{}`, answers{"a": accept(`{"confirm":true}`)}, `question "a": proceedIf: arguments has no "steps"`},
		{"answer without the field", optional, `{}`, answers{"a": accept(`{}`)}, `question "a": proceedIf: answers.a has no "n"`},
		{"A26: answer that would be rounded", optional, `{}`, answers{"a": accept(`{"n":0.10000000000000000001}`)}, "without rounding"},
		{"arguments that are not JSON", ask("a"), `{`, nil, "arguments: "},
		{"arguments that are a list", ask("a"), `[]`, nil, "arguments: not a JSON object"},
		// A second reader might see staging where this one sees production.
		{"arguments that say one thing twice", ask("a"), `{"environment":"staging","environment":"production"}`, nil, "twice"},
		{"answer that is not JSON", ask("a"), `{}`, answers{"a": accept(`{`)}, `question "a": the recorded answer cannot be read`},
		{"answer with an unknown action", ask("a"), `{}`, answers{"a": {Action: "reject"}}, `unknown action "reject"`},
		{"condition that takes too long", askWhen("a", "arguments.tags.all(a, arguments.tags.all(b, a == b))"),
			`{"tags":["a"` + strings.Repeat(`,"a"`, 10_000) + `]}`, nil, `question "a": when: it takes too long to evaluate`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := mustCompile(t, tt.question).Plan(v1alpha1.AskTask, []byte(tt.arguments), tt.answers)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %+v and the error %v, want one with %q", plan, err, tt.want)
			}
			if diff := cmp.Diff(Plan{}, plan); diff != "" {
				t.Errorf("there is a plan beside the error:\n%s", diff)
			}
			var wrong *Error
			if about := strings.HasPrefix(tt.want, "question"); errors.As(err, &wrong) != about && about {
				t.Errorf("%v is not an *Error", err)
			}
		})
	}
}

// Nothing that went wrong in a later question may hide that somebody has said no.
func TestDeclinedComesBeforeLaterErrors(t *testing.T) {
	set := mustCompile(t, confirm("a"), askWhen("b", "has(answers.a) && arguments.steps > 3"))
	plan, err := set.Plan(v1alpha1.AskTask, []byte(`{}`), answers{"a": accept(`{"confirm":false}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got := summary(plan); got != "Declined a" {
		t.Errorf("got %q, want Declined a", got)
	}
}

func TestSetIsSafeForConcurrentUse(t *testing.T) {
	set := mustCompile(t, confirm("a"), askWhen("b", "answers.a.confirm && arguments.tags.exists(t, t.matches('^x+$'))"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				plan, err := set.Plan(v1alpha1.AskTask, []byte(`{"tags":["xx"]}`), answers{"a": accept(`{"confirm":true}`)})
				if err != nil || summary(plan) != "Ask b" {
					t.Errorf("got %+v and the error %v, want Ask b", plan, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
