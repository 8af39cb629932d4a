package job

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/headerparam"
	"github.com/mcptasks/mcptasks/internal/question"
	"github.com/mcptasks/mcptasks/internal/schema"
)

// noArguments is the input schema of a tool that declares none.
const noArguments = `{"type":"object","additionalProperties":false}`

// InputSchema is the tool's inputSchema; one that allows no properties where it has none.
func InputSchema(tool *v1alpha1.MCPTool) []byte {
	if tool.Spec.InputSchema == nil || len(tool.Spec.InputSchema.Raw) == 0 {
		return []byte(noArguments)
	}
	return tool.Spec.InputSchema.Raw
}

// OutputSchema is the tool's outputSchema, nil where it has none.
func OutputSchema(tool *v1alpha1.MCPTool) []byte {
	if tool.Spec.OutputSchema == nil || len(tool.Spec.OutputSchema.Raw) == 0 {
		return nil
	}
	return tool.Spec.OutputSchema.Raw
}

// Check reports as a *Problem with a ToolReason why no Job can be built from the tool, or none that is safe. It says nothing
// about what the API server will think of the Job.
func Check(tool *v1alpha1.MCPTool) error {
	_, err := NewBlueprint(tool)
	return err
}

// A Blueprint is a tool that has been checked, ready for many calls. It does not change and is safe for concurrent use, as
// long as nobody changes the tool.
type Blueprint struct {
	tool      *v1alpha1.MCPTool
	input     *schema.Schema
	questions *question.Set
	bindings  *bindings
	variables []variable
	// used are the variables that the template refers to.
	used map[string]bool
}

// NewBlueprint checks a tool as Check does.
func NewBlueprint(tool *v1alpha1.MCPTool) (*Blueprint, error) {
	if len(tool.Name) > validation.LabelValueMaxLength {
		return nil, problem(v1alpha1.ToolReasonInvalidTemplate, field.ErrorList{field.TooLong(field.NewPath("metadata", "name"), "",
			validation.LabelValueMaxLength)})
	}
	input, variables, err := checkSchemas(tool)
	if err != nil {
		return nil, err
	}
	questions, err := checkQuestions(tool)
	if err != nil {
		return nil, err
	}
	bindings, err := compileBindings(tool)
	if err != nil {
		return nil, err
	}
	variables = append(variables, answerVariables(questions)...)
	at := field.NewPath("spec", "jobTemplate")
	mistakes := checkTemplate(tool, at)
	allowed, err := allowances(tool)
	if err != nil {
		annotation := field.NewPath("metadata", "annotations").Key(v1alpha1.AnnotationUnsafe)
		mistakes = append(mistakes, field.Forbidden(annotation, err.Error()))
	}
	found := inspect(&tool.Spec.JobTemplate.Spec.Template.Spec, at.Child("spec", "template", "spec"), variables, allowed)
	if err := problem(v1alpha1.ToolReasonInvalidTemplate, append(mistakes, found.unknown...)); err != nil {
		return nil, err
	}
	if err := problem(v1alpha1.ToolReasonUnsafeArgument, found.unsafe); err != nil {
		return nil, err
	}
	return &Blueprint{
		tool: tool, input: input, questions: questions, bindings: bindings, variables: variables, used: found.used,
	}, nil
}

// Questions are the tool's questions, compiled.
func (b *Blueprint) Questions() *question.Set { return b.questions }

// checkQuestions compiles the tool's questions, and checks that they go with the tool.
func checkQuestions(tool *v1alpha1.MCPTool) (*question.Set, error) {
	invalid := func(format string, args ...any) error {
		return &Problem{Reason: v1alpha1.ToolReasonInvalidQuestion, Message: "spec.questions: " + fmt.Sprintf(format, args...)}
	}
	set, err := question.Compile(tool.Spec.Questions, InputSchema(tool))
	if err != nil {
		return nil, invalid("%s", err)
	}
	for _, q := range tool.Spec.Questions {
		if tool.Spec.Execution.Mode == v1alpha1.ModeForbidden && set.Asks(q.Key) == v1alpha1.AskTask {
			return nil, invalid("question %q: with execution.mode Forbidden no caller gets a task that it could answer; use ask: Call, "+
				"or another mode", q.Key)
		}
	}
	return set, nil
}

// checkSchemas compiles both schemas.
func checkSchemas(tool *v1alpha1.MCPTool) (*schema.Schema, []variable, error) {
	invalid := func(name, why string) error {
		return &Problem{Reason: v1alpha1.ToolReasonInvalidSchema, Message: "spec." + name + ": " + why}
	}
	input, err := schema.Compile(InputSchema(tool))
	if err != nil {
		return nil, nil, invalid("inputSchema", err.Error())
	}
	headers, err := headerparam.Find(InputSchema(tool))
	if err == nil {
		err = checkWriteOnly(input, headers)
	}
	if err != nil {
		return nil, nil, invalid("inputSchema", err.Error())
	}
	vars, err := variables(input)
	if err != nil {
		return nil, nil, invalid("inputSchema", err.Error())
	}
	if output := OutputSchema(tool); output != nil {
		compiled, err := schema.Compile(output)
		if err == nil {
			err = checkJoinedOutput(tool, compiled)
		}
		if err != nil {
			return nil, nil, invalid("outputSchema", err.Error())
		}
	}
	return input, vars, nil
}

// checkWriteOnly checks that what is writeOnly can be kept secret. Headers are logged everywhere on the way.
func checkWriteOnly(input *schema.Schema, headers []headerparam.Param) error {
	if input.Withholds() {
		return errors.New("/: the arguments as a whole cannot be writeOnly; mark the properties that are")
	}
	for _, header := range headers {
		if input.Withholds(header.Path...) {
			return fmt.Errorf("property %q: a writeOnly value cannot have x-mcp-header, which repeats it in a header",
				strings.Join(header.Path, "."))
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
