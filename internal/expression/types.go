package expression

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/mcptasks/mcptasks/internal/schema"
)

// Shape is what is known of a JSON value before there is one: its CEL type, and how to turn the value into that type. The zero
// value stands for anything.
type Shape struct {
	// kind is string, bool, int, double, list, map, struct or, by default, dyn.
	kind kind
	// element is the shape of a list's elements, or of a struct's or map's properties that fields does not name; nil where there
	// are none.
	element *Shape
	// fields are a struct's properties, all of them optional.
	fields map[string]*Shape
	// hidden are the names of a struct's properties that no expression can read.
	hidden map[string]bool
	// path is where a struct is in the document, unique within a typeSet.
	path string
}

type kind int

const (
	kindDyn kind = iota
	kindString
	kindBool
	kindInt
	kindDouble
	kindList
	kindMap
	kindStruct
)

// maxTypeDepth is how deep a schema is followed; what lies deeper is dyn.
const maxTypeDepth = 16

// ObjectShape reads from a JSON Schema what an object that fits it looks like, without what is marked writeOnly. It needs not
// understand all of the schema: what it does not is dyn, and checked when an expression is evaluated. An empty doc is an object
// without properties.
func ObjectShape(doc []byte, path string) (*Shape, error) {
	var root map[string]any
	if len(doc) > 0 {
		value, err := schema.Decode(doc)
		if err != nil {
			return nil, err
		}
		root, _ = value.(map[string]any)
	}
	return structShape(root, path, 0), nil
}

// StructShape is what an object with these properties, and no others, looks like; all of them may be absent. path is how messages
// name it, unique among the shapes of an environment.
func StructShape(path string, fields map[string]*Shape) *Shape {
	return &Shape{kind: kindStruct, path: path, fields: fields}
}

// shapeOf is the shape of one value whose schema is any JSON, or none.
func shapeOf(value any, path string, depth int) *Shape {
	subschema, ok := value.(map[string]any)
	if !ok || depth > maxTypeDepth || subschema["$ref"] != nil || subschema["$dynamicRef"] != nil {
		return &Shape{}
	}
	if subschema["type"] == nil && onlyTexts(subschema) {
		return &Shape{kind: kindString}
	}
	switch subschema["type"] {
	case "string":
		return &Shape{kind: kindString}
	case "boolean":
		return &Shape{kind: kindBool}
	case "integer":
		return &Shape{kind: kindInt}
	case "number":
		return &Shape{kind: kindDouble}
	case "array":
		element := &Shape{}
		if subschema["prefixItems"] == nil {
			element = shapeOf(subschema["items"], path+"[]", depth+1)
		}
		return &Shape{kind: kindList, element: element}
	case "object":
		if subschema["properties"] != nil {
			return structShape(subschema, path, depth)
		}
		element := &Shape{}
		if !composed(subschema) {
			element = shapeOf(subschema["additionalProperties"], path+"{}", depth+1)
		}
		return &Shape{kind: kindMap, element: element}
	}
	return &Shape{}
}

// onlyTexts reports whether a schema lists the values that there are, and all of them are strings.
func onlyTexts(subschema map[string]any) bool {
	values, _ := subschema["enum"].([]any)
	if value, ok := subschema["const"]; ok {
		values = []any{value}
	}
	notText := func(value any) bool {
		_, ok := value.(string)
		return !ok
	}
	return len(values) > 0 && !slices.ContainsFunc(values, notText)
}

// structShape gives a type error for a property that the schema does not declare, because that is a typing mistake more often
// than anything else; unless the schema says somewhere that there are others.
func structShape(subschema map[string]any, path string, depth int) *Shape {
	s := &Shape{kind: kindStruct, path: path, fields: map[string]*Shape{}, hidden: map[string]bool{}}
	properties, _ := subschema["properties"].(map[string]any)
	for name, property := range properties {
		if property, ok := property.(map[string]any); ok && property["writeOnly"] == true {
			s.hidden[name] = true
			continue
		}
		s.fields[name] = shapeOf(property, fmt.Sprintf("%s[%q]", path, name), depth+1)
	}
	if others := subschema["additionalProperties"]; composed(subschema) {
		s.element = &Shape{}
	} else if others != nil && others != false {
		s.element = shapeOf(others, path+"{}", depth+1)
	}
	return s
}

