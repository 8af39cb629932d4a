package wire

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParamBindings_S31(t *testing.T) {
	for name, test := range map[string]struct {
		schema string
		want   []ParamBinding
		bad    bool
	}{
		"none": {`{"type":"object","properties":{"a":{"type":"string"}}}`, nil, false},
		"sorted": {`{"properties":{"b":{"type":"integer","x-mcp-header":"B"},"a":{"type":"string","x-mcp-header":"A"}}}`,
			[]ParamBinding{{[]string{"a"}, "A", "string"}, {[]string{"b"}, "B", "integer"}}, false},
		"nested in properties": {`{"properties":{"o":{"type":"object","properties":{"x":{"type":"boolean","x-mcp-header":"X"}}}}}`,
			[]ParamBinding{{[]string{"o", "x"}, "X", "boolean"}}, false},
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
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParamBindings([]byte(test.schema))
			if (err != nil) != test.bad {
				t.Fatalf("got error %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckParams(t *testing.T) {
	bindings := []ParamBinding{
		{[]string{"region"}, "Region", "string"},
		{[]string{"n"}, "N", "integer"},
		{[]string{"o", "flag"}, "Flag", "boolean"},
	}
	for name, test := range map[string]struct {
		arguments string
		header    map[string]string
		ok        bool
	}{
		"nothing":                 {`{}`, nil, true},
		"no arguments":            {``, nil, true},
		"S-29: null is not given": {`{"region":null}`, nil, true},
		"all": {
			`{"region":"eu","n":42,"o":{"flag":true}}`, map[string]string{"Region": "eu", "N": "42", "Flag": "true"}, true,
		},
		"S-28: encoded":                      {`{"region":"日本"}`, map[string]string{"Region": "=?base64?5pel5pys?="}, true},
		"S-33: unknown headers are ignored":  {`{}`, map[string]string{"Other": "x"}, true},
		"S-30: integer with a zero fraction": {`{"n":42}`, map[string]string{"N": "42.0"}, true},
		"argument with a zero fraction":      {`{"n":42.0}`, map[string]string{"N": "42"}, true},
		"A26: above 2^53":                    {`{"n":9007199254740993}`, map[string]string{"N": "9007199254740992"}, false},
		"S-29: missing":                      {`{"region":"eu"}`, nil, false},
		"S-29: not expected":                 {`{}`, map[string]string{"Region": "eu"}, false},
		"different":                          {`{"region":"eu"}`, map[string]string{"Region": "us"}, false},
		"S-20: case of a value counts":       {`{"o":{"flag":true}}`, map[string]string{"Flag": "True"}, false},
		"bad base64":                         {`{"region":"eu"}`, map[string]string{"Region": "=?base64?*?="}, false},
		"exponent":                           {`{"n":1e9}`, map[string]string{"N": "1e9"}, false},
		"object as argument":                 {`{"region":{}}`, map[string]string{"Region": "{}"}, false},
		"o is no object":                     {`{"o":7}`, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			for name, value := range test.header {
				header.Set("Mcp-Param-"+name, value)
			}
			err := CheckParams(header, bindings, []byte(test.arguments))
			if (err == nil) != test.ok {
				t.Fatalf("got %v", err)
			}
			if err != nil && err.Code != CodeHeaderMismatch {
				t.Errorf("got code %d", err.Code)
			}
		})
	}
}
