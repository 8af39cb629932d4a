package endpoint

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcptasks/mcptasks/test/integration/setup"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// poll sends one tasks/get and returns its answer.
func poll(t *testing.T, c *mcpclient.Client, id string) (status int, header http.Header, body string) {
	t.Helper()
	request, headers, err := c.Encode("tasks/get", id, map[string]any{"taskId": id})
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.Send(t.Context(), request, headers)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(read)
}

// A11, T-27: whoever polls without a pause is answered from memory, and, beyond a bound, told to wait; that says nothing about
// the task, and nobody else is concerned.
func TestPollingWithoutAPause_A11_A32_T27(t *testing.T) {
	const burst = 300
	p := newProxy(t)
	r := startReplicaWith(t, p.Kubeconfig, "--caller-rate=1", "--caller-burst=300")
	tool(t, "polled")
	eager, calm := r.client(t, tenant, agent), r.client(t, tenant, other)
	awaitTool(t, calm, "polled")
	id, others := call(t, eager, "polled", nil), call(t, calm, "polled", nil)
	reads := func() int {
		return len(p.Requests(func(r setup.Request) bool {
			return r.Method == http.MethodGet && strings.Contains(r.Path, "/mcptasks/") && !r.Watches()
		}))
	}

	before := reads()
	for i := range burst - 1 { // the call was one
		if status, _, body := poll(t, eager, id); status != http.StatusOK || !strings.Contains(body, id) {
			t.Fatalf("poll %d: HTTP %d, %s", i, status, body)
		}
	}
	if n := reads() - before; n > 2 {
		t.Errorf("%d polls made %d requests of the API server", burst-1, n)
	}
	var header http.Header
	var body string
	for status := 0; status != http.StatusTooManyRequests; { // the budget grows a little meanwhile
		if status, header, body = poll(t, eager, id); status != http.StatusOK && status != http.StatusTooManyRequests {
			t.Fatalf("HTTP %d, %s", status, body)
		}
	}
	var answer struct {
		Error struct {
			Code int
			Data struct{ Reason string }
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Error.Code != -32603 ||
		answer.Error.Data.Reason != "RateLimited" || header.Get("Retry-After") != "1" {
		t.Errorf("%v: %v, %s", err, header, body)
	}
	if status, _, body := poll(t, calm, others); status != http.StatusOK {
		t.Errorf("another caller at the same address: HTTP %d, %s", status, body)
	}
	eventually(t, "the eager one is served again", func() bool {
		status, _, body := poll(t, eager, id)
		return status == http.StatusOK && strings.Contains(body, `"status":"working"`)
	})
}
