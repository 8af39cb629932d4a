// Package headerparam finds the arguments of a tool that clients mirror in HTTP headers, Mcp-Param-<name>, so that proxies can
// route by them: an input schema marks them with "x-mcp-header" (SEP-2243).
//
// It is pure: the controller asks it whether clients would accept a tool, the endpoint which headers to compare.
package headerparam

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Param is an argument that is mirrored in a header.
type Param struct {
	// Path leads to the argument by property names, from the root of the arguments.
	Path []string
	// Name is the header's name after "Mcp-Param-".
	Name string
	// Type is string, integer or boolean.
	Type string
}

// Find finds the x-mcp-header annotations of an input schema, in a stable order. An annotation for which clients would drop the
// tool is an error: a name that is no header name or is there twice, a property that is not a string, integer or boolean, or one
// that cannot be reached from the root through properties alone. So is one on a secret, which proxies would put into their logs.
func Find(inputSchema []byte) ([]Param, error) {
	var root any
	if err := json.Unmarshal(inputSchema, &root); err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	var found []Param
	if err := collect(root, nil, true, &found); err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b Param) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	for i := 1; i < len(found); i++ {
		if strings.EqualFold(found[i-1].Name, found[i].Name) {
			return nil, fmt.Errorf("x-mcp-header %q is used twice", found[i].Name)
		}
	}
	return found, nil
}

// collect walks a schema. reachable says whether node is reached through properties alone.
func collect(node any, path []string, reachable bool, found *[]Param) error {
	switch node := node.(type) {
	case []any:
		for _, element := range node {
			if err := collect(element, path, false, found); err != nil {
				return err
			}
		}
	case map[string]any:
		if _, ok := node["x-mcp-header"]; ok {
			param, err := newParam(node, path, reachable && len(path) > 0)
			if err != nil {
				return err
			}
			*found = append(*found, param)
		}
		for _, keyword := range slices.Sorted(maps.Keys(node)) {
			if err := collectBelow(keyword, node[keyword], path, reachable, found); err != nil {
				return err
			}
		}
	}
	return nil
}

// collectBelow walks what stands under a keyword. Values that are data, not schemas, are skipped.
func collectBelow(keyword string, value any, path []string, reachable bool, found *[]Param) error {
	switch keyword {
	case "const", "default", "enum", "examples", "x-mcp-header":
		return nil
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		children, _ := value.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(children)) {
			below := append(slices.Clone(path), name)
			if err := collect(children[name], below, reachable && keyword == "properties", found); err != nil {
				return err
			}
		}
		return nil
	default:
		return collect(value, path, false, found)
	}
}

func newParam(node map[string]any, path []string, reachable bool) (Param, error) {
	name, _ := node["x-mcp-header"].(string)
	typ, _ := node["type"].(string)
	wrong := func(why string) (Param, error) {
		return Param{}, fmt.Errorf("property %q: x-mcp-header %s", strings.Join(path, "."), why)
	}
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return wrong("must be usable as part of a header's name")
	case typ != "string" && typ != "integer" && typ != "boolean":
		return wrong("needs the type string, integer or boolean")
	case !reachable:
		return wrong("only works on properties (of properties) of the root")
	case node["writeOnly"] == true || node["format"] == "password":
		return wrong("must not be on a secret: proxies see and log headers")
	}
	return Param{Path: path, Name: name, Type: typ}, nil
}
