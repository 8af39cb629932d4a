package question

import (
	"encoding/json"
	"fmt"
	"math/big"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"github.com/google/go-cmp/cmp"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/schema"
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

// FuzzExpression compiles any source and evaluates it if it can be. It is an error or a value, in time.
func FuzzExpression(f *testing.F) {
	for _, source := range []string{
		"arguments.steps > 3 && has(arguments.target.host)",
		"arguments.tags.map(t, t + t).filter(t, t in ['a', \"b\"]).size() == 2",
		"arguments.any == {'a': 1}.a ? [1, 2][0] > 1 : !true",
		"arguments.?target.?host.orValue('x').matches(r'(a{3}|b)*$')",
		"[[1]].map(l, [l, l]).map(l, [l, l]).map(l, dyn(l))[0].size() > 1",
		"[1, 2].optMap(x, x) == null || {1: 2u}[1] < 3 || b'a' + b'b' == b''",
		"math.greatest(1, 2.0) > duration('1h').getHours() && timestamp('2026-11-30T00:00:00Z').getFullYear('UTC') == 1",
		"arguments.environment.split('').map(c, c.charAt(0)).join(',').substring(1).lowerAscii().trim() != `x`",
		"arguments.`dry-run` || answers.a.confirm || answer.confirm",
	} {
		f.Add(source, `{"steps":7,"tags":["a","b"],"any":[[1]],"environment":"abc","target":{"host":"a"}}`)
	}
	s, err := objectShape([]byte(migrationInput), varArguments)
	if err != nil {
		f.Fatal(err)
	}
	env, err := newEnv(map[string]*shape{varArguments: s})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, source, arguments string) {
		checked, issues := env.Parse(source)
		if issues.Err() != nil {
			return
		}
		if checked, issues = env.Check(checked); issues.Err() != nil {
			return
		}
		e, err := compile(env, source, checked.OutputType())
		if err != nil {
			return
		}
		doc, err := schema.Decode([]byte(arguments))
		if err != nil {
			return
		}
		start := time.Now()
		value, err := e.eval(map[string]any{varArguments: s.value(doc)})
		if took := time.Since(start); took > tooLong {
			t.Fatalf("it took %v", took)
		}
		if (value == nil) == (err == nil) {
			t.Fatalf("the value %v with the error %v", value, err)
		}
	})
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

// FuzzNumber: a number that an expression sees is the one in the document.
func FuzzNumber(f *testing.F) {
	for _, text := range []string{
		"0", "-0.0", "9007199254740993", "18446744073709551615", "1e20", "0.1", "12345678901234567.5", "-1.5E-7",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := schema.Decode([]byte(text))
		n, ok := doc.(json.Number)
		if err != nil || !ok {
			return
		}
		want, _ := new(big.Rat).SetString(n.String())
		for _, double := range []bool{false, true} {
			got := new(big.Rat)
			switch v := number(n, double).(type) {
			case types.Int:
				got.SetInt64(int64(v))
			case types.Uint:
				got.SetUint64(uint64(v))
			case types.Double:
				// A double stands for the shortest decimal that is nearest to it: 0.1, not what is stored for it.
				got.SetString(fmt.Sprint(float64(v)))
			default:
				continue
			}
			if got.Cmp(want) != 0 {
				t.Fatalf("%s became %s", text, got.RatString())
			}
		}
	})
}
