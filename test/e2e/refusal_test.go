package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// TestMainJobRefusals_A03 makes every kind of call that must not lead to anything.
func TestMainJobRefusals_A03(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("greet", "greet").properties("name! string", "times integer"))
	x.offer(tool("required", "greet").mode(v1alpha1.ModeRequired))
	c := x.replicas(1)[0]
	const nobody = "t-aaaaaaaaaaaaaaaaaaaaaaaaaa"

	t.Run("wrong arguments", func(t *testing.T) {
		for arguments, property := range map[string]string{
			`{}`:                           "name",
			`{"name":7}`:                   "name",
			`{"name":"Ada","times":"two"}`: "times",
			`{"name":"Ada","shout":true}`:  "shout",
			`{"name":"Ada","times":1.5}`:   "times",
		} {
			call, err := c.CallTool(x.ctx, "greet", json.RawMessage(arguments))
			if err != nil {
				t.Errorf("%s: %v", arguments, err)
				continue
			}
			if call.Result == nil || !call.Result.IsError || !strings.Contains(call.Result.Text(), property) {
				t.Errorf("%s: the answer is %+v, want a tool error that names %s", arguments, call, property)
			}
		}
	})

	t.Run("JSON-RPC errors", func(t *testing.T) {
		without := *clientOf(c)
		without.WithoutTasks = true
		tests := []struct {
			name         string
			do           func() error
			code, status int
		}{
			{"unknown tool", func() error { _, err := c.CallTool(x.ctx, "nothing", nil); return err }, -32602, 400},
			{"unknown task, get", func() error { _, err := c.Get(x.ctx, nobody); return err }, -32602, 400},
			{"unknown task, update", func() error { return c.Update(x.ctx, nobody, map[string]any{}) }, -32602, 400},
			{"unknown task, cancel", func() error { return c.Cancel(x.ctx, nobody) }, -32602, 400},
			{"unknown method", func() error { _, err := c.Request(x.ctx, "tasks/list", "", nil); return err }, -32601, 404},
			{"Tasks are required", func() error { _, err := without.CallTool(x.ctx, "required", nil); return err }, -32021, 400},
			{"Tasks are not declared", func() error { _, err := without.Get(x.ctx, nobody); return err }, -32021, 400},
		}
		for _, test := range tests {
			var e *mcpclient.Error
			if err := test.do(); !errors.As(err, &e) || e.Code != test.code || e.HTTPStatus != test.status {
				t.Errorf("%s: %v, want JSON-RPC %d with HTTP %d", test.name, err, test.code, test.status)
			}
		}
	})

	t.Run("not JSON", func(t *testing.T) {
		_, header, err := c.Encode("tools/call", "greet", nil)
		x.must(err)
		status, body := send(t, c, []byte("{greet"), header)
		var reply map[string]json.RawMessage
		if err := json.Unmarshal([]byte(body), &reply); err != nil || status != http.StatusBadRequest {
			t.Fatalf("HTTP %d with %q, want 400 with a JSON-RPC error", status, body)
		}
		if _, hasID := reply["id"]; hasID || !strings.Contains(string(reply["error"]), "-32700") {
			t.Errorf("the answer is %s, want error -32700 without an id", body)
		}
	})

	t.Run("no token", func(t *testing.T) {
		body, header, err := c.Encode("tools/call", "greet", map[string]any{"name": "greet", "arguments": map[string]any{"name": "x"}})
		x.must(err)
		for _, authorization := range []string{"", "Bearer nonsense"} {
			header.Set("Authorization", authorization)
			response, err := c.Send(x.ctx, body, header)
			x.must(err)
			x.must(response.Body.Close())
			if response.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(response.Header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("with %q: HTTP %d, WWW-Authenticate %q", authorization, response.StatusCode, response.Header.Get("WWW-Authenticate"))
			}
		}
	})
	x.wantNothing()
}

// TestMainJobForeignTask_A08 asks for another tenant's task: the answer is that of a task that does not exist, byte for byte.
func TestMainJobForeignTask_A08(t *testing.T) {
	t.Parallel()
	owner, other := newTenant(t), newTenant(t)
	owner.offer(tool("slow", "sleep", "--seconds=300"))
	mine, theirs := owner.replicas(1)[0], other.replicas(1)[0]
	id := owner.call(mine, "slow", nil)
	unknown := "t-" + strings.Repeat("a", len(id)-len("t-"))

	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		var answers []string
		for _, task := range []string{id, unknown} {
			params := map[string]any{"taskId": task}
			if method == "tasks/update" {
				params["inputResponses"] = map[string]any{}
			}
			asker := *clientOf(theirs) // numbers its requests afresh
			body, header, err := asker.Encode(method, task, params)
			other.must(err)
			status, answer := send(t, &asker, body, header)
			answers = append(answers, http.StatusText(status)+" "+strings.ReplaceAll(answer, task, "TASK"))
		}
		if answers[0] != answers[1] || !strings.Contains(answers[0], "-32602") {
			t.Errorf("%s: a foreign task gets %s, an unknown one %s", method, answers[0], answers[1])
		}
	}
	if task, err := mine.Get(owner.ctx, id); err != nil || task.Terminal() {
		t.Errorf("after that the task is %+v (%v)", task, err)
	}
	owner.must(mine.Cancel(owner.ctx, id))
	owner.wait(mine, id)
	other.wantNothing()
}

// clientOf is a new client of the same endpoint and caller.
func clientOf(c *mcpclient.Client) *mcpclient.Client {
	return &mcpclient.Client{URL: c.URL, Token: c.Token}
}

// send posts a body as it is and returns the status and the answer's body.
func send(t *testing.T, c *mcpclient.Client, body []byte, header http.Header) (int, string) {
	t.Helper()
	response, err := c.Send(t.Context(), body, header)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}
