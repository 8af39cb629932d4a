// Package schema compiles the JSON Schemas of tools and validates arguments, answers and results against them.
//
// It stands between documents that strangers wrote and a library that trusts them: schemas are bounded, refer to nothing
// outside of themselves and cannot make a validation run for ever; instances are read strictly, with every number kept as it
// was written. Its errors are meant for the model or the person who wrote the document: they name the place as a JSON pointer
// and say what is wrong there, and they never repeat a value.
//
// The package knows nothing of MCP, tools or Kubernetes.
package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Dialect is the only value of "$schema" that Compile accepts, and what it assumes where "$schema" is absent.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// Limits on schemas. They are far above what tools need and keep compilation below a second.
const (
	// MaxBytes is the most a schema may take as JSON.
	MaxBytes = 64 << 10
	// MaxSubschemas is the most schemas that one document may hold, itself included.
	MaxSubschemas = 2000
)

// location is the name under which the library files a compiled document; nothing is ever read from it.
const location = "mcptasks:///schema"

// A Schema is a compiled JSON Schema. It does not change and is safe for concurrent use.
type Schema struct {
	root       *jsonschema.Schema
	properties []Property
	// leads are the schemas that are marked "writeOnly": true or lead to one that is.
	leads map[*jsonschema.Schema]bool

	// The library reports its progress to one meter, so validations against one schema take turns.
	mu    sync.Mutex
	meter *meter
}

// Compile compiles a JSON Schema of the dialect 2020-12 whose root has the type object. References may only point into the
// document itself. "format" and the content keywords are annotations, as the dialect has it. Patterns are those of Go's regexp
// package (RE2), which match in linear time and have no look-around.
func Compile(doc []byte) (*Schema, error) {
	if len(doc) > MaxBytes {
		return nil, fmt.Errorf("the schema has %d bytes; at most %d are allowed", len(doc), MaxBytes)
	}
	value, err := Decode(doc)
	if err != nil {
		return nil, err
	}
	root, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("the schema must be a JSON object")
	}
	if root["type"] != "object" {
		return nil, errors.New(`/type: the root of the schema must have "type": "object"`)
	}
	d, err := survey(root)
	if err != nil {
		return nil, err
	}

	s := &Schema{meter: &meter{}}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	d.install(c, s.meter)
	if err := c.AddResource(location, root); err != nil {
		return nil, fmt.Errorf("add the schema: %w", err)
	}
	if s.root, err = c.Compile(location); err != nil {
		return nil, explainCompile(err)
	}
	if at := selfReference(s.root); at != "" {
		return nil, fmt.Errorf("%s: the schema refers to itself without ever going deeper into the value", at)
	}
	s.meter.reset()
	s.properties, err = properties(s.root)
	s.leads = leadingToMarks(s.root)
	if s.meter.empty() {
		return nil, errors.New("the schema is too intricate: it takes too long to check even a short value")
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Validate reports whether doc, one JSON value, fits the schema. Numbers are compared exactly, whatever their size. The error
// names at most a few places, each with what is wrong there; it never tells what is within a value that Withhold cuts out.
func (s *Schema) Validate(doc []byte) error {
	value, err := Decode(doc)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meter.reset()
	err = s.root.Validate(value)
	if s.meter.empty() {
		return errTooMuch
	}
	e := explainer{}
	if err != nil && len(s.leads) > 0 {
		e.withheld = s.withheldPlaces(value)
	}
	return e.explain(err)
}

// Properties lists the top-level properties that the schema declares, directly, through "$ref" or through "allOf", sorted by
// name.
func (s *Schema) Properties() []Property { return slices.Clone(s.properties) }

// noLoader refuses to load what survey has overlooked.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("references to other documents are not allowed")
}

// selfReference finds a schema that leads back to itself at one and the same place of the instance, such as {"$ref": "#"}. It
// returns the schema's JSON pointer, or "".
func selfReference(root *jsonschema.Schema) string {
	const open, done = 1, 2
	state := map[*jsonschema.Schema]int{}
	var visit func(s *jsonschema.Schema) string
	visit = func(s *jsonschema.Schema) string {
		switch {
		case s == nil || state[s] == done:
			return ""
		case state[s] == open:
			return pointerOf(s.Location)
		}
		state[s] = open
		for _, next := range inPlace(s) {
			if at := visit(next); at != "" {
				return at
			}
		}
		state[s] = done
		for _, next := range deeper(s) {
			if state[next] == 0 {
				if at := visit(next); at != "" {
					return at
				}
			}
		}
		return ""
	}
	return visit(root)
}

// inPlace are the schemas that are applied to the same value as s.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		all = append(all, s.DynamicRef.Ref)
	}
	all = slices.Concat(all, s.AllOf, s.AnyOf, s.OneOf, slices.Collect(maps.Values(s.DependentSchemas)))
	for _, dependency := range s.Dependencies {
		if next, ok := dependency.(*jsonschema.Schema); ok {
			all = append(all, next)
		}
	}
	return slices.DeleteFunc(all, func(s *jsonschema.Schema) bool { return s == nil })
}

// deeper are the schemas that are applied to the parts of a value that s is applied to.
func deeper(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems}
	all = slices.Concat(all, s.PrefixItems, slices.Collect(maps.Values(s.Properties)))
	all = slices.Concat(all, slices.Collect(maps.Values(s.PatternProperties)))
	if next, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		all = append(all, next)
	}
	return slices.DeleteFunc(all, func(s *jsonschema.Schema) bool { return s == nil })
}
