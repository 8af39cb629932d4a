package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A Property is one top-level property of a schema.
type Property struct {
	// Name as in the schema.
	Name string
	// Types are the JSON types that a value may have, without "null", sorted. A schema that does not limit the type has all; one
	// that only null or nothing fits has none. "integer" is not listed beside "number".
	Types []string
	// Type is the single entry of Types, or "".
	Type string
	// Required reports whether the root of the schema demands the property.
	Required bool
	// Default is the schema's default, as Decode returns values; nil where there is none.
	Default any
	// Enum are the only values allowed, as Decode returns values; nil where any is, or where alternatives have enums of their
	// own.
	Enum []any
	// MayBeEmpty reports whether the empty string is a value of the property.
	MayBeEmpty bool

	schemas []*jsonschema.Schema
}

var (
	allTypes    = []string{"array", "boolean", "integer", "number", "object", "string"}
	scalarTypes = []string{"boolean", "integer", "number", "string"}
)

// Scalar reports whether every value of the property is a string, a number, a boolean or null.
func (p Property) Scalar() bool {
	return len(p.Types) > 0 && !slices.ContainsFunc(p.Types, func(t string) bool { return !slices.Contains(scalarTypes, t) })
}

// MayStartWith reports whether the property may be a string that begins with the ASCII character c, which is not a line end.
// It errs on the side of true.
func (p Property) MayStartWith(c byte) bool {
	if !slices.Contains(p.Types, "string") {
		return false
	}
	q := query{char: c, known: map[*jsonschema.Schema]bool{}}
	return !slices.ContainsFunc(p.schemas, func(s *jsonschema.Schema) bool { return !q.mayStart(s) })
}

// properties collects the top-level properties of root and of what root includes. The error names a default that does not fit.
func properties(root *jsonschema.Schema) ([]Property, error) {
	schemas := map[string][]*jsonschema.Schema{}
	required := map[string]bool{}
	for _, s := range included(root) {
		for name, sub := range s.Properties {
			schemas[name] = append(schemas[name], sub)
		}
		for _, name := range s.Required {
			required[name] = true
		}
	}
	f := typeFinder{}
	var all []Property
	for _, name := range sortedKeys(schemas) {
		p := Property{Name: name, Required: required[name], Types: slices.Clone(allTypes), schemas: schemas[name]}
		for _, s := range p.schemas {
			p.Types = intersect(p.Types, f.types(s))
		}
		// Every integer is a number; who takes both takes numbers.
		if slices.Contains(p.Types, "number") {
			p.Types = slices.DeleteFunc(p.Types, func(t string) bool { return t == "integer" })
		}
		if len(p.Types) == 1 {
			p.Type = p.Types[0]
		}
		for _, s := range included(p.schemas...) {
			if values := allowedValues(s); values != nil && p.Enum == nil {
				p.Enum = values
			}
			if s.Default != nil && p.Default == nil {
				p.Default = *s.Default
			}
		}
		p.MayBeEmpty = slices.Contains(p.Types, "string") && p.fits("")
		if p.Default != nil && !p.fits(p.Default) {
			return nil, fmt.Errorf("%s: the default does not fit its own schema", path{"properties", name, "default"})
		}
		all = append(all, p)
	}
	return all, nil
}

// fits reports whether the value, as Decode returns it, is one of the property.
func (p Property) fits(value any) bool {
	return !slices.ContainsFunc(p.schemas, func(s *jsonschema.Schema) bool { return s.Validate(value) != nil })
}

// included are the roots and all schemas that a value must fit in order to fit them: those of $ref and allOf.
func included(roots ...*jsonschema.Schema) []*jsonschema.Schema {
	seen := map[*jsonschema.Schema]bool{}
	var all []*jsonschema.Schema
	var add func(s *jsonschema.Schema)
	add = func(s *jsonschema.Schema) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		all = append(all, s)
		add(s.Ref)
		for _, sub := range s.AllOf {
			add(sub)
		}
	}
	for _, s := range roots {
		add(s)
	}
	return all
}

// A typeFinder finds the JSON types, without null, that a value of a schema may have: all that no keyword rules out. It
// remembers what it has found. No schema leads back to itself here; Compile has seen to it.
type typeFinder map[*jsonschema.Schema][]string

func (f typeFinder) types(s *jsonschema.Schema) []string {
	if known, ok := f[s]; ok {
		return known
	}
	all := slices.Clone(allTypes)
	if s.Bool != nil && !*s.Bool {
		all = nil
	}
	if s.Types != nil {
		all = intersect(all, withIntegers(s.Types.ToStrings()))
	}
	if values := allowedValues(s); values != nil {
		all = intersect(all, typesOf(values))
	}
	if s.Ref != nil {
		all = intersect(all, f.types(s.Ref))
	}
	for _, sub := range s.AllOf {
		all = intersect(all, f.types(sub))
	}
	for _, branches := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		var some []string
		for _, sub := range branches {
			some = append(some, f.types(sub)...)
		}
		if len(branches) > 0 {
			all = intersect(all, some)
		}
	}
	f[s] = all
	return all
}

// A query asks schemas whether they allow strings that begin with char, and remembers the answers.
type query struct {
	char  byte
	known map[*jsonschema.Schema]bool
}

func (q query) mayStart(s *jsonschema.Schema) bool {
	if answer, ok := q.known[s]; ok {
		return answer
	}
	answer := q.ask(s)
	q.known[s] = answer
	return answer
}

func (q query) ask(s *jsonschema.Schema) bool {
	if s.Types != nil && !slices.Contains(s.Types.ToStrings(), "string") {
		return false
	}
	if values := allowedValues(s); values != nil {
		return slices.ContainsFunc(values, func(value any) bool {
			text, ok := value.(string)
			return ok && strings.HasPrefix(text, string(q.char))
		})
	}
	if s.Pattern != nil && !mayStartWith(s.Pattern.String(), q.char) {
		return false
	}
	if s.Ref != nil && !q.mayStart(s.Ref) {
		return false
	}
	for _, sub := range s.AllOf {
		if !q.mayStart(sub) {
			return false
		}
	}
	for _, branches := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(branches) > 0 && !slices.ContainsFunc(branches, q.mayStart) {
			return false
		}
	}
	return true
}

// allowedValues are the values of const or enum, nil where s has neither.
func allowedValues(s *jsonschema.Schema) []any {
	switch {
	case s.Const != nil:
		return []any{*s.Const}
	case s.Enum != nil:
		return s.Enum.Values
	default:
		return nil
	}
}

func typesOf(values []any) []string {
	var all []string
	for _, value := range values {
		switch value.(type) {
		case string:
			all = append(all, "string")
		case bool:
			all = append(all, "boolean")
		case json.Number:
			all = append(all, "integer", "number")
		case []any:
			all = append(all, "array")
		case map[string]any:
			all = append(all, "object")
		}
	}
	return all
}

func withIntegers(types []string) []string {
	if slices.Contains(types, "number") {
		return append(types, "integer")
	}
	return types
}

// intersect are the entries of a that b has too. It changes a.
func intersect(a, b []string) []string {
	return slices.DeleteFunc(a, func(t string) bool { return !slices.Contains(b, t) })
}
