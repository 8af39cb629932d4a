package wire

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// ParamBinding says that a tool argument is mirrored in a header: the property at Path has "x-mcp-header": Name (SEP-2243).
type ParamBinding struct {
	// Path leads to the argument by property names, from the root of the arguments.
	Path []string
	// Name is the header's name after "Mcp-Param-".
	Name string
	// Type is string, integer or boolean.
	Type string
}

func (b ParamBinding) header() string { return headerParamPrefix + b.Name }
func (b ParamBinding) field() string  { return "params.arguments." + strings.Join(b.Path, ".") }

// ParamBindings finds the x-mcp-header annotations of an input schema, in a stable order. An annotation that clients would
// reject the tool for is an error: a name that is no header name or is there twice, a property that is not a string, integer or
// boolean, or one that cannot be reached from the root through properties alone.
func ParamBindings(inputSchema []byte) ([]ParamBinding, error) {
	var root any
	if err := json.Unmarshal(inputSchema, &root); err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	var found []ParamBinding
	if err := collectBindings(root, nil, true, &found); err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b ParamBinding) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(found); i++ {
		if strings.EqualFold(found[i-1].Name, found[i].Name) {
			return nil, fmt.Errorf("x-mcp-header %q is used twice", found[i].Name)
		}
	}
	return found, nil
}

// collectBindings walks a schema. reachable says whether node is reached through properties alone.
func collectBindings(node any, path []string, reachable bool, found *[]ParamBinding) error {
	switch node := node.(type) {
	case []any:
		for _, element := range node {
			if err := collectBindings(element, path, false, found); err != nil {
				return err
			}
		}
	case map[string]any:
		if annotation, ok := node["x-mcp-header"]; ok {
			binding, err := newBinding(annotation, node["type"], path, reachable && len(path) > 0)
			if err != nil {
				return err
			}
			*found = append(*found, binding)
		}
		for keyword, value := range node {
			if err := collectBelow(keyword, value, path, reachable, found); err != nil {
				return err
			}
		}
	}
	return nil
}

// collectBelow walks what stands under a keyword. Values that are data, not schemas, are skipped.
func collectBelow(keyword string, value any, path []string, reachable bool, found *[]ParamBinding) error {
	switch keyword {
	case "const", "default", "enum", "examples", "x-mcp-header":
		return nil
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		children, _ := value.(map[string]any)
		for name, child := range children {
			below := append(slices.Clone(path), name)
			if err := collectBindings(child, below, reachable && keyword == "properties", found); err != nil {
				return err
			}
		}
		return nil
	default:
		return collectBindings(value, path, false, found)
	}
}

func newBinding(annotation, schemaType any, path []string, reachable bool) (ParamBinding, error) {
	where := strings.Join(path, ".")
	name, _ := annotation.(string)
	typ, _ := schemaType.(string)
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return ParamBinding{}, fmt.Errorf("property %q: x-mcp-header must be usable as part of a header's name", where)
	case typ != "string" && typ != "integer" && typ != "boolean":
		return ParamBinding{}, fmt.Errorf("property %q: x-mcp-header needs the type string, integer or boolean", where)
	case !reachable:
		return ParamBinding{}, fmt.Errorf("property %q: x-mcp-header only works on properties (of properties) of the root", where)
	}
	return ParamBinding{Path: path, Name: name, Type: typ}, nil
}

// CheckParams compares the Mcp-Param- headers of a tools/call with its arguments. Headers without a binding are ignored.
func CheckParams(header http.Header, bindings []ParamBinding, arguments json.RawMessage) *Error {
	for _, binding := range bindings {
		if err := checkParam(header, binding, arguments); err != nil {
			return err
		}
	}
	return nil
}

func checkParam(header http.Header, binding ParamBinding, arguments json.RawMessage) *Error {
	raw, present, err := singleHeader(header, binding.header())
	if err != nil {
		return err
	}
	argument, given := lookup(arguments, binding.Path)
	switch {
	case !given && present:
		return HeaderMismatch("the header %s is there, and %s is not", binding.header(), binding.field())
	case !given:
		return nil
	case !present:
		return HeaderMismatch("the header %s is missing; it repeats %s", binding.header(), binding.field())
	}
	value, ok := decodeHeaderValue(raw)
	if !ok {
		return HeaderMismatch("the header %s is malformed", binding.header())
	}
	if !sameValue(value, argument) {
		return HeaderMismatch("%s header value %s does not match %s", binding.header(), quote(value), binding.field())
	}
	return nil
}

// lookup follows path through objects. An argument that is null counts as not given.
func lookup(arguments json.RawMessage, path []string) (json.RawMessage, bool) {
	value := arguments
	for _, name := range path {
		var object map[string]json.RawMessage
		if kindOf(value) != kindObject || json.Unmarshal(value, &object) != nil {
			return nil, false
		}
		value = object[name]
	}
	return value, value != nil && string(value) != "null"
}

// sameValue compares a header's text with a JSON value: strings and booleans exactly, integers by their value, so that 42.0
// equals 42.
func sameValue(text string, value json.RawMessage) bool {
	switch kindOf(value) {
	case kindString:
		var s string
		return json.Unmarshal(value, &s) == nil && s == text
	case 't', 'f':
		return string(value) == text
	default:
		a, okA := integer(text)
		b, okB := integer(string(value))
		return okA && okB && a.Cmp(b) == 0
	}
}

// integer reads a decimal integer, also one written with a fraction of zeros. It takes no exponents: ten characters must not
// make us compute a number of a million digits.
func integer(text string) (*big.Int, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	if strings.Trim(fraction, "0") != "" || len(whole) > 64 {
		return nil, false
	}
	return new(big.Int).SetString(whole, 10)
}
