package schema

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Keywords whose values hold schemas, by the shape of the value.
var (
	oneSchema = []string{
		"additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then",
		"unevaluatedItems", "unevaluatedProperties",
	}
	listOfSchemas = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	mapOfSchemas  = []string{
		"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties",
	}
	references = []string{"$ref", "$dynamicRef", "$recursiveRef"}
	// perPart are the keywords whose schemas are applied to each part of an array or object, not to the value once.
	perPart = []string{
		"additionalProperties", "contains", "items", "patternProperties", "propertyNames", "unevaluatedItems",
		"unevaluatedProperties",
	}
)

// A document is a schema document whose subschemas have been found and counted.
type document struct {
	// schemas are all schema objects by JSON pointer, and once more by "#" and name where they have an anchor.
	schemas map[string]map[string]any
	// booleans are the JSON pointers of the schemas true and false.
	booleans map[string]bool
	// order has the JSON pointers of the schema objects in the order in which they were found.
	order []string
}

// survey finds all schemas of a document, and refuses what would make it refer to another one or mean something else than it
// seems to.
func survey(root map[string]any) (*document, error) {
	d := &document{schemas: map[string]map[string]any{}, booleans: map[string]bool{}}
	if id, ok := root["$schema"]; ok && id != Dialect && id != Dialect+"#" {
		return nil, fmt.Errorf("/$schema: the dialect is not supported; use %s", Dialect)
	}
	// Without it the document has one name only, and "#" in a reference can mean nothing else than this document.
	delete(root, "$id")
	if err := d.add(nil, root); err != nil {
		return nil, err
	}
	for _, pointer := range d.order {
		for _, keyword := range references {
			if err := d.checkReference(pointer, keyword); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

func (d *document) add(at path, value any) error {
	s, ok := value.(map[string]any)
	if !ok { // true, false, or something that the meta-schema will refuse
		_, d.booleans[at.pointer()] = value.(bool)
		return nil
	}
	if len(d.order) >= MaxSubschemas {
		return fmt.Errorf("the schema has more than %d subschemas", MaxSubschemas)
	}
	pointer := at.pointer()
	d.order = append(d.order, pointer)
	d.schemas[pointer] = s
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if name, ok := s[keyword].(string); ok {
			d.schemas["#"+name] = s
		}
	}
	if len(at) > 0 {
		for _, keyword := range []string{"$id", "$schema"} {
			if _, ok := s[keyword]; ok {
				return fmt.Errorf("%s: %s is allowed at the root of the schema only", at.child(keyword), keyword)
			}
		}
	}
	return eachSubschema(s, func(_ string, steps path, sub any) error { return d.add(append(at[:len(at):len(at)], steps...), sub) })
}

// eachSubschema calls f for every value in s that stands where a schema belongs, in a stable order, with the keyword and the
// steps from s.
func eachSubschema(s map[string]any, f func(keyword string, steps path, sub any) error) error {
	for _, keyword := range oneSchema {
		if sub, ok := s[keyword]; ok {
			if err := f(keyword, path{keyword}, sub); err != nil {
				return err
			}
		}
	}
	for _, keyword := range listOfSchemas {
		list, _ := s[keyword].([]any)
		for i, sub := range list {
			if err := f(keyword, path{keyword, strconv.Itoa(i)}, sub); err != nil {
				return err
			}
		}
	}
	for _, keyword := range mapOfSchemas {
		object, _ := s[keyword].(map[string]any)
		for _, name := range sortedKeys(object) {
			if err := f(keyword, path{keyword, name}, object[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *document) checkReference(pointer, keyword string) error {
	reference, ok := d.schemas[pointer][keyword].(string)
	if !ok {
		return nil
	}
	at := pointer + "/" + keyword
	if !strings.HasPrefix(reference, "#") {
		return fmt.Errorf(`%s: only references within the schema, like "#/$defs/name", are allowed; nothing is fetched`, at)
	}
	if object, boolean := d.target(reference); object == nil && !boolean {
		return fmt.Errorf("%s: there is no schema at the place it refers to", at)
	}
	return nil
}

// target is what a reference points to: a schema object, or one of the schemas true and false, or neither.
func (d *document) target(reference string) (object map[string]any, boolean bool) {
	fragment, err := url.PathUnescape(strings.TrimPrefix(reference, "#"))
	if err != nil {
		return nil, false
	}
	if fragment == "" || strings.HasPrefix(fragment, "/") {
		return d.schemas[fragment], d.booleans[fragment]
	}
	return d.schemas["#"+fragment], false
}

// install puts into every schema object the "format" through which the library reports to m that it applies it. In the
// dialect, format is an annotation, so nothing of the schema's meaning is lost.
func (d *document) install(c *jsonschema.Compiler, m *meter) {
	known := map[effort]bool{}
	for _, pointer := range d.order {
		s := d.schemas[pointer]
		e := d.effort(s)
		if !known[e] {
			known[e] = true
			c.RegisterFormat(&jsonschema.Format{Name: e.format(), Validate: func(v any) error { return m.spend(e, v) }})
		}
		s["format"] = e.format()
	}
	c.AssertFormat()
}

// effort estimates what it takes to apply s to a value, not counting what its subschemas count themselves.
func (d *document) effort(s map[string]any) effort {
	e := effort{once: 1}
	_ = eachSubschema(s, func(keyword string, _ path, sub any) error {
		cost := 1 + d.comparisons(sub)
		switch {
		case slices.Contains(perPart, keyword):
			e.perPart += cost
		case keyword != "$defs" && keyword != "definitions" && keyword != "contentSchema":
			e.once += cost
		}
		return nil
	})
	for _, keyword := range references {
		if reference, ok := s[keyword].(string); ok {
			target, _ := d.target(reference)
			e.once += 1 + d.comparisons(target)
		}
	}
	if s["uniqueItems"] == true {
		e.perPart += 20 // the library compares the items of arrays up to this length each with each, longer ones by hash
	}
	return e
}

// comparisons is the number of values that sub compares a value with before it reports to the meter.
func (d *document) comparisons(sub any) int {
	s, _ := sub.(map[string]any)
	values, _ := s["enum"].([]any)
	return len(values)
}
