package kube

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// TestManifests reads the samples and the tools of the conformance run. Each tool has only fields that there are.
func TestManifests(t *testing.T) {
	for _, dir := range []string{"../../config/samples", "../conformance/tools"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		objects, err := ReadManifests(files...)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, obj := range objects {
			if obj.GetKind() != "MCPTool" {
				continue
			}
			found++
			tool := &v1alpha1.MCPTool{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, tool, true); err != nil {
				t.Errorf("%s in %s: %v", obj.GetName(), dir, err)
			}
		}
		if found == 0 {
			t.Errorf("there is no tool in %s", dir)
		}
	}
}

func TestReadManifestsOfNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "empty.yaml")
	if err := os.WriteFile(file, []byte("# nothing\n---\n\n---\nkind: Namespace\nmetadata: {name: a}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := ReadManifests(file)
	if err != nil || len(objects) != 1 || objects[0].GetName() != "a" {
		t.Errorf("read %v (%v), want the one namespace", objects, err)
	}
}
