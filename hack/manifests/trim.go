package main

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// embedded are the properties, by their path in a CRD's schema, whose type is Kubernetes' own. The description of the property
// itself is ours and stays; everything below is documented by "kubectl explain job".
var embedded = [][]string{{"spec", "jobTemplate"}}

// trim drops the descriptions below the embedded properties of a CRD. It gives the new YAML and the size of the CRD as compact
// JSON, which is what "kubectl apply" stores.
func trim(crd []byte) ([]byte, int, error) {
	var object map[string]any
	if err := yaml.Unmarshal(crd, &object); err != nil {
		return nil, 0, err
	}
	if kind, _ := object["kind"].(string); kind != "CustomResourceDefinition" {
		return nil, 0, fmt.Errorf("kind is %q, not CustomResourceDefinition", kind)
	}
	spec, _ := object["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	if len(versions) == 0 {
		return nil, 0, fmt.Errorf("spec.versions is empty")
	}
	for _, v := range versions {
		version, _ := v.(map[string]any)
		validation, _ := version["schema"].(map[string]any)
		schema, _ := validation["openAPIV3Schema"].(map[string]any)
		if schema == nil {
			return nil, 0, fmt.Errorf("version %v has no schema", version["name"])
		}
		for _, path := range embedded {
			dropBelow(property(schema, path))
		}
	}
	compact, err := json.Marshal(object)
	if err != nil {
		return nil, 0, err
	}
	out, err := yaml.Marshal(object)
	if err != nil {
		return nil, 0, err
	}
	return append([]byte("---\n"), out...), len(compact), nil
}

// property walks from a schema to the schema of one of its properties; nil where there is none.
func property(schema map[string]any, path []string) map[string]any {
	for _, name := range path {
		properties, _ := schema["properties"].(map[string]any)
		schema, _ = properties[name].(map[string]any)
	}
	return schema
}

// dropBelow drops the descriptions of all schemas below one, but not its own. A property that is called "description" is not a
// description, so it walks schemas, not maps.
func dropBelow(schema map[string]any) {
	drop := func(v any) {
		if below, ok := v.(map[string]any); ok {
			delete(below, "description")
			dropBelow(below)
		}
	}
	for _, keyword := range []string{"items", "additionalProperties", "not"} {
		drop(schema[keyword])
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, v := range properties {
		drop(v)
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[keyword].([]any)
		for _, v := range list {
			drop(v)
		}
	}
}
