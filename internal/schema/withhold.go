package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Withhold cuts out of a value, as Decode returns it, all that the schema marks "writeOnly": true. rest is a copy without it: the
// members of objects are absent, and items of arrays are null, so that the others keep their places. An object whose names are
// marked (propertyNames) goes as a whole. withheld reports whether there was anything to cut out. The value itself is not
// changed.
//
// A mark counts wherever it could apply, also in a branch of anyOf, if or not that this value does not fit: what is withheld in
// vain is a nuisance, what is shown cannot be taken back. A root that is marked itself leaves nothing.
func (s *Schema) Withhold(value any) (rest any, withheld bool) {
	c := cutter{leads: s.leads, found: func(path) { withheld = true }}
	rest, _ = c.cut(nil, value, []*jsonschema.Schema{s.root})
	return rest, withheld
}

// Withholds reports whether Withhold cuts out the value that the names of properties lead to, or one that it is part of.
func (s *Schema) Withholds(names ...string) bool {
	c := cutter{leads: s.leads}
	applied := c.closure([]*jsonschema.Schema{s.root})
	for _, name := range names {
		if c.marked(applied) {
			return true
		}
		applied = c.closure(c.member(applied, name))
	}
	return c.marked(applied)
}

// ValidateRest is Validate for what Withhold has left of a value that fits. Nobody can say any more whether the whole does; what
// is checked is each property of the root that nothing can be withheld of, by itself.
func (s *Schema) ValidateRest(doc []byte) error {
	value, err := Decode(doc)
	if err != nil {
		return err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return errors.New("/: must be an object")
	}
	c := cutter{leads: s.leads}
	root := c.closure([]*jsonschema.Schema{s.root})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meter.reset()
	for _, p := range s.properties {
		member, given := object[p.Name]
		if !given || len(c.closure(c.member(root, p.Name))) > 0 {
			continue
		}
		fits := p.fits(member)
		if s.meter.empty() {
			return errTooMuch
		}
		if !fits {
			return fmt.Errorf("%s: does not fit its schema", path{p.Name})
		}
	}
	return nil
}

// withheldPlaces are the JSON pointers of what Withhold cuts out of a value.
func (s *Schema) withheldPlaces(value any) map[string]bool {
	places := map[string]bool{}
	c := cutter{leads: s.leads, found: func(at path) { places[at.pointer()] = true }}
	c.cut(nil, value, []*jsonschema.Schema{s.root})
	return places
}

// A cutter walks through a value with the schemas that may apply to each part of it.
type cutter struct {
	// leads are the schemas that are marked, or lead to one that is; all others are left aside.
	leads map[*jsonschema.Schema]bool
	found func(at path)
}

// cut returns the value without its marked parts, and false if it is marked itself.
func (c cutter) cut(at path, value any, schemas []*jsonschema.Schema) (rest any, keep bool) {
	applied := c.closure(schemas)
	if len(applied) == 0 {
		return value, true
	}
	if c.marked(applied) {
		c.found(at)
		return nil, false
	}
	switch value := value.(type) {
	case map[string]any:
		object := make(map[string]any, len(value))
		for name, member := range value {
			if rest, keep := c.cut(at.child(name), member, c.member(applied, name)); keep {
				object[name] = rest
			}
		}
		return object, true
	case []any:
		array := make([]any, len(value))
		for i, item := range value {
			array[i], _ = c.cut(at.child(strconv.Itoa(i)), item, c.item(applied, i))
		}
		return array, true
	default:
		return value, true
	}
}

// closure are the schemas and all that may be applied to the same value with them, each once.
func (c cutter) closure(schemas []*jsonschema.Schema) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	seen := map[*jsonschema.Schema]bool{}
	for len(schemas) > 0 {
		s := schemas[0]
		schemas = schemas[1:]
		if seen[s] || !c.leads[s] {
			continue
		}
		seen[s] = true
		all = append(all, s)
		schemas = append(schemas[:len(schemas):len(schemas)], inPlace(s)...)
	}
	return all
}

// member are the schemas for the member of that name of an object that the given ones are applied to.
func (c cutter) member(applied []*jsonschema.Schema, name string) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	for _, s := range applied {
		known := false
		if sub, ok := s.Properties[name]; ok {
			all, known = append(all, sub), true
		}
		for pattern, sub := range s.PatternProperties {
			if pattern.MatchString(name) {
				all, known = append(all, sub), true
			}
		}
		if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && !known {
			all = append(all, sub)
		}
		if s.UnevaluatedProperties != nil {
			all = append(all, s.UnevaluatedProperties)
		}
	}
	return all
}

// item are the schemas for an item of an array that the given ones are applied to.
func (c cutter) item(applied []*jsonschema.Schema, i int) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	for _, s := range applied {
		if i < len(s.PrefixItems) {
			all = append(all, s.PrefixItems[i])
		} else if s.Items2020 != nil {
			all = append(all, s.Items2020)
		}
		for _, sub := range []*jsonschema.Schema{s.Contains, s.UnevaluatedItems} {
			if sub != nil {
				all = append(all, sub)
			}
		}
	}
	return all
}

// marked reports whether one of the schemas is marked, or marks the names of an object.
func (c cutter) marked(applied []*jsonschema.Schema) bool {
	return slices.ContainsFunc(applied, func(s *jsonschema.Schema) bool {
		return s.WriteOnly || s.PropertyNames != nil && c.marked(c.closure([]*jsonschema.Schema{s.PropertyNames}))
	})
}

// leadingToMarks are the schemas that are marked "writeOnly": true, and those that lead to one, at the same place or deeper.
func leadingToMarks(root *jsonschema.Schema) map[*jsonschema.Schema]bool {
	from := map[*jsonschema.Schema][]*jsonschema.Schema{root: nil}
	var marks []*jsonschema.Schema
	for next := []*jsonschema.Schema{root}; len(next) > 0; {
		s := next[0]
		next = next[1:]
		if s.WriteOnly {
			marks = append(marks, s)
		}
		for _, sub := range append(inPlace(s), deeper(s)...) {
			if _, known := from[sub]; !known {
				next = append(next, sub)
			}
			from[sub] = append(from[sub], s)
		}
	}
	leads := map[*jsonschema.Schema]bool{}
	for len(marks) > 0 {
		s := marks[0]
		marks = marks[1:]
		if !leads[s] {
			leads[s] = true
			marks = append(marks, from[s]...)
		}
	}
	return leads
}
