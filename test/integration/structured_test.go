package integration

import (
	"encoding/json"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// A tool with an output schema has a structured result that fits it and is there as text, too, or an error in words; a tool that
// failed is not measured by the schema.
func TestStructuredResults_A29(t *testing.T) {
	const rows = `{"type":"object","required":["rows"],"properties":{"rows":{"type":"integer"}}}`
	for name, c := range map[string]struct {
		printed    string
		code       int32
		structured string // empty: an error
		says       string
	}{
		"A29: fits":              {`{"rows":3}`, 0, `{"rows":3}`, `{"rows":3}`},
		"A29: behind other text": {"reading\n" + `{"rows":3}`, 0, `{"rows":3}`, `{"rows":3}`},
		"A29: the last of two":   {`{"rows":2}` + "\n" + `{"rows":3}`, 0, `{"rows":3}`, `{"rows":3}`},
		"A29: another type":      {`{"rows":"3"}`, 0, "", "/rows"},
		"A29: nothing":           {"", 0, "", "no JSON object"},
		"A29: no JSON":           {`{"rows":NaN}`, 0, "", "no JSON object"},
		"A29: too much":          {`{"rows":3,"x":"` + strings.Repeat("x", 5<<20) + `"}`, 0, "", "no JSON object"},
		"A29: failed":            {`{"rows":"none"}`, 1, "", "code 1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.logs.set(c.printed, nil)
			w.controller()
			call := w.call(w.tool(func(tool *v1alpha1.MCPTool) {
				tool.Spec.OutputSchema = &apiextensionsv1.JSON{Raw: []byte(rows)}
			}))
			pod := w.pod(call)
			w.runs(pod)
			w.exits(pod, "main", c.code)
			done := w.awaitState(call, v1alpha1.StateCompleted)
			var result struct{ StructuredContent json.RawMessage }
			w.must(json.Unmarshal([]byte(done.Status.Result), &result))
			text, isError := resultText(t, done)
			if string(result.StructuredContent) != c.structured || isError != (c.structured == "") || !strings.Contains(text, c.says) {
				t.Errorf("structured %.100s, isError %t, text %.300s", result.StructuredContent, isError, text)
			}
		})
	}
}
