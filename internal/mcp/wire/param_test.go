package wire

import (
	"net/http"
	"testing"

	"github.com/mcptasks/mcptasks/internal/headerparam"
)

func TestCheckParams(t *testing.T) {
	params := []headerparam.Param{
		{Path: []string{"region"}, Name: "Region", Type: "string"},
		{Path: []string{"n"}, Name: "N", Type: "integer"},
		{Path: []string{"o", "flag"}, Name: "Flag", Type: "boolean"},
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
			err := CheckParams(header, params, []byte(test.arguments))
			if (err == nil) != test.ok {
				t.Fatalf("got %v", err)
			}
			if err != nil && err.Code != CodeHeaderMismatch {
				t.Errorf("got code %d", err.Code)
			}
		})
	}
}
