package job

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// What the guides tell authors to write is a tool that can be used.
func TestHowToExamples(t *testing.T) {
	for guide, example := range map[string]string{
		"secret-arguments.md": `{"url":"https://example.org/dump","password":"long enough","headers":{"a":"b"}}`,
		"bindings.md":         `{"dataset":"demo","gpus":2,"memory":"16Gi"}`,
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", guide))
		if err != nil {
			t.Fatal(err)
		}
		_, block, _ := strings.Cut(string(text), "```yaml\n")
		block, _, _ = strings.Cut(block, "```")
		tool := &v1alpha1.MCPTool{}
		if err := yaml.UnmarshalStrict([]byte(block), tool); err != nil {
			t.Fatalf("%s: %v", guide, err)
		}
		if len(tool.Spec.Bindings) > 0 {
			main := &tool.Spec.JobTemplate.Spec.Template.Spec // which the guide leaves out
			main.Containers = append(main.Containers, aTool().tool.Spec.JobTemplate.Spec.Template.Spec.Containers...)
			main.Containers[0].Name = "train"
		}
		if err := checkArguments(t, tool, example); err != nil {
			t.Errorf("%s: %v", guide, err)
		}
	}
}
