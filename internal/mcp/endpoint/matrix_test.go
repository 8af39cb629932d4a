package endpoint_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcptasks/mcptasks/internal/mcp/endpoint"
)

// request is a POST as a test spoils it.
type request struct {
	body   string
	header http.Header
}

// with sets a header, or takes it away where value is empty.
func (r request) with(name, value string) request {
	r.header = r.header.Clone()
	r.header.Set(name, value)
	if value == "" {
		r.header.Del(name)
	}
	return r
}

// raw is alice's request with any body and the headers of a server/discover.
func raw(body string) request {
	return request{body, http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + alice},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"server/discover"},
	}}
}

// message is a request with the headers that its body asks for. meta are the members of _meta; none leaves it out. params are the
// other members of params; a name or a taskId comes first.
func message(method, meta string, params ...string) request {
	if meta != "" {
		params = append(params, `"_meta":{`+meta+`}`)
	}
	r := raw(`{"jsonrpc":"2.0","id":"7","method":"` + method + `","params":{` + strings.Join(params, ",") + `}}`)
	r = r.with("Mcp-Method", method)
	if field, value, ok := strings.Cut(params[0], ":"); ok && (field == `"name"` || field == `"taskId"`) {
		r = r.with("Mcp-Name", strings.Trim(value, `"`))
	}
	return r
}

