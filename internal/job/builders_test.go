package job

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// A toolBuilder makes MCPTools for tests.
type toolBuilder struct{ tool v1alpha1.MCPTool }

// aTool begins with a tool that has one container "main" and takes any argument.
func aTool() *toolBuilder {
	b := &toolBuilder{}
	b.tool.ObjectMeta = metav1.ObjectMeta{Name: "echo-args", Namespace: "mcptasks", UID: "tool-uid", Generation: 3}
	b.tool.Spec.Description = "A tool."
	b.tool.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "tool:v1"}}
	return b.input(`{"type":"object"}`)
}

func (b *toolBuilder) input(schema string) *toolBuilder {
	b.tool.Spec.InputSchema = &apiextensionsv1.JSON{Raw: []byte(schema)}
	return b
}

// property makes the input schema one of a property "x" and others that need no more than a name.
func (b *toolBuilder) property(schema string) *toolBuilder {
	return b.input(`{"type":"object","properties":{"x":` + schema + `,"y":{"type":"string"},"n":{"type":"integer"},` +
		`"list":{"type":"array"}}}`)
}

func (b *toolBuilder) output(schema string) *toolBuilder {
	b.tool.Spec.OutputSchema = &apiextensionsv1.JSON{Raw: []byte(schema)}
	return b
}

func (b *toolBuilder) allow(words string) *toolBuilder {
	b.tool.Annotations = map[string]string{v1alpha1.AnnotationUnsafe: words}
	return b
}

func (b *toolBuilder) command(argv ...string) *toolBuilder {
	return b.main(func(c *corev1.Container) { c.Command = argv })
}
func (b *toolBuilder) args(argv ...string) *toolBuilder {
	return b.main(func(c *corev1.Container) { c.Args = argv })
}

func (b *toolBuilder) env(name, value string) *toolBuilder {
	return b.main(func(c *corev1.Container) { c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value}) })
}

func (b *toolBuilder) main(change func(*corev1.Container)) *toolBuilder {
	change(&b.tool.Spec.JobTemplate.Spec.Template.Spec.Containers[0])
	return b
}

func (b *toolBuilder) job(change func(*batchv1.JobSpec)) *toolBuilder {
	change(&b.tool.Spec.JobTemplate.Spec)
	return b
}

func (b *toolBuilder) pod(change func(*corev1.PodTemplateSpec)) *toolBuilder {
	change(&b.tool.Spec.JobTemplate.Spec.Template)
	return b
}

func (b *toolBuilder) change(change func(*v1alpha1.MCPTool)) *toolBuilder {
	change(&b.tool)
	return b
}

func (b *toolBuilder) obj() *v1alpha1.MCPTool { return b.tool.DeepCopy() }

// A taskBuilder makes MCPTasks for tests.
type taskBuilder struct{ task v1alpha1.MCPTask }

// aTask begins with a call of aTool with the arguments {}.
func aTask() *taskBuilder {
	b := &taskBuilder{}
	b.task.ObjectMeta = metav1.ObjectMeta{Name: "t-abc", Namespace: "team-a", UID: "task-uid"}
	b.task.Spec.Tool = v1alpha1.ToolReference{Namespace: "mcptasks", Name: "echo-args", UID: "tool-uid", Generation: 3}
	b.task.Spec.Execution.Deadline.Duration = time.Hour
	return b.arguments(`{}`)
}

func (b *taskBuilder) arguments(doc string) *taskBuilder {
	b.task.Spec.Arguments = doc
	return b
}

func (b *taskBuilder) change(change func(*v1alpha1.MCPTaskSpec)) *taskBuilder {
	change(&b.task.Spec)
	return b
}

func (b *taskBuilder) limit(bytes int64) *taskBuilder {
	b.task.Spec.Result.Limit = *resource.NewQuantity(bytes, resource.BinarySI)
	return b
}

func (b *taskBuilder) fromMessage() *taskBuilder {
	b.task.Spec.Result.From = v1alpha1.ResultFromTerminationMessage
	return b
}

func (b *taskBuilder) obj() *v1alpha1.MCPTask { return b.task.DeepCopy() }

// wholeLog is a log that was read from its beginning.
func wholeLog(text string) Output { return Output{Data: []byte(text), Total: int64(len(text))} }

// checkProblem checks that err is a Problem with the reason and with want in its message, or nil where want is empty.
func checkProblem(t *testing.T, err error, reason, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("unexpected error: %v", err)
		}
		return
	}
	var p *Problem
	if !errors.As(err, &p) {
		t.Fatalf("error = %v, want a *Problem with %q", err, want)
	}
	if p.Reason != reason || !strings.Contains(p.Message, want) {
		t.Errorf("problem = %s: %s\nwant %s: …%s…", p.Reason, p.Message, reason, want)
	}
}

// A parsedResult is a CallToolResult as a client reads it.
type parsedResult struct {
	ResultType        string
	Content           []map[string]any
	StructuredContent json.RawMessage
	IsError           *bool
}

// parse reads a Result, and checks what holds for all of them.
func parse(t *testing.T, r Result) parsedResult {
	t.Helper()
	var p parsedResult
	if err := json.Unmarshal([]byte(r.JSON), &p); err != nil {
		t.Fatalf("result is not JSON: %v\n%.300q", err, r.JSON)
	}
	if p.ResultType != "complete" || p.Content == nil || p.IsError == nil || *p.IsError != r.IsError {
		t.Errorf("result = %.300s, want resultType complete, content, and isError %t", r.JSON, r.IsError)
	}
	asStored, err := json.Marshal(r.JSON)
	if err != nil || len(asStored) > v1alpha1.MaxResultBytes {
		t.Errorf("stored, the result has %d bytes (%v), want at most %d", len(asStored), err, v1alpha1.MaxResultBytes)
	}
	if r.Message == "" || len(r.Message) > 1024 || r.Reason == "" {
		t.Errorf("reason = %q, message = %q", r.Reason, r.Message)
	}
	return p
}

// text is the text of the only block of a result.
func (p parsedResult) text(t *testing.T) string {
	t.Helper()
	if len(p.Content) != 1 || p.Content[0]["type"] != "text" {
		t.Fatalf("content = %v, want one text block", p.Content)
	}
	text, _ := p.Content[0]["text"].(string)
	return text
}
