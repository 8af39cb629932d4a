package endpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

func withoutTasks(c *mcpclient.Client) { c.WithoutTasks = true }

// A01, A37: a caller that did not declare Tasks gets a plain answer, whatever becomes of the task.
func TestCallsThatAreWaitedFor_A01_A37_S55(t *testing.T) {
	for name, test := range map[string]struct {
		tool    string
		act     func(*v1alpha1.MCPTaskStatus)
		isError bool
		words   []string
		code    int // of a JSON-RPC error
	}{
		"completed": {tool: "slow", act: storetest.Completed(textResult("Hello, Ann!")), words: []string{"Hello, Ann!"}},
		"tool error": {
			tool: "slow", act: storetest.Completed(`{"resultType":"complete","content":[{"type":"text","text":"exit 3"}],"isError":true}`),
			isError: true, words: []string{"exit 3"},
		},
		"failed": {tool: "slow", code: -32603, words: []string{"no such image"}, act: func(s *v1alpha1.MCPTaskStatus) {
			s.State, s.Error = v1alpha1.StateFailed, &v1alpha1.TaskError{Code: -32603, Message: "no such image", Data: `{"reason":"x"}`}
		}},
		"cancelled": {tool: "slow", isError: true, words: []string{"was cancelled", "Stopped by an operator."},
			act: func(s *v1alpha1.MCPTaskStatus) {
				s.State, s.Message = v1alpha1.StateCancelled, "Stopped by an operator."
			}},
		"asks something": {tool: "slow", act: storetest.Asks("a"), words: []string{"waits for an answer", "kubectl get mcptask t-"}},
		"takes too long": {
			tool: "short", words: []string{"still at work", "Running.", "tasks/get", "kubectl get mcptask t-", "-n team-a"},
			act: func(s *v1alpha1.MCPTaskStatus) { s.State, s.Message = v1alpha1.StateWorking, "Running." },
		},
		// Clients refuse a success without structured content from a tool that promises some.
		"takes too long, typed": {tool: "typed", isError: true, words: []string{"still at work"},
			act: func(s *v1alpha1.MCPTaskStatus) { s.State = v1alpha1.StateWorking }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.play(t, func(id string) { f.cluster.SetStatus(t, "team-a", id, test.act) })
			call, err := f.client(alice, withoutTasks).CallTool(t.Context(), test.tool, nil)
			var said string
			if e := (*mcpclient.Error)(nil); test.code != 0 {
				if !errors.As(err, &e) || e.Code != test.code || string(e.Data) != `{"reason":"x"}` {
					t.Fatalf("got %+v, %v", call, err)
				}
				said = e.Message
			} else {
				if err != nil || call.Result == nil || call.Result.IsError != test.isError {
					t.Fatalf("got %+v, %v", call, err)
				}
				said = call.Result.Text()
			}
			for _, words := range test.words {
				if !strings.Contains(said, words) {
					t.Errorf("%q is not in %q", words, said)
				}
			}
		})
	}
}

