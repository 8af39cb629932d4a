package controller

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/schema"
)

func TestExampleArguments(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"none are needed", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{}`},
		{"the schema has an example", `{"type":"object","required":["a"],"examples":[{"a":1},{"a":"x"}],
			"properties":{"a":{"type":"string"}}}`, `{"a":"x"}`},
		{"the schema has a default", `{"type":"object","required":["a"],"default":{"a":"y"},
			"properties":{"a":{"type":"string","pattern":"^y$"}}}`, `{"a":"y"}`},
		{"the least of each type", `{"type":"object","required":["s","i","n","b","l","o"],"properties":{
			"s":{"type":"string"},"i":{"type":"integer"},"n":{"type":"number","minimum":2.5},
			"b":{"type":"boolean"},"l":{"type":"array"},"o":{"type":"object"},"optional":{"type":"string"}}}`,
			`{"b":false,"i":1,"l":[],"n":2.5,"o":{},"s":"example"}`},
		{"what the properties say", `{"type":"object","required":["e","d","x","long"],"properties":{
			"e":{"enum":["b","a"]},"d":{"type":"string","default":"z","pattern":"^z$"},
			"x":{"type":"string","examples":["0a1b"],"pattern":"^[0-9a-f]{4}$"},"long":{"type":"string","minLength":9}}}`,
			`{"d":"z","e":"b","long":"examplexx","x":"0a1b"}`},
		{"none can be found", `{"type":"object","required":["a"],"properties":{"a":{"type":"string","pattern":"^[0-9]{3}-x$"}}}`, ``},
	} {
		got, ofAuthor := exampleArguments([]byte(c.schema))
		if string(got) != c.want || ofAuthor != strings.HasPrefix(c.name, "the schema has") {
			t.Errorf("%s: %s (of the author: %t), want %s", c.name, got, ofAuthor, c.want)
		}
	}
}

func TestWithoutDemands(t *testing.T) {
	const demanding = `{"type":"object","required":["a"],"minProperties":3,"allOf":[{"required":["b"]}],
		"$defs":{"t":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/t"},"b":{"type":"integer"}}}`
	doc, err := withoutDemands([]byte(demanding))
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile(doc)
	if err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	if err := s.Validate([]byte(`{}`)); err != nil {
		t.Errorf("an empty object does not fit: %v", err)
	}
	var names []string
	for _, p := range s.Properties() {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}

// An example of the author's has to go with the bindings; one that is made up here need not, and what is secret in either is not
// in the Job.
func TestExampleJob(t *testing.T) {
	most := resource.MustParse("4Gi")
	for _, c := range []struct{ name, schema, memory, problem string }{
		{"the author's example", `{"type":"object","examples":[{"memory":"2Gi","token":"x"}]`, "2Gi", ""},
		{"the author's example asks for too much", `{"type":"object","examples":[{"memory":"8Gi"}]`, "", "at most 4Gi"},
		{"a made-up example", `{"type":"object","required":["memory","token"]`, "1Gi", ""},
	} {
		tool := &v1alpha1.MCPTool{}
		tool.Name = "tool"
		tool.Spec.InputSchema = &apiextensionsv1.JSON{Raw: []byte(c.schema +
			`,"properties":{"memory":{"type":"string"},"token":{"type":"string","writeOnly":true}}}`)}
		tool.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{
			Name: "main", Image: "tool:v1",
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": resource.MustParse("1Gi")}},
		}}
		tool.Spec.Bindings = []v1alpha1.Binding{{
			Field: "spec.template.spec.containers[name=main].resources.limits.memory", Value: "arguments.memory", Max: &most,
		}}
		j, err := exampleJob(tool)
		if c.problem != "" {
			var problem *job.Problem
			if !errors.As(err, &problem) || problem.Reason != v1alpha1.ToolReasonInvalidBinding ||
				!strings.Contains(problem.Message, c.problem) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		main := j.Spec.Template.Spec.Containers[0]
		if got := main.Resources.Limits.Memory().String(); got != c.memory {
			t.Errorf("%s: memory %s, want %s", c.name, got, c.memory)
		}
		if env := main.Env[1]; env.Name != "MCP_ARG_TOKEN" || env.ValueFrom == nil || env.ValueFrom.SecretKeyRef == nil {
			t.Errorf("%s: %+v is not from the Secret", c.name, env)
		}
	}
}
