package job

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// ask adds a question with a schema.
func (b *toolBuilder) ask(key, schema string, changes ...func(*v1alpha1.ToolQuestion)) *toolBuilder {
	q := v1alpha1.ToolQuestion{Key: key, Message: "'Sure?'", Schema: &apiextensionsv1.JSON{Raw: []byte(schema)}}
	for _, change := range changes {
		change(&q)
	}
	b.tool.Spec.Questions = append(b.tool.Spec.Questions, q)
	return b
}

func askedByCall(q *v1alpha1.ToolQuestion) { q.Ask = v1alpha1.AskCall }

// answer is an accepted answer on the record.
func (b *taskBuilder) answer(key, content string) *taskBuilder {
	return b.change(func(s *v1alpha1.MCPTaskSpec) {
		if s.Answers == nil {
			s.Answers = map[string]v1alpha1.Answer{}
		}
		s.Answers[key] = v1alpha1.Answer{Action: v1alpha1.AnswerAccept, Content: content}
	})
}

const nameForm = `{"type":"object","required":["name"],"properties":{
	"name":{"type":"string"},"count":{"type":"integer"},"days":{"type":"array","items":{"type":"string","enum":["mo","tu"]}}}}`

func TestBuildDeliversAnswers(t *testing.T) {
	tool := aTool().property(`{"type":"string"}`).ask("who", nameForm).
		ask("from_call", `{"type":"object","properties":{}}`, askedByCall).
		ask("never", nameForm, func(q *v1alpha1.ToolQuestion) { q.When = "false" }).
		args("--name=$(MCP_ANSWER_WHO_NAME)").obj()
	task := aTask().answer("who", `{ "name": "$(DB_PASSWORD)", "count": 1e2, "days": ["mo"], "more": 9007199254740993 }`).
		change(func(s *v1alpha1.MCPTaskSpec) {
			s.CallAnswers = map[string]v1alpha1.Answer{"from_call": {Action: v1alpha1.AnswerAccept}}
		}).obj()
	job, err := Build(tool, task)
	if err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.Template
	const want = `{"from_call":{"action":"accept","content":{}},` +
		`"who":{"action":"accept","content":{"name":"$(DB_PASSWORD)","count":1e2,"days":["mo"],"more":9007199254740993}}}`
	if got := pod.Annotations[v1alpha1.AnnotationAnswers]; got != want {
		t.Errorf("annotation %s\nwant       %s", got, want)
	}
	items := pod.Spec.Volumes[0].DownwardAPI.Items
	if len(items) != 2 || items[0].Path != "answers.json" ||
		items[0].FieldRef.FieldPath != "metadata.annotations['mcptasks.dev/answers']" || items[1].Path != "arguments.json" {
		t.Errorf("files %+v", items)
	}
	env := map[string]string{}
	for _, v := range pod.Spec.Containers[0].Env {
		env[v.Name] = v.Value
	}
	for name, want := range map[string]string{
		"MCP_ANSWER_WHO_NAME": "$$(DB_PASSWORD)", "MCP_ANSWER_WHO_COUNT": "100",
		"MCP_ANSWER_NEVER_NAME": "", "MCP_ARG_X": "",
	} {
		if got, ok := env[name]; !ok || got != want {
			t.Errorf("%s = %q (%v), want %q", name, got, ok, want)
		}
	}
	if _, ok := env["MCP_ANSWER_WHO_DAYS"]; ok {
		t.Error("a list is in the environment")
	}
	again, err := Build(tool, task)
	if err != nil || again.Spec.Template.Annotations[v1alpha1.AnnotationAnswers] != want {
		t.Errorf("once more: %v, %v", again.Spec.Template.Annotations, err)
	}
}

