package endpoint_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// Every result says what it is and who made it, carries caching fields exactly where they mean something, and is a task or a
// question only where the protocol allows that.
func TestEveryResult_S45_S46_S70_S71_S90_T7_T8_T30(t *testing.T) {
	f := newQuestioner(t, asks("sure", v1alpha1.AskCall))
	f.play(t, func(id string) {
		if f.cluster.Task(t, "team-a", id).Spec.Tool.Name == "greet" {
			f.cluster.SetStatus(t, "team-a", id, storetest.Completed(textResult("Hello")))
		}
	})
	task := func(change func(*v1alpha1.MCPTaskStatus)) (id string, params map[string]any) {
		id = f.call(t).TaskID
		f.cluster.SetStatus(t, "team-a", id, change)
		eventually(t, "the state is seen", func() bool {
			got, err := f.client(alice).Get(t.Context(), id)
			return err == nil && got.Status == string(f.cluster.Task(t, "team-a", id).Status.State)
		})
		return id, map[string]any{"taskId": id, "inputResponses": map[string]any{}}
	}
	failed := func(s *v1alpha1.MCPTaskStatus) {
		s.State, s.Error = v1alpha1.StateFailed, &v1alpha1.TaskError{Code: -32603, Message: "No."}
	}
	working, ofWorking := task(says("Running."))
	asking, ofAsking := task(storetest.Asks("a"))
	completed, ofCompleted := task(storetest.Completed(textResult("done")))
	broken, ofBroken := task(failed)
	stopped, ofStopped := task(func(s *v1alpha1.MCPTaskStatus) { s.State = v1alpha1.StateCancelled })
	for name, c := range map[string]struct {
		method, target string
		params         map[string]any
		want           string // the resultType, and "cacheable" or "empty"
	}{
		"discover":            {"server/discover", "", nil, "complete cacheable"},
		"list":                {"tools/list", "", nil, "complete cacheable"},
		"call that is a task": {"tools/call", "slow", map[string]any{"name": "slow"}, "task"},
		"call that is waited for": {
			"tools/call", "greet", map[string]any{"name": "greet", "arguments": map[string]any{"name": "Ann"}}, "complete",
		},
		"call with bad arguments": {"tools/call", "greet", map[string]any{"name": "greet"}, "complete"},
		"call that asks":          {"tools/call", "inquirer", map[string]any{"name": "inquirer"}, "input_required"},
		"get, working":            {"tasks/get", working, ofWorking, "complete"},
		"get, input_required":     {"tasks/get", asking, ofAsking, "complete"},
		"get, completed":          {"tasks/get", completed, ofCompleted, "complete"},
		"get, failed":             {"tasks/get", broken, ofBroken, "complete"},
		"get, cancelled":          {"tasks/get", stopped, ofStopped, "complete"},
		"update":                  {"tasks/update", asking, ofAsking, "complete empty"},
		"update of the finished":  {"tasks/update", completed, ofCompleted, "complete empty"},
		"cancel":                  {"tasks/cancel", working, ofWorking, "complete empty"},
		"cancel of the finished":  {"tasks/cancel", completed, ofCompleted, "complete empty"},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := f.client(alice, withForms).Request(t.Context(), c.method, c.target, c.params)
			if err != nil {
				t.Fatal(err)
			}
			var result map[string]json.RawMessage
			if err := json.Unmarshal(raw, &result); err != nil {
				t.Fatal(err)
			}
			kind, more, _ := strings.Cut(c.want, " ")
			if string(result["resultType"]) != `"`+kind+`"` {
				t.Errorf("resultType %s, want %s", result["resultType"], kind)
			}
			if meta := `"_meta":` + string(result["_meta"]); meta != serverInfo {
				t.Errorf("%s, want %s", meta, serverInfo)
			}
			_, scope := result["cacheScope"]
			_, ttl := result["ttlMs"]
			_, isTask := result["taskId"]
			if cacheable := more == "cacheable"; scope != cacheable || ttl != (cacheable || isTask) {
				t.Errorf("caching fields: %s", raw)
			}
			if more == "empty" && len(result) != 2 {
				t.Errorf("an acknowledgement carries more: %s", raw)
			}
		})
	}
}

