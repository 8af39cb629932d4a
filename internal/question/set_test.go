package question

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

func TestCompileRefuses(t *testing.T) {
	with := func(q v1alpha1.ToolQuestion, change func(*v1alpha1.ToolQuestion)) v1alpha1.ToolQuestion {
		change(&q)
		return q
	}
	many := make([]v1alpha1.ToolQuestion, v1alpha1.MaxToolQuestions+1)
	for i := range many {
		many[i] = ask(fmt.Sprintf("q%d", i))
	}
	for _, tt := range []struct {
		name      string
		questions []v1alpha1.ToolQuestion
		want      string
	}{
		{"no key", []v1alpha1.ToolQuestion{ask("")}, `question "": key: it must be a letter`},
		{"key with a dash", []v1alpha1.ToolQuestion{ask("a-b")}, `question "a-b": key: it must be a letter`},
		{"key with a digit first", []v1alpha1.ToolQuestion{ask("1a")}, `key: it must be a letter`},
		{"key too long", []v1alpha1.ToolQuestion{ask(strings.Repeat("a", 64))}, `key: it must be a letter`},
		{"key used twice", []v1alpha1.ToolQuestion{ask("a"), ask("a")},
			`question "a": key: another question of this tool has the same key`},
		{"too many", many, "there are 17 questions; at most 16 are allowed"},
		{"unknown ask", []v1alpha1.ToolQuestion{with(ask("a"), func(q *v1alpha1.ToolQuestion) { q.Ask = "Later" })},
			`question "a": ask: it must be Task or Call`},
		{"bad form", []v1alpha1.ToolQuestion{with(ask("a"), func(q *v1alpha1.ToolQuestion) { q.Schema = raw(`{"type":"array"}`) })},
			`question "a": schema: `},
		{"no message", []v1alpha1.ToolQuestion{with(ask("a"), func(q *v1alpha1.ToolQuestion) { q.Message = "" })},
			`question "a": message: Syntax error`},
		{"message of another type", []v1alpha1.ToolQuestion{with(ask("a"), func(q *v1alpha1.ToolQuestion) {
			q.Message = "arguments.steps"
		})}, `question "a": message: its type must be string but is int, in the expression arguments.steps`},
		{"when of another type", []v1alpha1.ToolQuestion{askWhen("a", "arguments.environment")},
			`question "a": when: its type must be bool but is string, in the expression arguments.environment`},
		{"when of a type not known", []v1alpha1.ToolQuestion{askWhen("a", "arguments.any")}, `when: its type must be bool but is dyn`},
		{"typing mistake", []v1alpha1.ToolQuestion{askWhen("a", "arguments.enviroment == 'x'")},
			`question "a": when: undefined field 'enviroment' at line 1, column 10, in the expression arguments.enviroment == 'x'`},
		{"answer in when", []v1alpha1.ToolQuestion{askWhen("a", "answer.confirm")}, `when: undeclared reference to 'answer'`},
		{"answer without such a field", []v1alpha1.ToolQuestion{with(confirm("a"), func(q *v1alpha1.ToolQuestion) {
			q.ProceedIf = "answer.confirmed"
		})}, `question "a": proceedIf: undefined field 'confirmed'`},
		{"proceedIf of another type", []v1alpha1.ToolQuestion{with(confirm("a"), func(q *v1alpha1.ToolQuestion) {
			q.ProceedIf = "string(answer.confirm)"
		})}, `proceedIf: its type must be bool but is string`},
		{"unknown question", []v1alpha1.ToolQuestion{askWhen("a", "has(answers.b)")}, `question "a": when: undefined field 'b'`},
		{"unknown field of a question", []v1alpha1.ToolQuestion{confirm("a"), askWhen("b", "answers.a.sure")},
			`question "b": when: undefined field 'sure'`},
		{"field of the wrong type", []v1alpha1.ToolQuestion{confirm("a"), askWhen("b", "answers.a.confirm == 'yes'")},
			`question "b": when: found no matching overload`},
		{"answers as a whole", []v1alpha1.ToolQuestion{ask("a"), askWhen("b", "dyn(answers).a.x == 1")},
			`question "b": when: answers can only be read as answers.<key>`},
		{"answers by optional selection of nothing", []v1alpha1.ToolQuestion{ask("a"), askWhen("b", "dyn(answers).?a.hasValue()")},
			`question "b": when: answers can only be read as answers.<key>`},
		{"answers of a macro's own", []v1alpha1.ToolQuestion{ask("a"), askWhen("b", "[{'c': 1}].all(answers, answers.c == 1)")},
			`question "b": when: there is no question "c"`},
		{"own answer in when", []v1alpha1.ToolQuestion{askWhen("a", "!has(answers.a)")},
			`question "a": when: a question cannot depend on its own answer`},
		{"own answer in message", []v1alpha1.ToolQuestion{with(confirm("a"), func(q *v1alpha1.ToolQuestion) {
			q.Message = "string(answers.a.confirm)"
		})}, `question "a": message: a question cannot depend on its own answer`},
		{"circle of two", []v1alpha1.ToolQuestion{askWhen("a", "has(answers.b)"), askWhen("b", "has(answers.a)")},
			`question "a": questions depend on each other in a circle: a → b → a`},
		{"circle through a message", []v1alpha1.ToolQuestion{
			ask("free"), askWhen("a", "has(answers.free) && has(answers.b)"), askWhen("b", "answers.?c.hasValue()"),
			with(ask("c"), func(q *v1alpha1.ToolQuestion) { q.Message = "has(answers.b) ? 'x' : 'y'" }),
		}, `question "b": questions depend on each other in a circle: b → c → b`},
		{"Call after Task", []v1alpha1.ToolQuestion{ask("later"), onCall(askWhen("first", "has(answers.later)"))},
			`question "first": when: the question "later" is asked later, with ask: Task, than this one, with ask: Call`},
		{"Call judged by Task", []v1alpha1.ToolQuestion{ask("later"), with(onCall(ask("first")), func(q *v1alpha1.ToolQuestion) {
			q.ProceedIf = "has(answers.later)"
		})}, `question "first": proceedIf: the question "later" is asked later`},
		{"one variable for two fields", []v1alpha1.ToolQuestion{
			with(ask("a"), func(q *v1alpha1.ToolQuestion) {
				q.Schema = raw(`{"type":"object","properties":{"b_c":{"type":"string"}}}`)
			}),
			with(ask("a_b"), func(q *v1alpha1.ToolQuestion) {
				q.Schema = raw(`{"type":"object","properties":{"c":{"type":"string"}}}`)
			}),
		}, `question "a_b": schema: the property "c" of question "a_b" would have the environment variable MCP_ANSWER_A_B_C`},
		{"one variable for two spellings", []v1alpha1.ToolQuestion{with(ask("a"), func(q *v1alpha1.ToolQuestion) {
			q.Schema = raw(`{"type":"object","properties":{"b-c":{"type":"string"},"B.C":{"type":"string"}}}`)
		})}, `would have the environment variable MCP_ANSWER_A_B_C`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Compile(tt.questions, []byte(migrationInput))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got the error  %v\nwant one with %s", err, tt.want)
			}
		})
	}
}

