package listen_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

// S-116, T-52, Q-34: what is asked for wrongly is refused in words before a stream begins.
func TestRefusedRequests_S116_T52(t *testing.T) {
	tooMany := make([]string, 257)
	for i := range tooMany {
		tooMany[i] = fmt.Sprintf("t-%d", i)
	}
	for name, tc := range map[string]struct {
		filter       string
		withoutTasks bool
		code         int
	}{
		"no filter":                  {filter: ``, code: wire.CodeInvalidParams},
		"null":                       {filter: `null`, code: wire.CodeInvalidParams},
		"an array":                   {filter: `[]`, code: wire.CodeInvalidParams},
		"a string":                   {filter: `"taskIds"`, code: wire.CodeInvalidParams},
		"a member twice":             {filter: `{"taskIds":[],"taskIds":["t-1"]}`, code: wire.CodeInvalidParams},
		"tools: a string":            {filter: `{"toolsListChanged":"true"}`, code: wire.CodeInvalidParams},
		"tools: null":                {filter: `{"toolsListChanged":null}`, code: wire.CodeInvalidParams},
		"prompts: a number":          {filter: `{"promptsListChanged":1}`, code: wire.CodeInvalidParams},
		"resources: an object":       {filter: `{"resourcesListChanged":{}}`, code: wire.CodeInvalidParams},
		"URIs: a string":             {filter: `{"resourceSubscriptions":"file:///x"}`, code: wire.CodeInvalidParams},
		"tasks: null":                {filter: `{"taskIds":null}`, code: wire.CodeInvalidParams},
		"tasks: a string":            {filter: `{"taskIds":"t-1"}`, code: wire.CodeInvalidParams},
		"tasks: a number among them": {filter: `{"taskIds":["t-1",2]}`, code: wire.CodeInvalidParams},
		"tasks: null among them":     {filter: `{"taskIds":[null]}`, code: wire.CodeInvalidParams},
		"tasks: too many":            {filter: filterOf(tooMany...), code: wire.CodeInvalidParams},
		"tasks, undeclared":          {filter: `{"taskIds":["t-1"]}`, withoutTasks: true, code: wire.CodeMissingCapability},
		"no tasks, undeclared":       {filter: `{"taskIds":[]}`, withoutTasks: true, code: wire.CodeMissingCapability},
		"tools and no tasks, undeclared": {
			filter: `{"toolsListChanged":true,"taskIds":[]}`, withoutTasks: true, code: wire.CodeMissingCapability,
		},
		"tasks: a number, also undeclared": {filter: `{"taskIds":7}`, withoutTasks: true, code: wire.CodeInvalidParams},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, endpointOptions{})
			request := asked{ID: json.RawMessage(`"x"`), Notifications: json.RawMessage(tc.filter), WithoutTasks: tc.withoutTasks}
			answer := e.post(t, request)
			body, err := io.ReadAll(answer.lines)
			if err != nil {
				t.Fatal(err)
			}
			var reply struct {
				ID    string
				Error wire.Error
			}
			if err := json.Unmarshal(body, &reply); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			if answer.response.StatusCode != http.StatusBadRequest || reply.Error.Code != tc.code || reply.ID != "x" {
				t.Errorf("HTTP %s, %s; want HTTP 400 and code %d", answer.response.Status, body, tc.code)
			}
		})
	}
}