const (
	version     = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	futureOnly  = `"io.modelcontextprotocol/protocolVersion":"v999.0.0",` + noTasks
	legacyOnly  = `"io.modelcontextprotocol/protocolVersion":"2025-11-25",` + noTasks
	noTasks     = `"io.modelcontextprotocol/clientCapabilities":{}`
	oldTasks    = `"io.modelcontextprotocol/clientCapabilities":{"tasks":{"requests":{"tools":{"call":{}}}}}`
	withTasks   = `"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	plain       = version + "," + noTasks
	tasks       = version + "," + withTasks
	unknownTask = `"taskId":"t-aaaaaaaaaaaaaaaaaaaaaaaaaa"`
)

// spoiled is a row of the matrix.
type spoiled struct {
	name    string
	request request
	status  int
	code    int
}

// matrix is the error matrix of the contract (1.13) in the order of the checks (1.14), and with it requests that have two
// faults: they get the answer of the one that is checked first. The id comes back from the second group on, where it can be
// read.
func matrix() map[string][]spoiled {
	discover := message("server/discover", plain)
	greet := message("tools/call", plain, `"name":"greet"`)
	get := message("tasks/get", tasks, unknownTask)
	return map[string][]spoiled{
		"before the id is known": {
			{"S-2: foreign origin", discover.with("Origin", "https://evil.example"), 403, -32600},
			{"S-2, A25: foreign origin, no token", discover.with("Origin", "https://evil.example").with("Authorization", ""), 403, -32600},
			{"S-3: DNS rebinding", discover.with("Origin", "http://evil.example").with("Host", "evil.example"), 403, -32600},
			{"opaque origin", discover.with("Origin", "null"), 403, -32600},
			{"S-132: no token", discover.with("Authorization", ""), 401, -32600},
			{"S-133: no token, no JSON", raw(`{`).with("Authorization", ""), 401, -32600},
			{"S-132: bad token", discover.with("Authorization", "Bearer stolen"), 401, -32600},
			{"no tenant", discover.with("Authorization", "Bearer system:serviceaccount:kube-system:x"), 403, -32600},
			{"the API server does not answer", discover.with("Authorization", "Bearer unavailable"), 503, -32603},
			{"S-10: another content type", discover.with("Content-Type", "text/plain"), 415, -32600},
			{"another content type, no JSON", raw(`{`).with("Content-Type", "text/plain"), 415, -32600},
			{"no content type", discover.with("Content-Type", ""), 415, -32600},
			{"compressed", discover.with("Content-Encoding", "gzip"), 415, -32600},
			{"S-10: only JSON accepted", discover.with("Accept", "application/json"), 406, -32600},
			{"only streams accepted", discover.with("Accept", "text/event-stream"), 406, -32600},
			{"JSON refused", discover.with("Accept", "application/json;q=0, text/event-stream"), 406, -32600},
			{"too large", message("server/discover", plain, `"x":"`+strings.Repeat("x", 1<<20)+`"`), 413, -32600},
			{"S-7: no JSON", raw(`{"jsonrpc":`), 400, -32700},
			{"empty", raw(``), 400, -32700},
			{"S-7: batch", raw(`[` + discover.body + `]`), 400, -32600},
			{"S-40: null id", raw(`{"jsonrpc":"2.0","id":null,"method":"server/discover"}`), 400, -32600},
			{"S-8: request without id", raw(`{"jsonrpc":"2.0","method":"tools/call","params":{}}`), 400, -32600},
		},
		"envelope": {
			{"S-7: response", raw(`{"jsonrpc":"2.0","id":"7","result":{}}`), 400, -32600},
			{"no method", raw(`{"jsonrpc":"2.0","id":"7"}`), 400, -32600},
			{"another version of JSON-RPC", raw(`{"jsonrpc":"1.0","id":"7","method":"server/discover"}`), 400, -32600},
		},
		"_meta, before any header": {
			{"S-41: no params", raw(`{"jsonrpc":"2.0","id":"7","method":"server/discover"}`), 400, -32602},
			{"S-41: no _meta", message("server/discover", ``, `"x":1`), 400, -32602},
			{"no _meta, no headers",
				message("tasks/get", ``, `"x":1`).with("MCP-Protocol-Version", "").with("Mcp-Method", ""), 400, -32602},
			{"S-41, A30: no version", message("server/discover", noTasks), 400, -32602},
			{"S-41, A30: no capabilities", message("server/discover", version), 400, -32602},
			{"S-41: no capabilities, wrong header", message("server/discover", version).with("Mcp-Method", "tools/list"), 400, -32602},
			{"no capabilities, unknown method", message("nonsense", version), 400, -32602},
			{"progress token of another type", message("server/discover", plain+`,"progressToken":[]`), 400, -32602},
		},
		"version header, before the version": {
			{"S-22: none", discover.with("MCP-Protocol-Version", ""), 400, -32020},
			{"S-21: a legacy one", discover.with("MCP-Protocol-Version", "2025-11-25"), 400, -32020},
			{"S-21: another than the body's", message("server/discover", futureOnly), 400, -32020},
		},
		"version, before the method": {
			{"S-23, S-61, A30: unknown", message("server/discover", futureOnly).with("MCP-Protocol-Version", "v999.0.0"), 400, -32022},
			{"S-23: legacy", message("tools/list", legacyOnly).with("MCP-Protocol-Version", "2025-11-25"), 400, -32022},
			{"unknown, no method header",
				message("x", futureOnly).with("MCP-Protocol-Version", "v999.0.0").with("Mcp-Method", ""), 400, -32022},
		},
		"Mcp-Method, before the method": {
			{"S-24: none", discover.with("Mcp-Method", ""), 400, -32020},
			{"S-24: another", discover.with("Mcp-Method", "tools/list"), 400, -32020},
			{"S-20: in another case", discover.with("Mcp-Method", "SERVER/DISCOVER"), 400, -32020},
			{"A04: of another era of tasks", get.with("Mcp-Method", "tools/call"), 400, -32020},
			{"none, unknown method", message("nonsense", plain).with("Mcp-Method", ""), 400, -32020},
		},
		"methods, before Mcp-Name": {
			{"S-47: unknown", message("nonsense", plain), 404, -32601},
			{"S-48: initialize", message("initialize", plain), 404, -32601},
			{"S-48: ping", message("ping", plain), 404, -32601},
			{"S-48: logging/setLevel", message("logging/setLevel", plain), 404, -32601},
			{"S-48: resources/subscribe", message("resources/subscribe", plain), 404, -32601},
			{"S-48: resources/unsubscribe", message("resources/unsubscribe", plain), 404, -32601},
			{"S-62: prompts/list", message("prompts/list", plain), 404, -32601},
			{"prompts/get", message("prompts/get", plain, `"name":"x"`).with("Mcp-Name", ""), 404, -32601},
			{"resources/list", message("resources/list", plain), 404, -32601},
			{"resources/read", message("resources/read", plain, `"uri":"x"`), 404, -32601},
			{"S-62: completion/complete", message("completion/complete", plain), 404, -32601},
			{"A03, T-63, S-33: tasks/result", message("tasks/result", tasks, unknownTask).with("Mcp-Name", ""), 404, -32601},
			{"A03, T-63: tasks/list", message("tasks/list", plain), 404, -32601},
		},
		"Mcp-Name, before what it names": {
			{"S-25: none", greet.with("Mcp-Name", ""), 400, -32020},
			{"S-25: another", greet.with("Mcp-Name", "slow"), 400, -32020},
			{"S-28: bad base64", greet.with("Mcp-Name", "=?base64?*?="), 400, -32020},
			{"none, unknown tool", message("tools/call", plain, `"name":"nope"`).with("Mcp-Name", ""), 400, -32020},
			{"A04, S-27: none on tasks/get", get.with("Mcp-Name", ""), 400, -32020},
			{"A04, S-26: another on tasks/get", get.with("Mcp-Name", "t-bbbbbbbbbbbbbbbbbbbbbbbbbb"), 400, -32020},
			{"another, no capability", message("tasks/get", plain, unknownTask).with("Mcp-Name", "x"), 400, -32020},
		},
		"parameters": {
			{"S-86: no tool", message("tools/call", plain), 400, -32602},
			{"S-86: tool of another type", message("tools/call", plain, `"name":7`), 400, -32602},
			{"arguments of another type", message("tools/call", plain, `"name":"greet"`, `"arguments":[]`), 400, -32602},
			{"arguments null", message("tools/call", plain, `"name":"greet"`, `"arguments":null`), 400, -32602},
			{"cursor of another type", message("tools/list", plain, `"cursor":7`), 400, -32602},
			{"S-74, A30: bad cursor", message("tools/list", plain, `"cursor":"nonsense"`), 400, -32602},
			{"no taskId", message("tasks/get", tasks), 400, -32602},
			{"no inputResponses", message("tasks/update", tasks, unknownTask), 400, -32602},
			{"S-116: no filter", message("subscriptions/listen", tasks), 400, -32602},
			{"filter of another type", message("subscriptions/listen", tasks, `"notifications":["taskIds"]`), 400, -32602},
			{"ids of another type", message("subscriptions/listen", tasks, `"notifications":{"taskIds":[7]}`), 400, -32602},
		},
		"capabilities, before the task": {
			{"A03, T-20: tasks/get", message("tasks/get", plain, unknownTask), 400, -32021},
			{"A03, T-20: tasks/update", message("tasks/update", plain, unknownTask, `"inputResponses":{}`), 400, -32021},
			{"A03, T-20: tasks/cancel", message("tasks/cancel", plain, unknownTask), 400, -32021},
			{"A03, T-52: tasks to listen to", message("subscriptions/listen", plain, `"notifications":{"taskIds":["x"]}`), 400, -32021},
			{"Q-34: no tasks to listen to", message("subscriptions/listen", plain, `"notifications":{"taskIds":[]}`), 400, -32021},
			{"A01, T-4, S-44: a tool that needs tasks", message("tools/call", plain, `"name":"must"`), 400, -32021},
			{"A01, T-65: legacy capability and parameter",
				message("tools/call", version+","+oldTasks, `"name":"must"`, `"task":{"ttl":1}`), 400, -32021},
		},
		"tools and tasks": {
			{"S-86: unknown tool", message("tools/call", plain, `"name":"nope"`), 400, -32602},
			{"S-73: another tenant's tool", message("tools/call", plain, `"name":"secret"`), 400, -32602},
			{"tool that is not ready", message("tools/call", plain, `"name":"broken"`), 400, -32602},
			{"S-29: no mirrored argument", message("tools/call", plain, `"name":"routed"`, `"arguments":{"region":"eu"}`), 400, -32020},
			{"S-29: another mirrored argument", message("tools/call", plain, `"name":"routed"`, `"arguments":{"region":"eu"}`).
				with("Mcp-Param-Region", "us"), 400, -32020},
			{"T-21, A03: unknown task", get, 400, -32602},
			{"malformed task", message("tasks/get", tasks, `"taskId":"../x"`), 400, -32602},
			{"T-22: unknown task to update", message("tasks/update", tasks, unknownTask, `"inputResponses":{}`), 400, -32602},
			{"T-22: unknown task to cancel", message("tasks/cancel", tasks, unknownTask), 400, -32602},
		},
	}
}

func TestErrorMatrix_S50(t *testing.T) {
	f := newFixture(t)
	data := map[int][]string{
		-32021: {`{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`},
		-32022: {`{"requested":"v999.0.0","supported":["2026-07-28"]}`, `{"requested":"2025-11-25","supported":["2026-07-28"]}`},
	}
	for step, rows := range matrix() {
		for _, row := range rows {
			t.Run(step+"/"+row.name, func(t *testing.T) {
				got := f.do(t, http.MethodPost, f.url, row.request.body, row.request.header)
				id, code, text, gotData := got.rpc(t)
				if got.status != row.status || code != row.code {
					t.Fatalf("got HTTP %d with %s, want %d with code %d", got.status, got.body, row.status, row.code)
				}
				if want := step != "before the id is known"; (string(id) == `"7"`) != want || (id == nil) == want {
					t.Errorf("got id %s", id)
				}
				if want := data[code]; want != nil && !slices.Contains(want, string(gotData)) {
					t.Errorf("got data %s", gotData)
				}
				if text == "" || len(text) > 500 || strings.Contains(text, "\n") {
					t.Errorf("the message is no short sentence: %q", text)
				}
				for _, internal := range []string{"struct", "json:", "0x", "goroutine", "internal/"} {
					if strings.Contains(text, internal) {
						t.Errorf("the message shows internals: %s", text)
					}
				}
			})
		}
	}
	if n := len(f.cluster.Tasks(t, "team-a")); n != 0 {
		t.Errorf("%d tasks were created", n)
	}
}

func TestEverythingAccepted(t *testing.T) {
	f := newFixture(t)
	for _, accept := range []string{"*/*", "", "application/*, text/*;q=0.5"} {
		r := message("server/discover", plain).with("Accept", accept)
		if got := f.do(t, http.MethodPost, f.url, r.body, r.header); got.status != http.StatusOK {
			t.Errorf("%q: HTTP %d", accept, got.status)
		}
	}
}

// A25: every other HTTP method, cheaply and before anybody is asked who the caller is.
func TestOtherHTTPMethods_A25_S5(t *testing.T) {
	f := newFixture(t)
	for _, method := range []string{"GET", "DELETE", "PUT", "HEAD", "OPTIONS", "PATCH"} {
		got := f.do(t, method, f.url, "", http.Header{"Accept": {"text/event-stream"}, "Mcp-Session-Id": {"x"}})
		if got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "POST" || len(got.body) > 200 {
			t.Errorf("%s: HTTP %d, Allow %q, %d bytes", method, got.status, got.header.Get("Allow"), len(got.body))
		}
	}
	if n := f.cluster.Requests(); n != 0 {
		t.Errorf("%d requests to the API server", n)
	}
}

func TestOtherPaths_S1(t *testing.T) {
	f := newFixture(t)
	body, header := f.encode(t, "server/discover", "", nil)
	got := f.do(t, http.MethodPost, f.url+"/x", body, header)
	if got.status != http.StatusNotFound || !strings.Contains(got.body, "/mcp") {
		t.Errorf("got HTTP %d: %s", got.status, got.body)
	}
}

func TestChallenge_S132(t *testing.T) {
	f := newFixture(t)
	body, header := f.encode(t, "server/discover", "", nil)
	header.Set("Authorization", "Bearer stolen")
	got := f.do(t, http.MethodPost, f.url, body, header)
	if want := `Bearer realm="mcptasks", error="invalid_token"`; got.header.Get("WWW-Authenticate") != want {
		t.Errorf("got %q", got.header.Get("WWW-Authenticate"))
	}
	if strings.Contains(got.body, "stolen") || strings.Contains(f.log.String(), "stolen") {
		t.Error("the token shows up")
	}
}

func TestNotificationsAreAccepted_S8_S16(t *testing.T) {
	f := newFixture(t)
	_, header := f.encode(t, "notifications/cancelled", "", nil)
	header.Del("Mcp-Method")
	header.Del("MCP-Protocol-Version")
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/unheard-of","params":{}}`,
	} {
		if got := f.do(t, http.MethodPost, f.url, body, header); got.status != http.StatusAccepted || got.body != "" {
			t.Errorf("%s: HTTP %d, %q", body, got.status, got.body)
		}
	}
}

func TestBrowsers_S2(t *testing.T) {
	f := newFixture(t, func(o *endpoint.Options) { o.AllowedOrigins = []string{"https://app.example.com"} })
	body, header := f.encode(t, "server/discover", "", nil)
	for origin, allowed := range map[string]bool{
		"https://app.example.com":              true,
		"https://APP.example.com":              true,
		"http://app.example.com":               false,
		"https://app.example.com.evil.example": false,
		"http://localhost:6274":                true, // the test's host is a loopback address, too
		"http://[::1]:1":                       true,
		"null":                                 false,
		"":                                     true,
	} {
		header := header.Clone()
		if origin != "" {
			header.Set("Origin", origin)
		}
		got := f.do(t, http.MethodPost, f.url, body, header)
		if (got.status == http.StatusOK) != allowed {
			t.Errorf("%q: HTTP %d", origin, got.status)
		}
		if want := origin; allowed && got.header.Get("Access-Control-Allow-Origin") != want {
			t.Errorf("%q: the browser is told %q", origin, got.header.Get("Access-Control-Allow-Origin"))
		}
	}
	preflight := http.Header{
		"Origin": {"https://app.example.com"}, "Access-Control-Request-Method": {"POST"},
		"Access-Control-Request-Headers": {"authorization,mcp-method"},
	}
	got := f.do(t, http.MethodOptions, f.url, "", preflight)
	if got.status != http.StatusNoContent || got.header.Get("Access-Control-Allow-Headers") != "authorization,mcp-method" {
		t.Errorf("preflight: HTTP %d, %v", got.status, got.header)
	}
}

func TestLoopbackEndpointIsCalledByALoopbackName_S3(t *testing.T) {
	f := newFixture(t, func(o *endpoint.Options) { o.Loopback = true })
	body, header := f.encode(t, "server/discover", "", nil)
	for host, ok := range map[string]bool{"localhost:8080": true, "127.0.0.1": true, "[::1]:8080": true, "evil.example": false} {
		header := header.Clone()
		header.Set("Host", host)
		if got := f.do(t, http.MethodPost, f.url, body, header); (got.status == http.StatusOK) != ok {
			t.Errorf("%s: HTTP %d", host, got.status)
		}
	}
}

func TestLenientName_A04_S27(t *testing.T) {
	f := newFixture(t, func(o *endpoint.Options) { o.LenientName = true })
	body, header := f.encode(t, "tasks/get", "", map[string]any{"taskId": "t-aaaaaaaaaaaaaaaaaaaaaaaaaa"})
	if _, code, _, _ := f.do(t, http.MethodPost, f.url, body, header).rpc(t); code != -32602 {
		t.Errorf("without the header: code %d", code)
	}
	header.Set("Mcp-Name", "t-bbbbbbbbbbbbbbbbbbbbbbbbbb")
	if _, code, _, _ := f.do(t, http.MethodPost, f.url, body, header).rpc(t); code != -32020 {
		t.Errorf("with a wrong one: code %d", code)
	}
	body, header = f.encode(t, "tools/call", "", map[string]any{"name": "slow"})
	if _, code, _, _ := f.do(t, http.MethodPost, f.url, body, header).rpc(t); code != -32020 {
		t.Errorf("tools/call without the header: code %d", code)
	}
}

// A header that contradicts the body is refused before the cluster is asked for anything, and in words that name both.
func TestWrongHeadersAskNobody_A04(t *testing.T) {
	f := newFixture(t)
	mine, other := f.call(t).TaskID, "t-bbbbbbbbbbbbbbbbbbbbbbbbbb"
	get := message("tasks/get", tasks, `"taskId":"`+mine+`"`)
	twice := get.with("Mcp-Name", mine)
	twice.header.Add("Mcp-Name", other)
	before := f.cluster.Requests()
	for name, c := range map[string]struct {
		request request
		words   []string
	}{
		"another task":   {get.with("Mcp-Name", other), []string{"Mcp-Name", "params.taskId"}},
		"two names":      {twice, []string{"Mcp-Name"}},
		"another method": {get.with("Mcp-Method", "tools/call"), []string{"Mcp-Method", "method"}},
	} {
		got := f.do(t, http.MethodPost, f.url, c.request.body, c.request.header)
		_, code, text, _ := got.rpc(t)
		if got.status != http.StatusBadRequest || code != -32020 {
			t.Errorf("%s: HTTP %d, %s", name, got.status, got.body)
		}
		for _, words := range c.words {
			if !strings.Contains(text, words) {
				t.Errorf("%s: %q does not name %s", name, text, words)
			}
		}
	}
	if n := f.cluster.Requests() - before; n != 0 {
		t.Errorf("%d requests to the API server", n)
	}
	if got := f.do(t, http.MethodPost, f.url, get.body, get.header); got.status != http.StatusOK {
		t.Errorf("the right name: HTTP %d, %s", got.status, got.body)
	}
}
