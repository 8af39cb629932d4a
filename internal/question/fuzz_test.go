package question

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// tooLong is far more than any one evaluation takes on a busy machine.
const tooLong = 5 * time.Second

// FuzzPlan hands any arguments and any answer to expressions that use all there is. There is a plan or an error, never a panic,
// and the same one the second time.
func FuzzPlan(f *testing.F) {
	first := confirm("first")
	first.When = "arguments.?environment.orValue('') != 'staging' || arguments.tags.exists(t, t.matches('^[a-c]+$'))"
	first.Message = "string(arguments.any) + arguments.tags.join('-') + arguments.target.ports.map(p, string(p.number)).join()"
	first.Schema = raw(everythingSchema)
	first.ProceedIf = "answer.flag && (!has(answer.count) || answer.count > 2) && answer.?ratio.orValue(0.5) * 2.0 >= 0.0"
	second := ask("second")
	second.When = "has(answers.first.some) ? 'x' in answers.first.some : arguments.free.a.b == arguments.steps"
	second.Message = "answers.first.?text.orValue('?') + string(arguments.ratio) + string(timestamp(arguments.`in`))"
	set := mustCompile(f, first, second, onCall(askWhen("third", "arguments.labels.all(l, l.startsWith('a'))")))

	f.Add(`{"environment":"production","tags":["a"],"any":1e20,"target":{"ports":[{"number":1}]},"labels":{}}`,
		"accept", `{"flag":true}`)
	f.Add(`{"any":{"x":9007199254740993},"steps":18446744073709551615,"ratio":1e400}`, "decline", `null`)
	f.Add(`{"tags":[null,{}],"target":[],"free":{"a":{"b":-0.0}},"in":"2026-11-30T00:00:00Z"}`,
		"accept", `{"flag":true,"some":["x"]}`)
	f.Fuzz(func(t *testing.T, arguments, action, content string) {
		given := answers{"first": {Action: v1alpha1.AnswerAction(action), Content: content}}
		for _, ask := range []v1alpha1.QuestionAsk{v1alpha1.AskTask, v1alpha1.AskCall} {
			start := time.Now()
			plan, err := set.Plan(ask, []byte(arguments), given)
			if took := time.Since(start); took > tooLong {
				t.Fatalf("it took %v", took)
			}
			again, errAgain := set.Plan(ask, []byte(arguments), given)
			if diff := cmp.Diff(plan, again); diff != "" || fmt.Sprint(err) != fmt.Sprint(errAgain) {
				t.Fatalf("two plans for the same: %v, %v\n%s", err, errAgain, diff)
			}
			if (err == nil) != (plan.Outcome != "") {
				t.Fatalf("the outcome %q with the error %v", plan.Outcome, err)
			}
			for _, q := range plan.Questions {
				checkQuestion(t, q)
			}
		}
	})
}

func checkQuestion(t *testing.T, q Question) {
	t.Helper()
	if n := utf8.RuneCountInString(q.Message); n < 1 || n > v1alpha1.MaxQuestionMessage || !utf8.ValidString(q.Message) {
		t.Fatalf("not a message: %q", q.Message)
	}
	for _, r := range q.Message {
		if unicode.IsControl(r) {
			t.Fatalf("the message has the control character %U: %q", r, q.Message)
		}
	}
	if !json.Valid([]byte(q.RequestedSchema)) || q.Key == "" || q.Deadline <= 0 {
		t.Fatalf("not a question: %+v", q)
	}
}

// FuzzForm reads any schema as a form and holds any content against it.
func FuzzForm(f *testing.F) {
	f.Add(everythingSchema, `{"flag":true,"some":["x"],"count":2.0,"mail":"a@example.com"}`)
	f.Add(confirmSchema, `{"confirm":"yes"}`)
	f.Add(`{"type":"object","properties":{"apiKey":{"type":"string","format":"password","default":1}}}`, `null`)
	f.Fuzz(func(t *testing.T, doc, content string) {
		form, err := newForm([]byte(doc))
		if err != nil {
			return
		}
		again, err := newForm([]byte(form.doc))
		if err != nil || again.doc != form.doc {
			t.Fatalf("the form %s is not one the second time: %v", form.doc, err)
		}
		if ValidateAnswer(form.doc, v1alpha1.AnswerAccept, []byte(content)) != nil {
			return
		}
		if _, err := RenderAnswers(answers{"a": accept(content)}); err != nil {
			t.Fatalf("an answer that is valid cannot be rendered: %v", err)
		}
	})
}