// composed reports whether properties may come from elsewhere than "properties" and "additionalProperties".
func composed(subschema map[string]any) bool {
	for _, keyword := range []string{
		"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas",
	} {
		if subschema[keyword] != nil {
			return true
		}
	}
	return false
}

// celType is the type that expressions are checked against.
func (s *Shape) celType() *cel.Type {
	switch s.kind {
	case kindString:
		return cel.StringType
	case kindBool:
		return cel.BoolType
	case kindInt:
		return cel.IntType
	case kindDouble:
		return cel.DoubleType
	case kindList:
		return cel.ListType(s.element.celType())
	case kindMap:
		return cel.MapType(cel.StringType, s.element.celType())
	case kindStruct:
		return cel.ObjectType(s.typeName())
	default:
		return cel.DynType
	}
}

// typeName is a struct's CEL type name. It is no path that an expression could name: arguments.target must not mean the type.
func (s *Shape) typeName() string { return "object(" + s.path + ")" }

// Value turns a JSON value, as schema.Decode returns it, into a CEL value. A value of another type than the schema says, which
// nothing that was validated is, keeps its own type, and the expression fails where it uses it.
func (s *Shape) Value(v any) ref.Val {
	switch v := v.(type) {
	case nil:
		return types.NullValue
	case bool:
		return types.Bool(v)
	case string:
		return types.String(v)
	case json.Number:
		return number(v, s.kind == kindDouble)
	case []any:
		elements := make([]ref.Val, len(v))
		for i, element := range v {
			elements[i] = s.elementShape().Value(element)
		}
		return types.NewRefValList(types.DefaultTypeAdapter, elements)
	case map[string]any:
		properties := make(map[string]any, len(v))
		for name, property := range v {
			properties[name] = s.property(name).Value(property)
		}
		return Object(properties)
	default:
		return types.NewErr("unsupported value of type %T", v)
	}
}

// Object is a CEL map of CEL values.
func Object(properties map[string]any) ref.Val {
	return types.NewStringInterfaceMap(types.DefaultTypeAdapter, properties)
}

func (s *Shape) elementShape() *Shape {
	if s.element == nil {
		return &Shape{}
	}
	return s.element
}

func (s *Shape) property(name string) *Shape {
	if field, ok := s.fields[name]; ok {
		return field
	}
	return s.elementShape()
}

// typeSet tells the CEL type checker about structs. It adds nothing to the values: at run time a struct is a map.
type typeSet struct {
	types.Provider
	structs map[string]*Shape
}

func newTypeSet(base types.Provider, shapes ...*Shape) *typeSet {
	set := &typeSet{Provider: base, structs: map[string]*Shape{}}
	for _, s := range shapes {
		set.add(s)
	}
	return set
}

func (t *typeSet) add(s *Shape) {
	if s.kind == kindStruct {
		t.structs[s.typeName()] = s
	}
	for _, field := range s.fields {
		t.add(field)
	}
	if s.element != nil {
		t.add(s.element)
	}
}

// hides reports whether one of the structs has a property of that name that cannot be read.
func (t *typeSet) hides(name string) bool {
	for _, s := range t.structs {
		if s.hidden[name] {
			return true
		}
	}
	return false
}

// FindStructType implements types.Provider.
func (t *typeSet) FindStructType(name string) (*types.Type, bool) {
	if s, ok := t.structs[name]; ok {
		return types.NewTypeTypeWithParam(s.celType()), true
	}
	return t.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (t *typeSet) FindStructFieldNames(name string) ([]string, bool) {
	if s, ok := t.structs[name]; ok {
		return slices.Sorted(maps.Keys(s.fields)), true
	}
	return t.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider.
func (t *typeSet) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	s, ok := t.structs[name]
	if !ok {
		return t.Provider.FindStructFieldType(name, field)
	}
	if _, ok := s.fields[field]; !ok && (s.element == nil || s.hidden[field]) {
		return nil, false
	}
	return &types.FieldType{
		Type: s.property(field).celType(),
		IsSet: func(target any) bool {
			properties, _ := target.(map[string]any)
			_, ok := properties[field]
			return ok
		},
		GetFrom: func(target any) (any, error) {
			properties, _ := target.(map[string]any)
			value, ok := properties[field]
			if !ok {
				return nil, fmt.Errorf("%s has no %q", s.path, field)
			}
			if err, ok := value.(*types.Err); ok {
				return nil, err
			}
			return value, nil
		},
	}, true
}
