package controller

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/schema"
)

// exampleTask is the name of the task that example calls pretend to be; no real task's is that short.
const exampleTask = "t-example"

// exampleJob is the Job that a call of the tool with example arguments would become. Where no example can be found, it is the Job
// of a call without arguments, as if the tool demanded none. Bindings that do not go with an example of the tool's author are a
// *job.Problem; where the example is made up here, they are left out then.
func exampleJob(tool *v1alpha1.MCPTool) (*batchv1.Job, error) {
	arguments, ofAuthor := exampleArguments(job.InputSchema(tool))
	if arguments == nil {
		undemanding, err := withoutDemands(job.InputSchema(tool))
		if err != nil {
			return nil, err
		}
		tool = tool.DeepCopy()
		tool.Spec.InputSchema, arguments = &apiextensionsv1.JSON{Raw: undemanding}, []byte(`{}`)
	}
	// Nobody is asked, and the answers are empty; the expressions have been checked with the schema as it is.
	if len(tool.Spec.Questions) > 0 {
		tool = tool.DeepCopy()
		for i := range tool.Spec.Questions {
			q := &tool.Spec.Questions[i]
			q.When, q.Message, q.ProceedIf = "false", "''", ""
		}
	}
	blueprint, err := job.NewBlueprint(tool)
	if err != nil {
		return nil, err
	}
	if err := blueprint.CheckBindings(arguments); err != nil {
		if ofAuthor {
			return nil, err
		}
		tool = tool.DeepCopy()
		tool.Spec.Bindings = nil
		if blueprint, err = job.NewBlueprint(tool); err != nil {
			return nil, err
		}
	}
	split, err := blueprint.Split(arguments)
	if err != nil {
		return nil, err
	}
	example := &v1alpha1.MCPTask{
		ObjectMeta: metav1.ObjectMeta{Name: exampleTask, Namespace: tool.Namespace, UID: "00000000-0000-0000-0000-000000000000"},
		Spec: v1alpha1.MCPTaskSpec{
			Tool: v1alpha1.ToolReference{
				Namespace: tool.Namespace, Name: tool.Name, UID: tool.UID, Generation: tool.Generation,
			},
			Arguments: string(split.Public),
			Owner:     v1alpha1.Owner{Issuer: "kubernetes", Subject: "example"},
			Execution: tool.Spec.Execution,
			Result:    tool.Spec.Result,
		},
	}
	if split.Secret != nil {
		example.Spec.SecretArguments = &v1alpha1.SecretArguments{}
		for _, v := range split.Secret.Variables {
			example.Spec.SecretArguments.Variables = append(example.Spec.SecretArguments.Variables, v.Name)
		}
	}
	return blueprint.Build(example)
}

// withoutDemands is an inputSchema with the same properties that an empty object fits.
func withoutDemands(inputSchema []byte) ([]byte, error) {
	var root map[string]json.RawMessage
	if err := json.Unmarshal(inputSchema, &root); err != nil {
		return nil, fmt.Errorf("read inputSchema: %w", err)
	}
	maps.DeleteFunc(root, func(keyword string, _ json.RawMessage) bool {
		return !slices.Contains([]string{"$schema", "$defs", "definitions", "type", "properties"}, keyword)
	})
	return json.Marshal(root)
}

// exampleArguments are arguments that fit an inputSchema: one of the examples of its author, else the least that it demands. nil:
// none could be found.
func exampleArguments(inputSchema []byte) (arguments []byte, ofAuthor bool) {
	compiled, err := schema.Compile(inputSchema)
	if err != nil {
		return nil, false
	}
	var root struct {
		Examples   []json.RawMessage          `json:"examples"`
		Default    json.RawMessage            `json:"default"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(inputSchema, &root); err != nil {
		return nil, false
	}
	candidates := root.Examples
	if root.Default != nil {
		candidates = append(candidates, root.Default)
	}
	ofAuthors := len(candidates)
	if least, err := json.Marshal(leastArguments(compiled.Properties(), root.Properties)); err == nil {
		candidates = append(candidates, least)
	}
	for i, c := range candidates {
		if compiled.Validate(c) == nil {
			return c, i < ofAuthors
		}
	}
	return nil, false
}

// leastArguments has a value for each property that the schema demands.
func leastArguments(properties []schema.Property, schemas map[string]json.RawMessage) map[string]any {
	arguments := map[string]any{}
	for _, p := range properties {
		if p.Required {
			arguments[p.Name] = exampleValue(p, schemas[p.Name])
		}
	}
	return arguments
}

func exampleValue(p schema.Property, doc json.RawMessage) any {
	var s struct {
		Examples  []any    `json:"examples"`
		Minimum   *float64 `json:"minimum"`
		MinLength int      `json:"minLength"`
	}
	_ = json.Unmarshal(doc, &s) // A schema that is not an object, true for instance, has no examples.
	switch {
	case len(s.Examples) > 0:
		return s.Examples[0]
	case p.Default != nil:
		return p.Default
	case len(p.Enum) > 0:
		return p.Enum[0]
	}
	switch p.Type {
	case "integer", "number":
		if s.Minimum != nil {
			return *s.Minimum
		}
		return 1
	case "boolean":
		return false
	case "array":
		return []any{}
	case "object":
		return map[string]any{}
	default:
		text := []byte("example")
		for len(text) < min(s.MinLength, 1024) {
			text = append(text, 'x')
		}
		return string(text)
	}
}
