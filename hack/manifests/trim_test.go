package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const crdTemplate = `
kind: CustomResourceDefinition
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: kept
        properties:
          spec:
            properties:
              name: {description: kept, maxLength: 1048576, type: string}
              jobTemplate: %s
`

func crd(jobTemplate string) []byte {
	return []byte(strings.Replace(crdTemplate, "%s", jobTemplate, 1))
}

func parse(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTrimDropsDescriptionsOnlyBelowEmbeddedTypes(t *testing.T) {
	for name, tc := range map[string]struct{ before, after string }{
		"own description stays": {`{description: ours, type: object}`, `{description: ours, type: object}`},
		"properties": {
			`{properties: {spec: {description: x, type: object, properties: {deep: {description: y, type: string}}}}}`,
			`{properties: {spec: {type: object, properties: {deep: {type: string}}}}}`,
		},
		"a property of that name stays": {
			`{properties: {description: {description: x, type: string}}}`,
			`{properties: {description: {type: string}}}`,
		},
		"lists and maps": {
			`{properties: {l: {items: {description: x, type: string}}, m: {additionalProperties: {description: x, type: string}}}}`,
			`{properties: {l: {items: {type: string}}, m: {additionalProperties: {type: string}}}}`,
		},
		"combinations": {
			`{anyOf: [{description: x, type: string}], not: {description: x}}`, `{anyOf: [{type: string}], not: {}}`,
		},
		"what is enforced stays": {
			`{properties: {p: {description: x, default: {description: d}, enum: [description], x-kubernetes-validations: [{rule: a}]}}}`,
			`{properties: {p: {default: {description: d}, enum: [description], x-kubernetes-validations: [{rule: a}]}}}`,
		},
		"map allowed by a boolean": {`{additionalProperties: true}`, `{additionalProperties: true}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, size, err := trim(crd(tc.before))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, crd(tc.after)), parse(t, got)); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(string(got), "maxLength: 1048576\n") {
				t.Error("a whole number did not stay one")
			}
			if size == 0 || size > len(got) {
				t.Errorf("size %d of %d bytes of YAML", size, len(got))
			}
			again, _, err := trim(got)
			if err != nil || string(again) != string(got) {
				t.Errorf("trimming twice differs (error %v)", err)
			}
		})
	}
}

func TestTrimRefusesOtherThings(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"no YAML":     {"a: b: c", "yaml"},
		"other kind":  {"kind: Job", "not CustomResourceDefinition"},
		"no versions": {"kind: CustomResourceDefinition", "spec.versions"},
		"no schema":   {"kind: CustomResourceDefinition\nspec: {versions: [{name: v1}]}", "version v1 has no schema"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := trim([]byte(tc.in)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestRun(t *testing.T) {
	root := t.TempDir()
	path := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	write := func(file string, data []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(path("crd", "a.yaml"), crd(`{properties: {p: {description: x, type: string}}}`))
	write(path("rbac", "role.yaml"), []byte("kind: ClusterRole\n"))
	write(path("chart", "files", "crds", "gone.yaml"), []byte("kind: CustomResourceDefinition\n"))

	if err := run(path("crd"), path("rbac"), path("chart")); err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]string{
		{path("crd", "a.yaml"), path("chart", "files", "crds", "a.yaml")},
		{path("rbac", "role.yaml"), path("chart", "files", "rbac", "role.yaml")},
	} {
		source, err := os.ReadFile(pair[0])
		if err != nil {
			t.Fatal(err)
		}
		copied, err := os.ReadFile(pair[1])
		if err != nil {
			t.Fatal(err)
		}
		if string(source) != string(copied) {
			t.Errorf("%s is no copy of %s", pair[1], pair[0])
		}
		if strings.Contains(string(copied), "description: x") {
			t.Errorf("%s was copied before it was trimmed", pair[1])
		}
	}
	if _, err := os.Stat(path("chart", "files", "crds", "gone.yaml")); err == nil {
		t.Error("the chart keeps a CRD that is no longer generated")
	}

	write(path("crd", "large.yaml"), crd(`{description: `+strings.Repeat("x", maxApplied)+`}`))
	if err := run(path("crd"), path("rbac"), path("chart")); err == nil || !strings.Contains(err.Error(), "large.yaml") {
		t.Errorf("error %v; a CRD too large for kubectl apply must be refused by name", err)
	}
	if err := run(path("none"), path("rbac"), path("chart")); err == nil {
		t.Error("an empty directory of CRDs must be refused")
	}
}
