package endpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcptasks/mcptasks/internal/mcp/endpoint"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
)

// logged waits for the access log's line about a request, and returns the task that it names.
func (f *fixture) logged(t *testing.T, method, target string) (task string) {
	t.Helper()
	eventually(t, "the request is logged", func() bool {
		_, after, found := strings.Cut(f.log.String(), fmt.Sprintf("%q=%q %q=%q %q=", "rpc", method, "target", target, "task"))
		task, _, _ = strings.Cut(strings.TrimPrefix(after, `"`), `"`)
		return found
	})
	return task
}

// A33: the access log says which task a request was about, however the call was answered, and neither arguments nor tokens.
func TestAccessLogNamesTheTask_A33(t *testing.T) {
	const secret = "hush"
	arguments := json.RawMessage(`{"name":"` + secret + `"}`)
	newest := func(t *testing.T, f *fixture) string {
		t.Helper()
		tasks := f.cluster.Tasks(t, "team-a")
		if len(tasks) != 1 {
			t.Fatalf("%d tasks", len(tasks))
		}
		return tasks[0].Name
	}
	end := func(t *testing.T, f *fixture) {
		f.play(t, func(id string) { f.cluster.SetStatus(t, "team-a", id, storetest.Completed(textResult(secret))) })
	}
	for name, test := range map[string]struct {
		method, target string
		act            func(t *testing.T, f *fixture) error
	}{
		"a task": {"tools/call", "slow", func(t *testing.T, f *fixture) error {
			_, err := f.client(alice).CallTool(t.Context(), "slow", arguments)
			return err
		}},
		"waited for": {"tools/call", "greet", func(t *testing.T, f *fixture) error {
			end(t, f)
			_, err := f.client(alice).CallTool(t.Context(), "greet", arguments)
			return err
		}},
		"waited for in vain": {"tools/call", "short", func(t *testing.T, f *fixture) error {
			_, err := f.client(alice, withoutTasks).CallTool(t.Context(), "short", arguments)
			return err
		}},
		"the caller hung up": {"tools/call", "slow", func(t *testing.T, f *fixture) error {
			ctx, hangUp := context.WithCancel(t.Context())
			f.play(t, func(string) { hangUp() })
			if _, err := f.client(alice, withoutTasks).CallTool(ctx, "slow", arguments); err == nil {
				t.Error("there was an answer")
			}
			return nil
		}},
		"legacy": {"tools/call", "greet", func(t *testing.T, f *fixture) error {
			end(t, f)
			f.legacy(t, "2025-11-25",
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":`+string(arguments)+`}}`)
			return nil
		}},
		"a repeated call": {"tools/call", "slow", func(t *testing.T, f *fixture) error {
			other := newReplica(t, f.cluster, withKeys) // with a log of its own
			if _, err := other.client(alice, withKey("k")).CallTool(t.Context(), "slow", arguments); err != nil {
				return err
			}
			_, err := f.client(alice, withKey("k")).CallTool(t.Context(), "slow", arguments)
			return err
		}},
		"a companion": {"tools/call", "task_cancel", func(t *testing.T, f *fixture) error {
			_, err := f.client(alice).CallTool(t.Context(), "task_cancel", map[string]any{"taskId": f.call(t).TaskID})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, withKeys, func(o *endpoint.Options) { o.CompanionTools = true })
			if err := test.act(t, f); err != nil {
				t.Fatal(err)
			}
			if got, want := f.logged(t, test.method, test.target), newest(t, f); got != want {
				t.Errorf("the log names task %q, want %q:\n%s", got, want, f.log)
			}
			if log := f.log.String(); strings.Contains(log, secret) || strings.Contains(log, "Bearer") {
				t.Errorf("something secret is in the log:\n%s", log)
			}
		})
	}
}

func TestAccessLogNamesTheTaskOfTaskMethods(t *testing.T) {
	f := newFixture(t)
	id := f.call(t).TaskID
	c := f.client(alice)
	if _, err := c.Get(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := c.Update(t.Context(), id, map[string]any{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		if got := f.logged(t, method, id); got != id {
			t.Errorf("%s: the log names task %q, want %q", method, got, id)
		}
	}
}

// What made no task names none.
func TestAccessLogWithoutATask(t *testing.T) {
	f := newFixture(t)
	if _, err := f.client(alice).CallTool(t.Context(), "greet", json.RawMessage(`{}`)); err != nil { // the name is missing
		t.Fatal(err)
	}
	if got := f.logged(t, "tools/call", "greet"); got != "" {
		t.Errorf("the log names task %q", got)
	}
}
