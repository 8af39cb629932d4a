package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcptasks/mcptasks/internal/schema"
)

func TestProperties(t *testing.T) {
	s := compile(t, `{
		"type":"object",
		"required":["b"],
		"$ref":"#/$defs/base",
		"allOf":[{"required":["c"],"properties":{"c":{"type":"boolean"},"a":{"maxLength":5}}}],
		"properties":{"b":{"type":"integer","default":9007199254740993},"a":{"type":"string"}},
		"$defs":{"base":{"properties":{"z":{"enum":["x"]}}}}}`)
	var got []string
	for _, p := range s.Properties() {
		got = append(got, fmt.Sprintf("%s %s required=%t default=%v enum=%v", p.Name, p.Type, p.Required, p.Default, p.Enum))
	}
	want := []string{
		"a string required=false default=<nil> enum=[]",
		"b integer required=true default=9007199254740993 enum=[]",
		"c boolean required=true default=<nil> enum=[]",
		"z string required=false default=<nil> enum=[x]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Properties() (-want +got):\n%s", diff)
	}
}

func TestPropertyTypes(t *testing.T) {
	tests := []struct {
		schema string
		types  string
		scalar bool
	}{
		{`{"type":"string"}`, "string", true},
		{`{"type":"integer"}`, "integer", true},
		{`{"type":"number"}`, "number", true},
		{`{"type":["integer","number"]}`, "number", true},
		{`{"type":["string","null"]}`, "string", true},
		{`{"type":["string","boolean"]}`, "boolean string", true},
		{`{"type":"array"}`, "array", false},
		{`{"type":["string","array"]}`, "array string", false},
		{`{}`, "array boolean number object string", false},
		{`true`, "array boolean number object string", false},
		{`false`, "", false},
		{`{"type":"null"}`, "", false},
		{`{"enum":["a","b"]}`, "string", true},
		{`{"enum":["a",1]}`, "number string", true},
		{`{"type":"integer","enum":["a",1]}`, "integer", true},
		{`{"const":true}`, "boolean", true},
		{`{"const":{}}`, "object", false},
		{`{"enum":[[]]}`, "array", false},
		{`{"$ref":"#/$defs/s"}`, "string", true},
		{`{"allOf":[{"$ref":"#/$defs/s"},{"maxLength":3}]}`, "string", true},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, "string", true},
		{`{"oneOf":[{"type":"integer"},{"type":"string"}]}`, "integer string", true},
		{`{"anyOf":[{"type":"string"},{}]}`, "array boolean number object string", false},
		{`{"allOf":[{"type":["string","integer"]},{"type":["number","boolean"]}]}`, "integer", true},
	}
	for _, tt := range tests {
		t.Run(tt.schema, func(t *testing.T) {
			p := onlyProperty(t, tt.schema)
			if got := strings.Join(p.Types, " "); got != tt.types || p.Scalar() != tt.scalar {
				t.Errorf("types = %q, scalar = %t; want %q, %t", got, p.Scalar(), tt.types, tt.scalar)
			}
		})
	}
}

func TestPropertyStrings(t *testing.T) {
	tests := []struct {
		schema string
		dash   bool // MayStartWith('-')
		empty  bool // MayBeEmpty
	}{
		{`{"type":"string"}`, true, true},
		{`{"type":"integer"}`, false, false},
		{`{"type":"boolean"}`, false, false},
		{`{}`, true, true},
		{`{"type":["integer","string"]}`, true, true},
		{`{"type":"string","minLength":1}`, true, false},
		{`{"enum":["a","b"]}`, false, false},
		{`{"enum":["a","-b"]}`, true, false},
		{`{"const":""}`, false, true},
		{`{"type":"string","not":{"const":""}}`, true, false},
		{`{"type":"string","pattern":"^[a-z]"}`, false, false},
		{`{"type":"string","pattern":"[a-z]"}`, true, false},
		{`{"type":"string","allOf":[{"pattern":"^[^-]"}]}`, false, false},
		{`{"anyOf":[{"type":"string","pattern":"^[a-z]+$"},{"type":"null"}]}`, false, false},
		{`{"anyOf":[{"type":"string","pattern":"^[a-z]+$"},{"type":"string"}]}`, true, true},
		{`{"anyOf":[{"enum":["x"]},{"enum":["-y"]}]}`, true, false},
		{`{"$ref":"#/$defs/s"}`, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.schema, func(t *testing.T) {
			p := onlyProperty(t, tt.schema)
			if got := p.MayStartWith('-'); got != tt.dash {
				t.Errorf("MayStartWith('-') = %t, want %t", got, tt.dash)
			}
			if p.MayBeEmpty != tt.empty {
				t.Errorf("MayBeEmpty = %t, want %t", p.MayBeEmpty, tt.empty)
			}
		})
	}
}