func TestCompileError(t *testing.T) {
	_, err := Compile([]v1alpha1.ToolQuestion{ask("a"), askWhen("b", "1")}, nil)
	var wrong *Error
	if !errors.As(err, &wrong) || wrong.Key != "b" || wrong.Field != "when" || errors.Unwrap(err) == nil {
		t.Errorf("got %#v, want an *Error about when of b", err)
	}
	if _, err := Compile([]v1alpha1.ToolQuestion{ask("a")}, []byte(`{`)); err == nil || errors.As(err, &wrong) {
		t.Errorf("got %v, want an error about the input schema", err)
	}
}

// What the tools that are in the design and in the official suite's fixtures ask.
func TestCompileTakesRealQuestions(t *testing.T) {
	mustCompile(t, v1alpha1.ToolQuestion{
		Key:       "confirm",
		When:      "arguments.environment == 'production'",
		Message:   "'Apply ' + string(arguments.steps) + ' migrations to production?'",
		Schema:    raw(confirmSchema),
		ProceedIf: "answer.confirm",
	})
	mustCompile(t, onCall(v1alpha1.ToolQuestion{
		Key:     "user_name",
		Message: "'What is your name?'",
		Schema:  raw(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
	}))
}

func TestDeadline(t *testing.T) {
	hour := time.Hour
	after := func(q v1alpha1.ToolQuestion, key string) v1alpha1.ToolQuestion {
		q.When = "has(answers." + key + ")"
		return q
	}
	for _, tt := range []struct {
		name      string
		questions []v1alpha1.ToolQuestion
		want      time.Duration
	}{
		{"no questions", nil, 0},
		{"default", []v1alpha1.ToolQuestion{ask("a")}, DefaultDeadline},
		{"at the same time", []v1alpha1.ToolQuestion{withDeadline(ask("a"), 2*hour), withDeadline(ask("b"), 3*hour)}, 3 * hour},
		{"one after the other", []v1alpha1.ToolQuestion{
			withDeadline(after(ask("b"), "a"), 3*hour), withDeadline(ask("a"), 2*hour), withDeadline(ask("c"), 4*hour),
		}, 5 * hour},
		{"before the task", []v1alpha1.ToolQuestion{onCall(ask("a"))}, 0},
		{"after one before the task", []v1alpha1.ToolQuestion{onCall(ask("a")), withDeadline(after(ask("b"), "a"), hour)}, hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := mustCompile(t, tt.questions...).Deadline(); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestFormsTogetherAreBounded(t *testing.T) {
	form := `{"type":"object","properties":{"a":{"type":"string","description":"` + strings.Repeat("x", 16000) + `"}}}`
	var questions []v1alpha1.ToolQuestion
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		questions = append(questions, v1alpha1.ToolQuestion{
			Key: key, Message: "'?'", Schema: &apiextensionsv1.JSON{Raw: []byte(form)},
		})
	}
	if _, err := Compile(questions[:4], nil); err != nil {
		t.Errorf("four large forms: %v", err)
	}
	if _, err := Compile(questions, nil); err == nil || !strings.Contains(err.Error(), "at most 65536 are allowed") {
		t.Errorf("five large forms: got the error %v", err)
	}
}
