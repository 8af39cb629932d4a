// Package chart tests the Helm chart: what it renders, by helm itself, and what an API server makes of it. It needs helm in
// MCPTASKS_HELM, and a cluster's kubeconfig in MCPTASKS_INTEGRATION_KUBECONFIG (make test-integration sees to both). No pod
// has to run: whether the installed product works is for the end-to-end tests.
package chart

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const (
	release   = "chart-test"
	namespace = "integration-chart"
)

var (
	repository = filepath.Join("..", "..", "..")
	chartDir   = filepath.Join(repository, "charts", "mcptasks")
)

// helm runs helm and gives what it printed on standard output.
func helm(ctx context.Context, t *testing.T, args ...string) (string, error) {
	t.Helper()
	program := os.Getenv("MCPTASKS_HELM")
	if program == "" {
		t.Skip("MCPTASKS_HELM is not set; make test-integration sets it")
	}
	var out, stderr strings.Builder
	cmd := exec.CommandContext(ctx, program, args...)
	// What a user has set up for helm is not ours to use.
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return out.String(), errors.New(stderr.String())
	}
	return out.String(), nil
}

// render renders the chart with values and gives its objects by "Kind/name".
func render(t *testing.T, values ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	args := []string{"template", release, chartDir, "--namespace", namespace}
	for _, v := range values {
		args = append(args, "--set", v)
	}
	out, err := helm(t.Context(), t, args...)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]*unstructured.Unstructured{}
	for documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(out))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &obj.Object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(obj.Object) == 0 {
			continue
		}
		key := obj.GetKind() + "/" + obj.GetName()
		if objects[key] != nil {
			t.Errorf("%s is rendered twice", key)
		}
		objects[key] = obj
	}
}

// documents reads the objects of a file of the repository.
func documents(t *testing.T, path ...string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{repository}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &obj.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, obj)
	}
	return objects
}