// Whether a pattern keeps strings from beginning with a dash: all rows are also tried on real strings.
func TestPatternsAndDashes(t *testing.T) {
	tests := []struct {
		pattern string
		dash    bool
	}{
		{``, true},
		{`a`, true},
		{`^a`, false},
		{`^a|b`, true},
		{`^(a|b)`, false},
		{`^a|^b`, false},
		{`^-`, true},
		{`^[^-]`, false},
		{`^[^-]*$`, false},
		{`^[^-].*$`, false},
		{`^\w`, false},
		{`^\W`, true},
		{`^.`, true},
		{`^[a-z-]+$`, true},
		{`^[a-z][a-z-]*$`, false},
		{`^([a-z][a-z-]*)?$`, false},
		{`^[a-z]*`, true},
		{`^$`, false},
		{`$`, true},
		{`^\s*[a-z]+$`, false},
		{`^\s*-?[a-z]+$`, true},
		{`\A[a-z]`, false},
		{`(?m)^[a-z]`, true}, // on a second line
		{`(?i)^[A-Z]`, false},
		{`^a{0,3}$`, false},
		{`[a-z]$`, true},
		{`(^a)+`, false},
		{`^(-a|b)`, true},
		{`^[+\-]?[0-9]+$`, true},
		{`^[ -~]+$`, true}, // a range with the dash in it
		{`\Ba`, true},
	}
	texts := []string{"-", "--", "-a", "-b", "- a", "-rf", "-5", "-\na", "-a-", "-aa", "-z", "-ab"}
	for _, tt := range tests {
		t.Run(tt.pattern, func(t *testing.T) {
			doc := fmt.Sprintf(`{"type":"string","pattern":%q}`, tt.pattern)
			if got := onlyProperty(t, doc).MayStartWith('-'); got != tt.dash {
				t.Errorf("MayStartWith('-') = %t, want %t", got, tt.dash)
			}
			s := compile(t, wrap(doc))
			fitting := ""
			for _, text := range texts {
				if s.Validate(fmt.Appendf(nil, `{"v":%q}`, text)) == nil {
					fitting = text
				}
			}
			if (fitting != "") != tt.dash {
				t.Errorf("fits %q, but the row says %t", fitting, tt.dash)
			}
		})
	}
}

// A declaration that doubles at every level is looked through in no time.
func TestPropertiesOfLadder(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"v":{"$ref":"#/$defs/0"}},"$defs":{`)
	for i := range 60 {
		fmt.Fprintf(&b, `"%d":{"anyOf":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%d"}]},`, i, i+1, i+1)
	}
	b.WriteString(`"60":{"type":"integer"}}}`)
	if p := compile(t, b.String()).Properties()[0]; p.Type != "integer" || p.MayStartWith('-') {
		t.Errorf("type = %q, dash = %t", p.Type, p.MayStartWith('-'))
	}
}

func wrap(doc string) string {
	return `{"type":"object","properties":{"v":` + doc + `},"$defs":{"s":{"type":"string"}}}`
}

func onlyProperty(t *testing.T, doc string) schema.Property {
	t.Helper()
	all := compile(t, wrap(doc)).Properties()
	if len(all) != 1 {
		t.Fatalf("%d properties", len(all))
	}
	return all[0]
}
