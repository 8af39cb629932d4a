package question

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/schema"
)

// emptyForm is the schema of a question that can only be accepted or declined.
const emptyForm = `{"type":"object","properties":{}}`

// form is the schema of a question: what MCP's form elicitation allows of JSON Schema (MCP 2026-07-28, client/elicitation,
// "Requested Schema"). It does not change and is safe for concurrent use.
type form struct {
	// doc is the schema as JSON without white space.
	doc string
	// fields are the names of its properties, sorted.
	fields []string

	schema *schema.Schema
	// formats are the formats that string properties must have, by property.
	formats map[string]string
}

// fieldName is what a property may be called, so that it can become an environment variable.
var fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,62}$`)

// formats check the formats that a string may have. JSON Schema itself takes "format" for a remark.
var formats = map[string]func(string) bool{
	"email": func(s string) bool {
		address, err := mail.ParseAddress(s)
		return err == nil && address.Address == s
	},
	"uri": func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && u.IsAbs()
	},
	"date": func(s string) bool {
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	},
	"date-time": func(s string) bool {
		_, err := time.Parse(time.RFC3339, s)
		return err == nil
	},
}

// newForm reads the schema of a question. The error says what in it a form cannot have.
func newForm(doc []byte) (*form, error) {
	if len(doc) == 0 {
		doc = []byte(emptyForm)
	}
	if len(doc) > v1alpha1.MaxQuestionSchemaBytes {
		return nil, fmt.Errorf("it has %d bytes; at most %d are allowed", len(doc), v1alpha1.MaxQuestionSchemaBytes)
	}
	compiled, err := schema.Compile(doc)
	if err != nil {
		return nil, err
	}
	value, err := schema.Decode(doc)
	if err != nil {
		return nil, err
	}
	// Compile has seen to it that the root is an object, and each keyword what JSON Schema wants it to be.
	root, _ := value.(map[string]any)
	if err := onlyKeywords(root, "$schema", "type", "properties", "required"); err != nil {
		return nil, err
	}
	f := &form{schema: compiled, formats: map[string]string{}}
	properties, ok := root["properties"].(map[string]any)
	if !ok {
		return nil, errors.New(`"properties" is missing`)
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if err := f.add(name, properties[name]); err != nil {
			return nil, fmt.Errorf("the property %q: %w", clip(name, 63), err)
		}
	}
	required, _ := root["required"].([]any)
	for _, name := range required {
		if name, _ := name.(string); !slices.Contains(f.fields, name) {
			return nil, fmt.Errorf(`"required" names %q, which is not among the properties`, clip(name, 63))
		}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, doc); err != nil {
		return nil, err
	}
	f.doc = compact.String()
	return f, nil
}

// add checks one property.
func (f *form) add(name string, value any) error {
	if !fieldName.MatchString(name) {
		return errors.New(`the name must be a letter or "_", then letters, digits, "_", "." and "-", at most 63 in all`)
	}
	property, ok := value.(map[string]any)
	if !ok {
		return errors.New("it must be an object")
	}
	if err := checkField(property); err != nil {
		return err
	}
	title, _ := property["title"].(string)
	if freeInput(property) && (asksForSecret(name) || asksForSecret(title)) {
		return errors.New("a form must not ask for passwords, keys, tokens or other secrets, which would be on the record " +
			"for everybody who may read it; give the Job a Kubernetes Secret instead")
	}
	if format, ok := property["format"].(string); ok {
		f.formats[name] = format
	}
	f.fields = append(f.fields, name)
	return nil
}

// freeInput reports whether the field's value is the person's own, and not a choice or a yes or no.
func freeInput(property map[string]any) bool {
	switch property["type"] {
	case "string":
		return property["enum"] == nil && property["oneOf"] == nil
	case "number", "integer":
		return true
	}
	return false
}

// checkField checks that a property is one of the kinds that a form can have.
func checkField(property map[string]any) error {
	if property["writeOnly"] != nil || property["format"] == "password" {
		return errors.New("a form must not ask for secrets: no \"writeOnly\", no format \"password\"")
	}
	if property["properties"] != nil {
		return errors.New("a form is flat; it has no objects inside")
	}
	var keywords []string
	switch property["type"] {
	case "string":
		switch {
		case property["enum"] != nil:
			keywords = []string{"enum", "enumNames"}
		case property["oneOf"] != nil:
			keywords = []string{"oneOf"}
		default:
			keywords = []string{"minLength", "maxLength", "format"}
		}
	case "number", "integer":
		keywords = []string{"minimum", "maximum"}
	case "boolean":
	case "array":
		keywords = []string{"minItems", "maxItems", "items"}
	default:
		return errors.New(`"type" must be string, number, integer, boolean, or array for a choice of several strings`)
	}
	if err := onlyKeywords(property, append(keywords, "type", "title", "description", "default")...); err != nil {
		return err
	}
	for _, bounds := range [][2]string{{"minLength", "maxLength"}, {"minimum", "maximum"}, {"minItems", "maxItems"}} {
		if above(property[bounds[0]], property[bounds[1]]) {
			return fmt.Errorf("no answer can fit: %q is more than %q", bounds[0], bounds[1])
		}
	}
	if format, ok := property["format"].(string); ok && formats[format] == nil {
		return fmt.Errorf("the format %q is not one of email, uri, date and date-time", clip(format, 63))
	}
	if property["type"] == "array" {
		return checkItems(property["items"])
	}
	return checkChoice(property)
}

// checkChoice checks the strings of an enum, with or without names, or the {const, title} of a oneOf, if the property has them.
func checkChoice(property map[string]any) error {
	if enum, ok := property["enum"].([]any); ok {
		if err := allStrings(enum); err != nil {
			return err
		}
		if names, ok := property["enumNames"].([]any); ok && len(names) != len(enum) {
			return fmt.Errorf(`"enumNames" has %d names for %d values`, len(names), len(enum))
		}
	}
	options, _ := property["oneOf"].([]any)
	return checkOptions("oneOf", options)
}

// checkItems checks the items of a choice of several strings.
func checkItems(value any) error {
	items, _ := value.(map[string]any)
	enum, hasEnum := items["enum"].([]any)
	options, hasOptions := items["anyOf"].([]any)
	switch {
	case hasEnum && items["type"] == "string":
		if err := onlyKeywords(items, "type", "enum"); err != nil {
			return err
		}
		return allStrings(enum)
	case hasOptions:
		if err := onlyKeywords(items, "anyOf"); err != nil {
			return err
		}
		return checkOptions("anyOf", options)
	}
	return errors.New(`"items" of an array must be {"type": "string", "enum": […]} or {"anyOf": [{"const": …, "title": …}, …]}`)
}

func checkOptions(keyword string, options []any) error {
	for _, option := range options {
		option, _ := option.(map[string]any)
		_, isText := option["const"].(string)
		_, hasTitle := option["title"].(string)
		if len(option) != 2 || !isText || !hasTitle {
			return fmt.Errorf(`each entry of %q must be {"const": "…", "title": "…"}`, keyword)
		}
	}
	return nil
}

func allStrings(values []any) error {
	if len(values) == 0 {
		return errors.New(`"enum" is empty`)
	}
	for _, value := range values {
		if _, ok := value.(string); !ok {
			return errors.New(`"enum" must list strings`)
		}
	}
	return nil
}

// onlyKeywords refuses what MCP's forms do not have. It would be without effect, or make clients refuse the whole form.
func onlyKeywords(object map[string]any, allowed ...string) error {
	for _, keyword := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(allowed, keyword) {
			slices.Sort(allowed)
			return fmt.Errorf("the keyword %q has no place here in a form; allowed are %q", clip(keyword, 63), allowed)
		}
	}
	return nil
}

// above reports whether both are numbers and the first is more.
func above(low, high any) bool {
	l, ok := rational(low)
	if !ok {
		return false
	}
	h, ok := rational(high)
	return ok && l.Cmp(h) > 0
}

func rational(value any) (*big.Rat, bool) {
	n, ok := value.(json.Number)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

// validate reports whether content, a JSON object, is an answer to the form. Properties that the form does not have are
// tolerated.
func (f *form) validate(content []byte) error {
	if err := f.schema.Validate(content); err != nil {
		return err
	}
	value, err := schema.Decode(content)
	if err != nil {
		return err
	}
	object, _ := value.(map[string]any)
	for _, name := range f.fields {
		text, ok := object[name].(string)
		if format := f.formats[name]; ok && format != "" && !formats[format](text) {
			return fmt.Errorf("/%s: is not of the format %s", name, format)
		}
	}
	return nil
}
