package main

import (
	"strings"
	"testing"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

const formOfAllKinds = `{"type": "object", "required": ["name"], "properties": {
	"name": {"type": "string", "title": "A name"},
	"size": {"type": "string", "enum": ["small", "large"], "description": "How large"},
	"speed": {"type": "string", "oneOf": [{"const": "slow", "title": "Slow"}, {"const": "fast", "title": "Fast"}]},
	"count": {"type": "integer"},
	"share": {"type": "number"},
	"sure": {"type": "boolean"},
	"colors": {"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}}}}`

func TestResponseJSON(t *testing.T) {
	const accept, decline = v1alpha1.AnswerAccept, v1alpha1.AnswerDecline
	for name, test := range map[string]struct {
		response
		want, err string
	}{
		"nothing":         {response{action: accept}, `{}`, ""},
		"a string":        {response{action: accept, assignments: []string{"name=true"}}, `{"name":"true"}`, ""},
		"an equals sign":  {response{action: accept, assignments: []string{"name=a=b"}}, `{"name":"a=b"}`, ""},
		"an empty string": {response{action: accept, assignments: []string{"name="}}, `{"name":""}`, ""},
		"a large number": {response{action: accept, assignments: []string{"count=9007199254740993"}},
			`{"count":9007199254740993}`, ""},
		"a boolean": {response{action: accept, assignments: []string{"sure=true"}}, `{"sure":true}`, ""},
		"a list": {response{action: accept, assignments: []string{"colors=red", "colors=blue"}},
			`{"colors":["red","blue"]}`, ""},
		"JSON":              {response{action: accept, content: `{"name": "x"}`}, `{"name": "x"}`, ""},
		"no":                {response{action: decline}, ``, ""},
		"no, with content":  {response{action: decline, assignments: []string{"name=x"}}, "", "has no content"},
		"both":              {response{action: accept, content: "{}", assignments: []string{"name=x"}}, "", "do not go together"},
		"no value":          {response{action: accept, assignments: []string{"name"}}, "", "PROPERTY=VALUE"},
		"another property":  {response{action: accept, assignments: []string{"nam=x"}}, "", "it has colors, count, name"},
		"twice":             {response{action: accept, assignments: []string{"name=x", "name=y"}}, "", "given twice"},
		"words for a yes":   {response{action: accept, assignments: []string{"sure=yes"}}, "", `must be a boolean, not "yes"`},
		"words for numbers": {response{action: accept, assignments: []string{"share=half"}}, "", `must be a number, not "half"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.json(formOfAllKinds)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want one with %q", err, test.err)
				}
				return
			}
			if err != nil || string(got) != test.want {
				t.Errorf("got %s (%v), want %s", got, err, test.want)
			}
		})
	}
}

func TestPrintQuestions(t *testing.T) {
	task := newTask("t-1", func(task *v1alpha1.MCPTask) {
		task.Status.State = v1alpha1.StateInputRequired
		task.Status.Questions = map[string]v1alpha1.Question{
			"all": {Message: "What\x1b[2J\nnow?", RequestedSchema: formOfAllKinds},
			"old": {Message: "Answered", RequestedSchema: `{}`},
		}
		task.Spec.Answers = map[string]v1alpha1.Answer{"old": {Action: v1alpha1.AnswerAccept}}
	})
	var b strings.Builder
	if err := printQuestions(&b, &task); err != nil {
		t.Fatal(err)
	}
	const want = `all: What [2J now?
  colors   array, optional            
  count    integer, optional          
  name     string                     A name
  share    number, optional           
  size     small or large, optional   How large
  speed    slow or fast, optional     
  sure     boolean, optional          
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	task.Spec.Answers["all"] = v1alpha1.Answer{Action: v1alpha1.AnswerDecline}
	if err := printQuestions(&b, &task); err == nil || !strings.Contains(err.Error(), "no open question") {
		t.Errorf("without an open question: %v", err)
	}
}
