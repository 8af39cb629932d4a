package wire

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	encode := func(s string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?=" }
	for name, test := range map[string]struct {
		values  []string
		body    string
		lenient bool
		ok      bool
	}{
		"S-25: equal":                             {[]string{"greet"}, "greet", false, true},
		"S-20: other case":                        {[]string{"Greet"}, "greet", false, false},
		"missing":                                 {nil, "greet", false, false},
		"A04: missing, lenient":                   {nil, "greet", true, true},
		"A04: different, lenient":                 {[]string{"other"}, "greet", true, false},
		"empty":                                   {[]string{""}, "greet", false, false},
		"empty is a value":                        {[]string{""}, "", false, true},
		"twice the same":                          {[]string{"greet", "greet"}, "greet", false, true},
		"A04, S-34: two that differ":              {[]string{"greet", "other"}, "greet", false, false},
		"two that differ, lenient":                {[]string{"other", "greet"}, "greet", true, false},
		"S-28: encoded":                           {[]string{encode("日本")}, "日本", false, true},
		"encoded, though it need not":             {[]string{encode("greet")}, "greet", false, true},
		"encoded form of an encoded form":         {[]string{encode("=?base64?YQ==?=")}, "=?base64?YQ==?=", false, true},
		"S-28: markers in upper case are literal": {[]string{"=?BASE64?YQ==?="}, "=?BASE64?YQ==?=", false, true},
		"S-28: no end marker is literal":          {[]string{"=?base64?YQ=="}, "=?base64?YQ==", false, true},
		"bad alphabet":                            {[]string{"=?base64?*?="}, "*", false, false},
		"S-28: bad padding":                       {[]string{"=?base64?YQ?="}, "a", false, false},
		"bits after the end":                      {[]string{"=?base64?YR==?="}, "a", false, false},
		"not UTF-8":                               {[]string{"=?base64?/w==?="}, "\xff", false, false},
		"bytes that should have been encoded":     {[]string{"日本"}, "日本", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			for _, value := range test.values {
				header.Add("mcp-name", value)
			}
			err := CheckName(header, "params.name", test.body, test.lenient)
			if (err == nil) != test.ok {
				t.Fatalf("got %v", err)
			}
			if err != nil && err.Code != CodeHeaderMismatch {
				t.Errorf("got code %d", err.Code)
			}
		})
	}
}

func TestMismatchNamesHeaderAndField_A04(t *testing.T) {
	header := http.Header{}
	header.Set("Mcp-Name", strings.Repeat("x", 10_000))
	err := CheckName(header, "params.taskId", "t-1", false)
	if err == nil || !strings.Contains(err.Message, "Mcp-Name") || !strings.Contains(err.Message, "params.taskId") {
		t.Fatalf("got %v", err)
	}
	if len(err.Message) > 300 {
		t.Errorf("the message repeats too much of what was sent: %d bytes", len(err.Message))
	}
}