func TestForbiddenToolsAreWaitedForByEverybody_T5_S84(t *testing.T) {
	f := newFixture(t)
	f.play(t, func(id string) {
		f.cluster.SetStatus(t, "team-a", id, storetest.Completed(textResult("Hello")))
	})
	got := f.result(t, "tools/call", "greet", map[string]any{"name": "greet", "arguments": map[string]any{"name": "Ann"}})
	if want := `{` + serverInfo + `,"content":[{"type":"text","text":"Hello"}],"resultType":"complete"}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDeletedWhileWaitedFor(t *testing.T) {
	f := newFixture(t)
	f.play(t, func(id string) {
		if err := f.cluster.Delete(t.Context(), f.cluster.Task(t, "team-a", id)); err != nil {
			t.Error(err)
		}
	})
	_, err := f.client(alice, withoutTasks).CallTool(t.Context(), "slow", nil)
	if e := (*mcpclient.Error)(nil); !errors.As(err, &e) || e.Code != -32603 || !strings.Contains(e.Message, "was deleted") {
		t.Errorf("got %v", err)
	}
}

func TestProgress_S120(t *testing.T) {
	f := newFixture(t)
	f.play(t, func(id string) {
		for _, message := range []string{"one", "two", "two", "three"} {
			f.cluster.SetStatus(t, "team-a", id, func(s *v1alpha1.MCPTaskStatus) { s.State, s.Message = v1alpha1.StateWorking, message })
		}
		f.cluster.SetStatus(t, "team-a", id, storetest.Completed(textResult("done")))
	})
	var seen []string
	var last float64
	c := f.client(alice, withoutTasks, func(c *mcpclient.Client) {
		c.Meta = map[string]any{"progressToken": json.RawMessage("9007199254740993")}
		c.OnProgress = func(p mcpclient.Progress) {
			seen = append(seen, p.Message)
			if string(p.ProgressToken) != "9007199254740993" || p.Progress <= last {
				t.Errorf("got %+v after %v", p, last)
			}
			last = p.Progress
		}
	})
	call, err := c.CallTool(t.Context(), "slow", nil)
	if err != nil || call.Result.Text() != "done" {
		t.Fatalf("got %+v, %v", call, err)
	}
	// States may be skipped, and none is told twice.
	if len(seen) == 0 || len(slices.Compact(slices.Clone(seen))) != len(seen) {
		t.Errorf("got progress %q", seen)
	}
}

func TestStreamHeaders_S13(t *testing.T) {
	f := newFixture(t)
	f.play(t, func(id string) {
		f.cluster.SetStatus(t, "team-a", id, storetest.Completed(`{"resultType":"complete","content":[]}`))
	})
	c := f.client(alice, withoutTasks, func(c *mcpclient.Client) { c.Meta = map[string]any{"progressToken": "p"} })
	body, header, err := c.Encode("tools/call", "slow", map[string]any{"name": "slow"})
	if err != nil {
		t.Fatal(err)
	}
	got := f.do(t, http.MethodPost, f.url, string(body), header)
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no",
	} {
		if got.header.Get(name) != want {
			t.Errorf("%s: %q", name, got.header.Get(name))
		}
	}
	if strings.Contains(got.body, "id:") || !strings.HasSuffix(got.body, "\n\n") {
		t.Errorf("got %q", got.body)
	}
}

// A call that becomes a task has no progress of its own.
func TestNoProgressForTasks_S9_S120(t *testing.T) {
	f := newFixture(t)
	c := f.client(alice, func(c *mcpclient.Client) { c.Meta = map[string]any{"progressToken": "p"} })
	body, header, err := c.Encode("tools/call", "slow", map[string]any{"name": "slow"})
	if err != nil {
		t.Fatal(err)
	}
	if got := f.do(t, http.MethodPost, f.url, string(body), header); got.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %q", got.header.Get("Content-Type"))
	}
}

// A21: a client that hangs up while it is waiting wants nothing more, in any era and over both versions of HTTP.
func TestHangingUpWhileWaiting_A21_S15(t *testing.T) {
	eras := map[string]func(body string, header http.Header) string{
		"modern": func(body string, _ http.Header) string { return body },
		"legacy": func(_ string, header http.Header) string {
			header.Set("MCP-Protocol-Version", "2025-11-25")
			return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`
		},
	}
	protocols := map[string]func(*http.Protocols){
		"HTTP/1.1": func(p *http.Protocols) { p.SetHTTP1(true) },
		"h2c":      func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
	}
	for era, edit := range eras {
		for protocol, speak := range protocols {
			t.Run(era+", "+protocol, func(t *testing.T) {
				f := newFixture(t)
				transport := &http.Transport{Protocols: new(http.Protocols)}
				speak(transport.Protocols)
				t.Cleanup(transport.CloseIdleConnections)
				c := f.client(alice, withoutTasks, func(c *mcpclient.Client) { c.HTTP = &http.Client{Transport: transport} })
				ctx, hangUp := context.WithCancel(t.Context())
				defer hangUp()
				body, header, err := c.Encode("tools/call", "slow", map[string]any{"name": "slow"})
				if err != nil {
					t.Fatal(err)
				}
				request := edit(string(body), header)
				done := make(chan error, 1)
				go func() {
					response, err := c.Send(ctx, []byte(request), header)
					if err == nil {
						_, err = io.ReadAll(response.Body)
						_ = response.Body.Close()
					}
					done <- err
				}()
				eventually(t, "the task is there", func() bool { return len(f.cluster.Tasks(t, "team-a")) == 1 })
				hangUp()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Fatalf("got %v", err)
				}
				eventually(t, "the task is cancelled", func() bool {
					cancel := f.cluster.Tasks(t, "team-a")[0].Spec.Cancel
					return cancel != nil && cancel.By == alice && cancel.Reason == "the caller hung up"
				})
			})
		}
	}
}

// When the process is to end, calls are answered and the work goes on.
func TestDrain(t *testing.T) {
	f := newFixture(t)
	f.play(t, func(string) { f.drain() })
	call, err := f.client(alice, withoutTasks).CallTool(t.Context(), "slow", nil)
	if err != nil || call.Result.IsError || !strings.Contains(call.Result.Text(), "still at work") {
		t.Fatalf("got %+v, %v", call, err)
	}
	if f.cluster.Tasks(t, "team-a")[0].Spec.Cancel != nil {
		t.Error("the task was cancelled")
	}
}

// A quiet call becomes a stream after a while, so that no proxy loses its patience.
func TestSlowCallsStream(t *testing.T) {
	f := newFixture(t)
	body, header, err := f.client(alice, withoutTasks).Encode("tools/call", "slow", map[string]any{"name": "slow"})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	response, err := f.client(alice).Send(t.Context(), body, header)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if took := time.Since(begin); took < 4*time.Second || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("headers after %s, %v", took, response.Header)
	}
	id := f.cluster.Tasks(t, "team-a")[0].Name
	f.cluster.SetStatus(t, "team-a", id, storetest.Completed(textResult("done")))
	read, err := io.ReadAll(response.Body)
	if err != nil || !strings.HasPrefix(string(read), ":\n\n") || strings.Count(string(read), "data: ") != 1 {
		t.Errorf("got %q, %v", read, err)
	}
}