// S-111, T-51, Q-8: the acknowledgement has what is honoured, without a word about the rest.
func TestAcknowledgedFilter_S111_T51(t *testing.T) {
	for name, tc := range map[string]struct {
		filter       string
		withoutTasks bool
		want         string
	}{
		"nothing":           {filter: `{}`, want: `{}`},
		"tools":             {filter: `{"toolsListChanged":true}`, want: `{"toolsListChanged":true}`},
		"tools, undeclared": {filter: `{"toolsListChanged":true}`, withoutTasks: true, want: `{"toolsListChanged":true}`},
		"no tools":          {filter: `{"toolsListChanged":false}`, want: `{}`},
		"what is not offered": {
			filter: `{"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["x"]}`, want: `{}`,
		},
		"what nobody knows":   {filter: `{"cake":[1],"toolslistchanged":true}`, want: `{}`},
		"no tasks":            {filter: `{"taskIds":[]}`, want: `{"taskIds":[]}`},
		"own tasks, in order": {filter: `{"taskIds":["t-own-2","t-own-1"]}`, want: `{"taskIds":["t-own-2","t-own-1"]}`},
		"a task twice":        {filter: `{"taskIds":["t-own-1","t-own-1"]}`, want: `{"taskIds":["t-own-1"]}`},
		"tools and tasks": {
			filter: `{"taskIds":["t-own-1"],"toolsListChanged":true}`, want: `{"toolsListChanged":true,"taskIds":["t-own-1"]}`,
		},
		"another caller's":       {filter: `{"taskIds":["t-mallory"]}`, want: `{"taskIds":[]}`},
		"a namesake's elsewhere": {filter: `{"taskIds":["t-stranger"]}`, want: `{"taskIds":[]}`},
		"unknown, malformed, foreign": {
			filter: `{"taskIds":["t-no","","../x","t-mallory","t-own-1"]}`, want: `{"taskIds":["t-own-1"]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, endpointOptions{})
			e.records.create("t-own-1", alice)
			e.records.create("t-own-2", alice)
			e.records.create("t-mallory", mallory)
			e.records.create("t-stranger", stranger)
			request := asked{ID: json.RawMessage(`0`), Notifications: json.RawMessage(tc.filter), WithoutTasks: tc.withoutTasks}
			got := e.post(t, request).next(t)
			want := `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",` +
				`"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":0},"notifications":` + tc.want + "}}\n"
			if string(got.raw) != want {
				t.Errorf("got  %s\nwant %s", got.raw, want)
			}
		})
	}
}

// A22: what proxies have to be told is in the headers, and they and the acknowledgement are on their way at once, over both
// protocols.
func TestStreamBegins_A22_S110(t *testing.T) {
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, endpointOptions{protocol: protocol})
			stream := e.open(t, `{"taskIds":[]}`) // returns although nothing follows
			for name, want := range map[string]string{
				"Content-Type":      "text/event-stream",
				"Cache-Control":     "no-cache",
				"X-Accel-Buffering": "no",
			} {
				if got := stream.response.Header.Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			if got := stream.response.Header; got.Get("Mcp-Session-Id") != "" || got.Get("Content-Length") != "" {
				t.Errorf("headers of something else than a stream: %v", got)
			}
		})
	}
}

// S-112, A23: everything on a stream carries the request's id, of the JSON type that it came with.
func TestSubscriptionIDs_A23_S112(t *testing.T) {
	for _, id := range []string{`7`, `"7"`, `0`, `""`, `-1`, `9007199254740993`, `"<é>"`} {
		t.Run(id, func(t *testing.T) {
			e := newEndpoint(t, endpointOptions{})
			e.records.create("t-1", alice)
			stream := e.post(t, asked{
				ID: json.RawMessage(id), Notifications: json.RawMessage(`{"taskIds":["t-1"],"toolsListChanged":true}`),
			})
			acknowledged, snapshot := stream.next(t), stream.next(t)
			e.toolbox.change(alice.Namespace, "new")
			e.clock.Step(settle)
			tools := stream.next(t)
			e.drain()
			result := stream.end(t)
			methods := []string{acknowledged.Method, snapshot.Method, tools.Method, result.Method}
			want := []string{
				"notifications/subscriptions/acknowledged", "notifications/tasks", "notifications/tools/list_changed", "",
			}
			if !slices.Equal(methods, want) {
				t.Fatalf("got %q, want %q", methods, want)
			}
			for _, message := range []received{acknowledged, snapshot, tools, result} {
				if got := message.subscriptionID(t); got != id {
					t.Errorf("subscriptionId %s in %s, want %s", got, message.raw, id)
				}
			}
			if string(result.ID) != id {
				t.Errorf("the result answers %s, want %s", result.ID, id)
			}
		})
	}
}

// An API server that cannot be asked is no reason to deny a task's existence.
func TestTroubleBeforeTheStream(t *testing.T) {
	e := newEndpoint(t, endpointOptions{})
	e.toolbox.set(errTrouble)
	answer := e.post(t, asked{ID: json.RawMessage(`1`), Notifications: json.RawMessage(`{"toolsListChanged":true}`)})
	if answer.response.StatusCode != http.StatusInternalServerError {
		t.Errorf("HTTP %s; want an error and no stream", answer.response.Status)
	}
	e.waitEnded(t)
	if n := e.toolbox.watched(); n != 0 {
		t.Errorf("%d wake-ups are still wanted", n)
	}
}