// What an earlier request has declared, on the same connection or not, is not known to a later one.
func TestRequestsStandForThemselves_S43_T3(t *testing.T) {
	f := newFixture(t)
	with, without := f.client(alice), f.client(alice, withoutTasks)
	for _, step := range []struct {
		client *mcpclient.Client
		want   string
	}{{with, "task"}, {without, "-32021"}, {with, "task"}, {without, "-32021"}} {
		if got := outcome(step.client.CallTool(t.Context(), "must", nil)); !strings.HasPrefix(got, step.want) {
			t.Errorf("got %s, want %s", got, step.want)
		}
	}
	id := f.call(t).TaskID
	if _, err := without.Get(t.Context(), id); err == nil || !strings.Contains(err.Error(), "-32021") {
		t.Errorf("tasks/get without the extension: %v", err)
	}
	if call, err := without.CallTool(t.Context(), "short", nil); err != nil || call.Task != nil {
		t.Errorf("got %+v, %v", call, err)
	}
}

// Session and event ids of older revisions change nothing, and none is given out.
func TestSessionsMeanNothing_S6_A06(t *testing.T) {
	f := newFixture(t)
	id := f.call(t).TaskID
	for method, params := range map[string]map[string]any{
		"server/discover": nil, "tools/list": nil, "tasks/get": {"taskId": id}, "tasks/cancel": {"taskId": id},
	} {
		target := ""
		if params != nil {
			target = id
		}
		body, header := f.encode(t, method, target, params)
		plain := f.do(t, http.MethodPost, f.url, body, header)
		header.Set("Mcp-Session-Id", "stale")
		header.Set("Last-Event-ID", "7")
		got := f.do(t, http.MethodPost, f.url, body, header)
		if got.status != http.StatusOK || got.body != plain.body {
			t.Errorf("%s: HTTP %d, %s\nwithout a session: %s", method, got.status, got.body, plain.body)
		}
		if session := got.header.Get("Mcp-Session-Id"); session != "" {
			t.Errorf("%s: session %q is given out", method, session)
		}
	}
}

// streamed is what a stream carries.
type streamed struct {
	ID, Result json.RawMessage
	Method     string
	Params     struct {
		ProgressToken json.RawMessage
	}
}

// A call's stream has progress of this call and then its response, which is the last that is sent; whatever the client asks
// for, it has no log messages and no requests.
func TestStreamOfACall_S11_S12_S120_S121(t *testing.T) {
	f := newFixture(t)
	f.play(t, func(id string) {
		for _, text := range []string{"one", "two", "three"} {
			f.cluster.SetStatus(t, "team-a", id, says(text))
		}
		f.cluster.SetStatus(t, "team-a", id, storetest.Completed(textResult("done")))
	})
	c := f.client(alice, withoutTasks, withForms, func(c *mcpclient.Client) {
		c.Meta = map[string]any{"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"}
	})
	body, header, err := c.Encode("tools/call", "slow", map[string]any{"name": "slow"})
	if err != nil {
		t.Fatal(err)
	}
	got := f.do(t, http.MethodPost, f.url, string(body), header)
	var all []streamed
	for line := range strings.SplitSeq(got.body, "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var m streamed
			if err := json.Unmarshal([]byte(data), &m); err != nil {
				t.Fatal(err)
			}
			all = append(all, m)
		}
	}
	if len(all) < 2 {
		t.Fatalf("got %q, want progress and a response", got.body)
	}
	last := all[len(all)-1]
	if string(last.ID) != "1" || last.Result == nil || last.Method != "" {
		t.Errorf("the stream ends with %+v", last)
	}
	for _, m := range all[:len(all)-1] {
		if m.Method != "notifications/progress" || m.ID != nil || string(m.Params.ProgressToken) != `"p"` {
			t.Errorf("the stream has %+v", m)
		}
	}
}

