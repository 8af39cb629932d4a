package headerparam

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFind_S31(t *testing.T) {
	for name, test := range map[string]struct {
		schema string
		want   []Param
		bad    bool
	}{
		"none": {`{"type":"object","properties":{"a":{"type":"string"}}}`, nil, false},
		"sorted": {`{"properties":{"b":{"type":"integer","x-mcp-header":"B"},"a":{"type":"string","x-mcp-header":"A"}}}`,
			[]Param{{[]string{"a"}, "A", "string"}, {[]string{"b"}, "B", "integer"}}, false},
		"nested in properties": {`{"properties":{"o":{"type":"object","properties":{"x":{"type":"boolean","x-mcp-header":"X"}}}}}`,
			[]Param{{[]string{"o", "x"}, "X", "boolean"}}, false},
		"a property of that name": {`{"properties":{"x-mcp-header":{"type":"string"}}}`, nil, false},
		"in data":                 {`{"properties":{"a":{"default":{"x-mcp-header":7}}}}`, nil, false},
		"empty":                   {`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, nil, true},
		"no token":                {`{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`, nil, true},
		"no string":               {`{"properties":{"a":{"type":"string","x-mcp-header":7}}}`, nil, true},
		"number":                  {`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, nil, true},
		"several types":           {`{"properties":{"a":{"type":["string","null"],"x-mcp-header":"A"}}}`, nil, true},
		"twice, but for case": {
			`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`, nil, true,
		},
		"in items":                {`{"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}}`, nil, true},
		"in a composition":        {`{"allOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`, nil, true},
		"in $defs":                {`{"$defs":{"a":{"type":"string","x-mcp-header":"A"}}}`, nil, true},
		"below patternProperties": {`{"patternProperties":{"a":{"type":"string","x-mcp-header":"A"}}}`, nil, true},
		"on the root":             {`{"type":"string","x-mcp-header":"A"}`, nil, true},
		"no JSON":                 {`{`, nil, true},
		"twice, between others": {`{"properties":{"a":{"type":"string","x-mcp-header":"B"},"b":{"type":"string","x-mcp-header":"Z"},
			"c":{"type":"string","x-mcp-header":"b"}}}`, nil, true},
		"S-32: write-only": {`{"properties":{"a":{"type":"string","writeOnly":true,"x-mcp-header":"A"}}}`, nil, true},
		"S-32: a password": {`{"properties":{"a":{"type":"string","format":"password","x-mcp-header":"A"}}}`, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Find([]byte(test.schema))
			if (err != nil) != test.bad {
				t.Fatalf("got error %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is said of a schema with several mistakes is the same every time: it becomes a condition of the tool.
func TestFindSaysTheSameEveryTime(t *testing.T) {
	schema := []byte(`{"properties":{"a":{"type":"number","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":" "},
		"c":{"items":{"x-mcp-header":7}}},"allOf":[{"x-mcp-header":"D"}],"$defs":{"e":{"x-mcp-header":"E"}}}`)
	_, first := Find(schema)
	for range 50 {
		if _, err := Find(schema); err == nil || err.Error() != first.Error() {
			t.Fatalf("first %v, then %v", first, err)
		}
	}
}