// There is never a Job without consent, whatever brought somebody to build one.
func TestBuildWithoutConsent(t *testing.T) {
	const confirm = `{"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"}}}`
	tool := aTool().ask("sure", confirm, func(q *v1alpha1.ToolQuestion) { q.ProceedIf = "answer.ok" })
	with := func(action v1alpha1.AnswerAction, content string) *taskBuilder {
		return aTask().change(func(s *v1alpha1.MCPTaskSpec) {
			s.Answers = map[string]v1alpha1.Answer{"sure": {Action: action, Content: content}}
		})
	}
	for _, tt := range []struct {
		name string
		task *taskBuilder
		want string
	}{
		{"open", aTask(), `the question "sure" has not been answered`},
		{"no", with("accept", `{"ok":false}`), "Not confirmed"},
		{"declined", with("decline", ""), "was declined"},
		{"dismissed", with("cancel", `{"ok":true}`), "was dismissed"},
		{"nothing", with("accept", ""), "proceedIf"},
		{"another key", aTask().answer("other", `{"ok":true}`), "has not been answered"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Build(tool.obj(), tt.task.obj())
			checkProblem(t, err, v1alpha1.ReasonRejected, tt.want)
		})
	}
	if _, err := Build(tool.obj(), with("accept", `{"ok":true}`).obj()); err != nil {
		t.Errorf("with consent: %v", err)
	}
}

func TestCheckQuestions(t *testing.T) {
	invalid := v1alpha1.ToolReasonInvalidQuestion
	for _, tt := range []struct {
		name   string
		tool   *toolBuilder
		reason string
		want   string
	}{
		{"good", aTool().ask("a", nameForm).ask("b", nameForm, askedByCall), "", ""},
		{"bad schema", aTool().ask("a", `{"type":"object"}`), invalid, `spec.questions: question "a": schema: "properties" is missing`},
		{"bad expression", aTool().ask("a", nameForm, func(q *v1alpha1.ToolQuestion) { q.ProceedIf = "answer.nam == ''" }), invalid,
			"undefined field 'nam'"},
		{"a task for nobody", aTool().ask("a", nameForm).change(func(tool *v1alpha1.MCPTool) {
			tool.Spec.Execution.Mode = v1alpha1.ModeForbidden
		}), invalid, `question "a": with execution.mode Forbidden no caller gets a task`},
		{"asked by call in mode Forbidden", aTool().ask("a", nameForm, askedByCall).change(func(tool *v1alpha1.MCPTool) {
			tool.Spec.Execution.Mode = v1alpha1.ModeForbidden
		}), "", ""},
		{"unknown variable", aTool().ask("a", nameForm).args("--x=$(MCP_ANSWER_A_NAM)"), v1alpha1.ToolReasonInvalidTemplate,
			"no schema of a question declares a scalar property for $(MCP_ANSWER_A_NAM); declared are MCP_ANSWER_A_COUNT, " +
				"MCP_ANSWER_A_NAME"},
		{"reserved variable", aTool().env("MCP_ANSWER_X", "1"), v1alpha1.ToolReasonInvalidTemplate,
			"are for the arguments and answers"},
		{"in a shell script", aTool().ask("a", nameForm).command("sh", "-c", "echo $(MCP_ANSWER_A_NAME)"),
			v1alpha1.ToolReasonUnsafeArgument, "the caller could run anything"},
		{"as an option", aTool().ask("a", nameForm).command("rm", "$(MCP_ANSWER_A_NAME)"), v1alpha1.ToolReasonUnsafeArgument,
			`a value of the property "name" of the answer to "a" that begins with "-"`},
	} {
		t.Run(tt.name, func(t *testing.T) { checkProblem(t, Check(tt.tool.obj()), tt.reason, tt.want) })
	}
}

// What stands beside the result is on the same object.
func TestResultLeavesRoomForAnswers(t *testing.T) {
	task := aTask().limit(v1alpha1.MaxResultBytes).answer("a", `{"a":"`+strings.Repeat("<", 60<<10)+`"}`).obj()
	task.Status.Questions = map[string]v1alpha1.Question{"a": {Message: strings.Repeat("&", 4096), RequestedSchema: `{}`}}
	result := ReadResult(task, nil, Ending{}, wholeLog(strings.Repeat("x", v1alpha1.MaxResultBytes)))
	all := stored([]byte(result.JSON)) + stored([]byte(task.Spec.Answers["a"].Content)) +
		stored([]byte(task.Status.Questions["a"].Message))
	if most := v1alpha1.MaxResultBytes + maxBeside; all > most {
		t.Errorf("result, question and answer take %d bytes together, more than %d", all, most)
	}
}
