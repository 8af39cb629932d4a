package endpoint_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcptasks/mcptasks/internal/store/storetest"
)

// legacy sends a request as a client of a handshake era does. An empty version sends no version header.
func (f *fixture) legacy(t *testing.T, version, body string) reply {
	t.Helper()
	header := http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + alice},
		"Mcp-Session-Id": {"stale"}, "Last-Event-Id": {"7"}, // both mean nothing here
	}
	if version != "" {
		header.Set("MCP-Protocol-Version", version)
	}
	return f.do(t, http.MethodPost, f.url, body, header)
}

func TestHandshake_S63(t *testing.T) {
	f := newFixture(t)
	for _, version := range []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} {
		got := f.legacy(t, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+version+`",
			"capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}},"clientInfo":{"name":"old","version":"1"}}}`)
		if got.status != http.StatusOK || !strings.Contains(got.body, `"protocolVersion":"`+version+`"`) ||
			!strings.Contains(got.body, `"capabilities":{"tools":{}}`) {
			t.Errorf("%s: HTTP %d, %s", version, got.status, got.body)
		}
		if session := got.header.Get("Mcp-Session-Id"); session != "" {
			t.Errorf("%s: session %q", version, session)
		}
		if got := f.legacy(t, version, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); got.status != http.StatusAccepted {
			t.Errorf("%s: initialized: HTTP %d", version, got.status)
		}
		if got := f.legacy(t, version, `{"jsonrpc":"2.0","id":2,"method":"ping"}`); !strings.Contains(got.body, `"result":{}`) {
			t.Errorf("%s: ping: %s", version, got.body)
		}
	}
}

// Legacy clients get plain results, also with the extension declared, and no tasks methods.
func TestLegacyClients_S63_T64(t *testing.T) {
	f := newFixture(t)
	f.play(t, func(id string) {
		f.cluster.SetStatus(t, "team-a", id, storetest.Completed(
			`{"resultType":"complete","content":[{"type":"text","text":"Hello"}],"structuredContent":{"n":9007199254740993}}`))
	})
	request := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":"x","method":"` + method + `","params":{` + params + `}}`
	}
	for name, test := range map[string]struct {
		version, body string
		want          []string
	}{
		"list":             {"2025-11-25", request("tools/list", ``), []string{`"tools":[{"name":"greet"`, `"inputSchema":{`}},
		"S-22: no version": {"", request("tools/list", ``), []string{`"name":"greet"`}},
		"call": {"2025-06-18", request("tools/call", `"name":"slow","arguments":{},"task":{"ttl":1}`),
			[]string{`"id":"x"`, `"text":"Hello"`, `{"n":9007199254740993}`}},
		"call with arguments null": {"2025-06-18", request("tools/call", `"name":"slow","arguments":null`), []string{`"text":"Hello"`}},
		"bad arguments": {"2025-06-18", request("tools/call", `"name":"greet","arguments":{}`),
			[]string{`"isError":true`, `name`}},
		"unknown tool": {"2025-11-25", request("tools/call", `"name":"nope"`), []string{`"code":-32602`}},
		"tool that needs tasks": {"2025-11-25", request("tools/call", `"name":"must"`),
			[]string{`"code":-32021`, `"requiredCapabilities"`, `nothing was started`, `a client that speaks MCP 2026-07-28`}},
		"bad cursor":             {"2025-11-25", request("tools/list", `"cursor":"x"`), []string{`"code":-32602`}},
		"tasks/get":              {"2025-11-25", request("tasks/get", `"taskId":"x"`), []string{`"id":"x"`, `"code":-32601`}},
		"prompts/list":           {"2025-11-25", request("prompts/list", ``), []string{`"code":-32601`}},
		"params of another type": {"2025-11-25", request("tools/call", `"name":{"secret":1}`), []string{`"code":-32602`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := f.legacy(t, test.version, test.body)
			if got.status != http.StatusOK {
				t.Errorf("HTTP %d", got.status)
			}
			for _, want := range test.want {
				if !strings.Contains(got.body, want) {
					t.Errorf("%s is not in %s", want, got.body)
				}
			}
			for _, not := range []string{`"taskId"`, "secret", "mcp.CallTool"} {
				if strings.Contains(got.body, not) {
					t.Errorf("%s is in %s", not, got.body)
				}
			}
		})
	}
}

func TestLegacyProgress(t *testing.T) {
	f := newFixture(t)
	f.play(t, func(id string) {
		f.cluster.SetStatus(t, "team-a", id, storetest.Completed(textResult("done")))
	})
	got := f.legacy(t, "2025-11-25",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"p"}}}`)
	if !strings.Contains(got.body, `"progressToken":"p"`) || !strings.Contains(got.body, `"text":"done"`) {
		t.Errorf("got %s", got.body)
	}
	if got.header.Get("X-Accel-Buffering") != "no" {
		t.Error("proxies are not told to leave the stream alone")
	}
}

func TestLegacyErrorsAreJSON(t *testing.T) {
	f := newFixture(t)
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}`,
	} {
		got := f.legacy(t, "2025-11-25", body)
		if strings.Contains(got.header.Get("Content-Type"), "text/plain") || !strings.Contains(got.body, `"error":{"code":-`) ||
			strings.Contains(got.body, "mcp.") {
			t.Errorf("%s: HTTP %d, %q, %s", body, got.status, got.header.Get("Content-Type"), got.body)
		}
	}
}
