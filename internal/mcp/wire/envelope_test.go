package wire

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		body   string
		code   int    // 0: no error
		id     string // as it must be echoed; empty: none
		method string
	}{
		"request":                      {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, 0, `1`, "tools/list"},
		"S-40: zero is an id":          {`{"jsonrpc":"2.0","id":0,"method":"m"}`, 0, `0`, "m"},
		"S-40: empty is an id":         {`{"jsonrpc":"2.0","id":"","method":"m"}`, 0, `""`, "m"},
		"A26: no integer is rounded":   {`{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}`, 0, `9007199254740993`, "m"},
		"S-40: escapes are kept":       {`{"jsonrpc":"2.0","id":"\u00e9<","method":"m"}`, 0, `"\u00e9<"`, "m"},
		"white space around":           {" \n{\"jsonrpc\":\"2.0\",\"id\":-7,\"method\":\"m\"}\t", 0, `-7`, "m"},
		"notification":                 {`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, 0, ``, "notifications/cancelled"},
		"nothing":                      {``, CodeParseError, ``, ""},
		"no JSON":                      {`{"jsonrpc":`, CodeParseError, ``, ""},
		"S-7: two values":              {`{} {}`, CodeParseError, ``, ""},
		"no UTF-8":                     {"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"m\"}", CodeParseError, ``, ""},
		"batch":                        {`[{"jsonrpc":"2.0","id":1,"method":"m"}]`, CodeInvalidRequest, ``, ""},
		"S-7: scalar":                  {`7`, CodeInvalidRequest, ``, ""},
		"null id":                      {`{"jsonrpc":"2.0","id":null,"method":"m"}`, CodeInvalidRequest, ``, ""},
		"S-40: fractional id":          {`{"jsonrpc":"2.0","id":1.5,"method":"m"}`, CodeInvalidRequest, ``, ""},
		"object id":                    {`{"jsonrpc":"2.0","id":{},"method":"m"}`, CodeInvalidRequest, ``, ""},
		"wrong version":                {`{"jsonrpc":"1.0","id":"x","method":"m"}`, CodeInvalidRequest, `"x"`, ""},
		"no version":                   {`{"id":"x","method":"m"}`, CodeInvalidRequest, `"x"`, ""},
		"no method":                    {`{"jsonrpc":"2.0","id":1}`, CodeInvalidRequest, `1`, ""},
		"method of another type":       {`{"jsonrpc":"2.0","id":1,"method":7}`, CodeInvalidRequest, `1`, ""},
		"response":                     {`{"jsonrpc":"2.0","id":1,"result":{}}`, CodeInvalidRequest, `1`, ""},
		"request without id":           {`{"jsonrpc":"2.0","method":"tools/call","params":{}}`, CodeInvalidRequest, ``, "tools/call"},
		"other case is another member": {`{"jsonrpc":"2.0","id":1,"Method":"m"}`, CodeInvalidRequest, `1`, ""},
		"member twice":                 {`{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`, CodeInvalidRequest, ``, ""},
		"params of another type":       {`{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}`, CodeInvalidParams, `1`, "m"},
		"parameter twice": {
			`{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","name":"b"}}`, CodeInvalidParams, `1`, "m",
		},
		"deeper than a parser can bear": {strings.Repeat(`{"a":`, 20000) + `1` + strings.Repeat(`}`, 20000), CodeParseError, ``, ""},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := Parse([]byte(test.body))
			if code := codeOf(err); code != test.code {
				t.Fatalf("got error %v, want code %d", err, test.code)
			}
			if request == nil {
				request = &Request{}
			}
			if string(request.ID) != test.id || request.Method != test.method {
				t.Errorf("got id %s and method %q, want %s and %q", request.ID, request.Method, test.id, test.method)
			}
		})
	}
}

func TestParseKeepsArgumentsByteForByte_A26(t *testing.T) {
	arguments := `{ "id": 9007199254740993, "f":1e400, "z" : -0,  "html": "<&>", "s":"\u00e9" }`
	request, err := Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":` + arguments + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	if string(request.Params.Arguments) != arguments {
		t.Errorf("got  %s\nwant %s", request.Params.Arguments, arguments)
	}
}

func TestErrorsShowNoInternals_S50(t *testing.T) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","name":"secret"}}`,
		`{"jsonrpc":"2.0","id":1,"method":{"secret":1}}`,
		`{"jsonrpc":"2.0","id":["secret"],"method":"m"}`,
	} {
		_, err := Parse([]byte(body))
		if err == nil || strings.Contains(err.Message, "secret") || strings.Contains(err.Message, "struct") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func codeOf(err *Error) int {
	if err == nil {
		return 0
	}
	return err.Code
}