// A listener hears of tasks and of nothing else, whatever it declares that it would like to hear.
func TestListenersHearNoProgressAndNoLog_S114_S121_T53(t *testing.T) {
	f := newFixture(t)
	id := f.call(t).TaskID
	c := f.client(alice, func(c *mcpclient.Client) {
		c.Meta = map[string]any{"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"}
	})
	listener, err := c.Listen(t.Context(), mcpclient.Filter{TaskIDs: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	f.hear(t, listener, "working", "Accepted")
	f.cluster.SetStatus(t, "team-a", id, says("Half of it."))
	f.hear(t, listener, "working", "Half of it.")
	f.cluster.SetStatus(t, "team-a", id, storetest.Completed(textResult("done")))
	f.hear(t, listener, "completed", "")
	f.drain()
	if event, err := listener.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %+v, %v; want the end", event, err)
	}
}

// notifications/cancelled is for requests, not for tasks, whatever it names.
func TestNotificationsCancelNoTask_T42(t *testing.T) {
	f := newFixture(t)
	id := f.call(t).TaskID
	_, header := f.encode(t, "notifications/cancelled", "", nil)
	for _, params := range []string{`{"requestId":1}`, `{"requestId":"` + id + `"}`, `{"taskId":"` + id + `"}`} {
		body := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + params + `}`
		if got := f.do(t, http.MethodPost, f.url, body, header); got.status != http.StatusAccepted {
			t.Errorf("%s: HTTP %d", params, got.status)
		}
	}
	if cancel := f.cluster.Task(t, "team-a", id).Spec.Cancel; cancel != nil {
		t.Errorf("the task was cancelled: %+v", cancel)
	}
}

// What is advertised works; of what is not, no method is known.
func TestCapabilitiesAreTrue_S62_S89(t *testing.T) {
	for name, f := range map[string]*fixture{"least": newFixture(t), "with logs": newFixture(t, servingLogs)} {
		var discovered struct {
			Capabilities map[string]json.RawMessage `json:"capabilities"`
		}
		if err := json.Unmarshal([]byte(f.result(t, "server/discover", "", nil)), &discovered); err != nil {
			t.Fatal(err)
		}
		for capability, methods := range map[string][]string{
			"tools":       {"tools/list"},
			"resources":   {"resources/list", "resources/templates/list"},
			"prompts":     {"prompts/list"},
			"completions": {"completion/complete"},
			"logging":     {"logging/setLevel"},
			"tasks":       {"tasks/list"}, // of 2025-11-25
		} {
			_, advertised := discovered.Capabilities[capability]
			for _, method := range methods {
				_, err := f.client(alice).Request(t.Context(), method, "", nil)
				e := (*mcpclient.Error)(nil)
				unknown := errors.As(err, &e) && e.Code == -32601 && e.HTTPStatus == http.StatusNotFound
				if unknown == advertised || (advertised && err != nil) {
					t.Errorf("%s: capability %s is advertised: %t, and %s gives %v", name, capability, advertised, method, err)
				}
			}
		}
	}
}

// A tool on the list is what clients of this revision expect, and nothing of an older one.
func TestListedTools_S82(t *testing.T) {
	var listed struct {
		Tools []map[string]json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal([]byte(newFixture(t).result(t, "tools/list", "", nil)), &listed); err != nil {
		t.Fatal(err)
	}
	for _, tool := range listed.Tools {
		var schema struct{ Type string }
		if err := json.Unmarshal(tool["inputSchema"], &schema); err != nil || schema.Type != "object" {
			t.Errorf("%s has the input schema %s", tool["name"], tool["inputSchema"])
		}
		if tool["description"] == nil || tool["execution"] != nil {
			t.Errorf("got %s with the description %s and execution %s", tool["name"], tool["description"], tool["execution"])
		}
	}
}

// All pages of a list may be kept by the same clients.
func TestPagesHaveOneScope_S72(t *testing.T) {
	objects := tools()
	for i := range 250 {
		objects = append(objects, storetest.Tool("team-a", "tool-"+string(rune('a'+i/26))+string(rune('a'+i%26))))
	}
	f := newReplica(t, storetest.New(t, objects...))
	pages, cursor := 0, ""
	for {
		var page struct {
			CacheScope, NextCursor string
			TTLMs                  *int64 `json:"ttlMs"`
		}
		if err := json.Unmarshal([]byte(f.result(t, "tools/list", "", map[string]any{"cursor": cursor})), &page); err != nil {
			t.Fatal(err)
		}
		if page.CacheScope != "private" || page.TTLMs == nil || *page.TTLMs < 0 {
			t.Errorf("page %d: %+v", pages, page)
		}
		pages++
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if pages != 3 {
		t.Errorf("%d pages", pages)
	}
}
