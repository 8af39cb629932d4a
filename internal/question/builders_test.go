package question

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// migrationInput is the input schema that most tests use.
const migrationInput = `{
	"type": "object",
	"required": ["environment"],
	"properties": {
		"environment": {"type": "string", "enum": ["staging", "production"]},
		"steps": {"type": "integer"},
		"ratio": {"type": "number"},
		"dry-run": {"type": "boolean"},
		"in": {"type": "string"},
		"any": {},
		"nullable": {"type": ["string", "null"]},
		"tags": {"type": "array", "items": {"type": "string"}},
		"pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
		"target": {"type": "object", "properties": {
			"host": {"type": "string"},
			"ports": {"type": "array", "items": {"type": "object", "properties": {"number": {"type": "integer"}}}}
		}},
		"labels": {"type": "object", "additionalProperties": {"type": "string"}},
		"free": {"type": "object"},
		"open": {"type": "object", "properties": {"known": {"type": "string"}}, "additionalProperties": true},
		"closed": {"type": "object", "properties": {"known": {"type": "string"}}, "additionalProperties": false},
		"composed": {"type": "object", "properties": {"known": {"type": "string"}}, "allOf": [{"minProperties": 1}]},
		"referred": {"$ref": "#/$defs/point"}
	},
	"$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}}
}`

// confirmSchema is a form with one required bool.
const confirmSchema = `{"type":"object","required":["confirm"],"properties":{"confirm":{"type":"boolean"}}}`

// ask makes a question that is always asked.
func ask(key string) v1alpha1.ToolQuestion {
	return v1alpha1.ToolQuestion{Key: key, Message: "'" + key + "?'"}
}

// askWhen makes a question that is asked under a condition.
func askWhen(key, when string) v1alpha1.ToolQuestion {
	q := ask(key)
	q.When = when
	return q
}

// confirm makes a question with one required bool that must be true.
func confirm(key string) v1alpha1.ToolQuestion {
	q := ask(key)
	q.Schema = raw(confirmSchema)
	q.ProceedIf = "answer.confirm"
	return q
}

// onCall changes a question to one that is asked before the task exists.
func onCall(q v1alpha1.ToolQuestion) v1alpha1.ToolQuestion {
	q.Ask = v1alpha1.AskCall
	return q
}

// withDeadline changes a question's deadline.
func withDeadline(q v1alpha1.ToolQuestion, d time.Duration) v1alpha1.ToolQuestion {
	q.Deadline = &metav1.Duration{Duration: d}
	return q
}

func raw(doc string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(doc)} }

// accept, decline and dismiss are the three kinds of answer.
func accept(content string) v1alpha1.Answer {
	return v1alpha1.Answer{Action: v1alpha1.AnswerAccept, Content: content}
}

var (
	decline = v1alpha1.Answer{Action: v1alpha1.AnswerDecline}
	dismiss = v1alpha1.Answer{Action: v1alpha1.AnswerCancel}
)

// mustCompile compiles questions of a tool with migrationInput.
func mustCompile(t testing.TB, questions ...v1alpha1.ToolQuestion) *Set {
	t.Helper()
	set, err := Compile(questions, []byte(migrationInput))
	if err != nil {
		t.Fatalf("Compile: %v", err)
	}
	return set
}
