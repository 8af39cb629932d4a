package front

import (
	"net/http"
	"testing"

	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

func TestCheckMedia_S10(t *testing.T) {
	for name, test := range map[string]struct {
		contentType, encoding string
		accept                []string
		status                int
	}{
		"both":                  {"application/json", "", []string{"application/json, text/event-stream"}, 0},
		"on two lines":          {"application/json", "", []string{"application/json", "text/event-stream"}, 0},
		"with parameters":       {"application/json; charset=utf-8", "", []string{"application/json;q=0.9,text/event-stream;q=1"}, 0},
		"in another case":       {"Application/JSON", "", []string{"Application/Json, TEXT/event-stream"}, 0},
		"everything":            {"application/json", "", []string{"*/*"}, 0},
		"not said":              {"application/json", "identity", nil, 0},
		"only one":              {"application/json", "", []string{"application/json"}, 406},
		"one refused":           {"application/json", "", []string{"*/json, text/event-stream;q=0, application/json"}, 406},
		"nothing":               {"application/json", "", []string{""}, 406},
		"nonsense":              {"application/json", "", []string{";;;"}, 406},
		"no content type":       {"", "", []string{"*/*"}, 415},
		"a form":                {"application/x-www-form-urlencoded", "", []string{"*/*"}, 415},
		"JSON, but another one": {"application/json-patch+json", "", []string{"*/*"}, 415},
		"compressed":            {"application/json", "br", []string{"*/*"}, 415},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			if test.contentType != "" {
				header.Set("Content-Type", test.contentType)
			}
			if test.encoding != "" {
				header.Set("Content-Encoding", test.encoding)
			}
			for _, line := range test.accept {
				header.Add("Accept", line)
			}
			status, err := checkMedia(header)
			if status != test.status || (err != nil) != (test.status != 0) {
				t.Errorf("got %d, %v", status, err)
			}
		})
	}
}

func TestEra_S22_S63(t *testing.T) {
	const modern = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	for name, test := range map[string]struct {
		method, header, meta string
		legacy               bool
	}{
		"initialize":                           {"initialize", "", ``, true},
		"initialize, legacy header":            {"initialize", "2025-06-18", ``, true},
		"initialize, modern header":            {"initialize", "2026-07-28", ``, false},
		"initialize, modern _meta":             {"initialize", "", modern, false},
		"legacy header":                        {"tools/list", "2025-11-25", `{"progressToken":1}`, true},
		"legacy header, modern _meta":          {"tools/list", "2025-11-25", modern, false},
		"no header, as in 2025-03-26":          {"tools/list", "", ``, true},
		"no header, unknown method":            {"prompts/list", "", ``, true},
		"no header, modern _meta":              {"tools/list", "", modern, false},
		"no header, a method of no legacy era": {"server/discover", "", ``, false},
		"no header, tasks":                     {"tasks/get", "", ``, false},
		"legacy header, tasks of that era":     {"tasks/get", "2025-11-25", ``, true},
		"modern header, no _meta":              {"tools/list", "2026-07-28", ``, false},
		"unknown header, no _meta":             {"tools/list", "2019-01-01", ``, false},
		"version of another type":              {"tools/list", "", `{"io.modelcontextprotocol/protocolVersion":7}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			if test.header != "" {
				header.Set("MCP-Protocol-Version", test.header)
			}
			request := &wire.Request{Method: test.method}
			if test.meta != "" {
				request.Params.Meta = []byte(test.meta)
			}
			if got := isLegacy(header, request); got != test.legacy {
				t.Errorf("got %t", got)
			}
		})
	}
}
