package listen_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
	tasks "github.com/mcptasks/mcptasks/internal/task"
)

const (
	// keepAlive and settle are the package's.
	keepAlive = 15 * time.Second
	settle    = 500 * time.Millisecond
)

var errTrouble = errors.New("the API server is away")

// T-50, A23, Q-6: after the acknowledgement comes every task as it is, ended or not, and each notification says what
// tasks/get says, but for the resultType.
func TestSnapshotsEqualTasksGet_A23_T50(t *testing.T) {
	for name, edit := range map[string]func(*v1alpha1.MCPTask){
		"new": func(*v1alpha1.MCPTask) {},
		"working": func(t *v1alpha1.MCPTask) {
			t.Status.State, t.Status.Message = v1alpha1.StateWorking, "128 < 342 & going"
		},
		"input_required": func(t *v1alpha1.MCPTask) {
			t.Status.State = v1alpha1.StateInputRequired
			t.Status.Questions = map[string]v1alpha1.Question{
				"confirm": {Message: "Sure?", RequestedSchema: `{"type":"object", "properties":{}}`},
				"name":    {Message: "Who?", RequestedSchema: `{"type":"object"}`},
			}
		},
		"completed": func(t *v1alpha1.MCPTask) {
			t.Status.State = v1alpha1.StateCompleted
			t.Status.Result = `{"resultType":"complete","content":[{"type":"text","text":"a\nb <c>"}],"structuredContent":1.50}`
		},
		"failed": func(t *v1alpha1.MCPTask) {
			t.Status.State = v1alpha1.StateFailed
			t.Status.Error = &v1alpha1.TaskError{Code: -32603, Message: "No.", Data: `{"reason":"Rejected"}`}
		},
		"cancelled": func(t *v1alpha1.MCPTask) {
			t.Status.State, t.Status.Message = v1alpha1.StateCancelled, "Cancelled."
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, endpointOptions{})
			e.records.create("t-1", alice)
			e.records.change("t-1", edit)
			e.clock.Step(10 * time.Minute) // long enough for clients to be told to poll less often
			snapshot := e.open(t, filterOf("t-1")).next(t)

			get, err := wire.EncodeResult(json.RawMessage("7"), struct {
				wire.ResultHeader
				tasks.Detailed
			}{wire.Server{}.Complete(), tasks.Wire(e.records.get("t-1"), e.clock.Now())})
			if err != nil {
				t.Fatal(err)
			}
			_, want, _ := strings.Cut(string(get), `"taskId"`)
			_, got, _ := strings.Cut(strings.TrimSuffix(string(snapshot.raw), "\n"), `"taskId"`)
			if got != want || (name == "working" && !strings.Contains(got, `"pollIntervalMs":30000`)) {
				t.Errorf("notification %s\ntasks/get    %s", got, want)
			}
			if strings.Contains(string(snapshot.raw[:strings.Index(string(snapshot.raw), `"taskId"`)]), "resultType") {
				t.Errorf("a notification is no result: %s", snapshot.raw)
			}
		})
	}
}

func TestEachChangeIsTold(t *testing.T) {
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, endpointOptions{protocol: protocol})
			e.records.create("t-1", alice)
			e.records.create("t-2", alice)
			stream := e.open(t, filterOf("t-2", "t-1"))
			stream.expect(t, "t-2", accepted)
			stream.expect(t, "t-1", accepted)
			e.records.say("t-1", "half")
			stream.expect(t, "t-1", "half")
			e.records.finish("t-1", `{"content":[]}`)
			if got := stream.expect(t, "t-1", "Done.").task(t); got.Status != "completed" {
				t.Errorf("status %q", got.Status)
			}
			// the end of a task, or of all tasks, is not the end of the stream.
			e.records.finish("t-2", `{"content":[]}`)
			stream.expect(t, "t-2", "Done.")
			waitFor(t, "the wake-ups of what has ended to end", func() bool { return e.records.watched() == 0 })
			e.clock.Step(keepAlive)
			stream.comment(t)
		})
	}
}

// Nothing is told twice, and nothing that clients do not see is told at all.
func TestInvisibleChangesAreNotTold(t *testing.T) {
	e := newEndpoint(t, endpointOptions{})
	e.records.create("t-1", alice)
	e.records.create("t-fence", alice)
	stream := e.open(t, filterOf("t-1", "t-fence"))
	stream.next(t)
	stream.next(t)
	for _, same := range []func(*v1alpha1.MCPTask){
		func(t *v1alpha1.MCPTask) { t.Labels = map[string]string{"by": "somebody"} },
		func(t *v1alpha1.MCPTask) { t.Status.Job = &v1alpha1.JobReference{Name: "t-1", UID: "job"} },
		func(t *v1alpha1.MCPTask) {
			t.Status.State = v1alpha1.StateWorking
			t.Status.Message = "Accepted; waiting to be started."
		},
	} {
		e.clock.Step(time.Hour) // in which the poll interval grows
		e.records.change("t-1", same)
		e.records.say("t-fence", e.records.get("t-1").ResourceVersion)
		stream.expect(t, "t-fence", e.records.get("t-1").ResourceVersion)
	}
}

// An older state than the one that was told is not told any more, wherever it comes from.
func TestOlderStatesAreNotTold(t *testing.T) {
	e := newEndpoint(t, endpointOptions{})
	e.records.create("t-1", alice)
	e.records.create("t-fence", alice)
	before := e.records.get("t-1") // version 999; what follows has one digit more
	stream := e.open(t, filterOf("t-1", "t-fence"))
	stream.next(t)
	stream.next(t)
	e.records.say("t-1", "new")
	stream.expect(t, "t-1", "new")
	e.records.set(func(r *records) { r.stale = before; r.tell("t-1") })
	e.records.say("t-fence", "1")
	stream.expect(t, "t-fence", "1")
	e.records.say("t-1", "newer")
	stream.expect(t, "t-1", "newer")
}

// A24: a change that nobody tells of (a watch that is silent, or broke and began anew) is found by looking again.
func TestMissedChangesAreFound_A24(t *testing.T) {
	e := newEndpoint(t, endpointOptions{})
	e.records.create("t-1", alice)
	stream := e.open(t, filterOf("t-1"))
	stream.next(t)
	e.records.set(func(r *records) { r.deaf = true })
	e.records.finish("t-1", `{"content":[]}`)
	e.clock.Step(keepAlive)
	stream.expect(t, "t-1", "Done.")
}

// Trouble with the API server delays news. It loses none, and does not end the stream.
func TestTroubleDelaysNews(t *testing.T) {
	e := newEndpoint(t, endpointOptions{})
	e.records.create("t-1", alice)
	e.records.create("t-fence", alice)
	stream := e.open(t, filterOf("t-1", "t-fence"))
	stream.next(t)
	stream.next(t)
	idle := e.clock.Waiters()
	e.records.set(func(r *records) { r.broken = errTrouble })
	e.records.say("t-1", "at last")
	waitFor(t, "the stream to have looked in vain", func() bool { return e.clock.Waiters() > idle })
	e.records.set(func(r *records) { r.broken = nil })
	e.clock.Step(time.Second)
	stream.expect(t, "t-1", "at last")
}

// A task that is deleted has no more news; one that gets its name later is another one.
func TestDeletedTask(t *testing.T) {
	e := newEndpoint(t, endpointOptions{})
	e.records.create("t-1", alice)
	e.records.create("t-fence", alice)
	stream := e.open(t, filterOf("t-1", "t-fence"))
	stream.next(t)
	stream.next(t)
	e.records.delete("t-1")
	waitFor(t, "the wake-ups of the deleted task to end", func() bool { return e.records.watched() == 1 })
	e.records.create("t-1", alice)
	e.records.say("t-1", "somebody else")
	e.clock.Step(keepAlive) // looks at everything again
	stream.comment(t)
	e.records.say("t-fence", "1")
	stream.expect(t, "t-fence", "1")
}

func TestTaskWithTheNameOfADeletedOne(t *testing.T) {
	e := newEndpoint(t, endpointOptions{})
	e.records.create("t-1", alice)
	stream := e.open(t, filterOf("t-1"))
	stream.next(t)
	e.records.set(func(r *records) { r.deaf = true })
	e.records.delete("t-1")
	e.records.create("t-1", alice)
	e.records.set(func(r *records) { r.deaf = false })
	e.records.say("t-1", "somebody else")
	waitFor(t, "the wake-ups of the deleted task to end", func() bool { return e.records.watched() == 0 })
	e.clock.Step(keepAlive)
	stream.comment(t)
}

// a task that becomes somebody else's, or a client that may no longer be told anything, gets no more news.
func TestAccessIsCheckedAtEachDelivery(t *testing.T) {
	other := func(edit func(*auth.Caller)) auth.Caller {
		caller := alice
		edit(&caller)
		return caller
	}
	for name, tc := range map[string]struct {
		caller auth.Caller
		err    error
	}{
		"the token has expired": {err: &auth.Error{Status: http.StatusUnauthorized, Message: "expired"}},
		"the tenant is gone":    {err: &auth.Error{Status: http.StatusForbidden, Message: "no tenant"}},
		"another subject":       {caller: mallory},
		"another issuer":        {caller: other(func(c *auth.Caller) { c.Issuer = "other" })},
		"another tenant":        {caller: other(func(c *auth.Caller) { c.Tenant = "z" })},
		"another namespace":     {caller: other(func(c *auth.Caller) { c.Namespace = "z" })},
		"nobody":                {},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, endpointOptions{})
			e.records.create("t-1", alice)
			stream := e.open(t, filterOf("t-1"))
			stream.next(t)
			e.door.set(tc.caller, tc.err)
			e.records.say("t-1", "secret")
			stream.end(t) // no news before it
			e.waitEnded(t)
			if n := e.endings(t, "refused"); n != 1 {
				t.Errorf("%v streams ended by refusal, want 1", n)
			}
		})
	}
	for name, err := range map[string]error{
		"it cannot be said who the client is":                      errTrouble,
		"nobody looks at tokens from there, due to a flood of bad": &auth.LimitedError{RetryAfter: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, endpointOptions{})
			e.records.create("t-1", alice)
			stream := e.open(t, filterOf("t-1"))
			stream.next(t)
			idle := e.clock.Waiters()
			e.door.set(alice, err)
			e.records.say("t-1", "later")
			waitFor(t, "the stream to have asked in vain", func() bool { return e.clock.Waiters() > idle })
			e.door.set(alice, nil)
			e.clock.Step(time.Second)
			stream.expect(t, "t-1", "later")
		})
	}
	t.Run("the task is given to another owner", func(t *testing.T) {
		e := newEndpoint(t, endpointOptions{})
		e.records.create("t-1", alice)
		stream := e.open(t, filterOf("t-1"))
		stream.next(t)
		e.records.change("t-1", func(t *v1alpha1.MCPTask) { t.Spec.Owner = mallory.Owner() })
		waitFor(t, "the wake-ups to end", func() bool { return e.records.watched() == 0 })
		e.clock.Step(keepAlive)
		stream.comment(t)
	})
}

// S-113: the list of tools is told of to those who asked, when it is another one than before, and once for a burst of
// changes.
func TestToolsChanged_S113(t *testing.T) {
	e := newEndpoint(t, endpointOptions{})
	e.records.create("t-fence", alice)
	e.toolbox.change(alice.Namespace, "1")
	both := e.open(t, `{"toolsListChanged":true,"taskIds":["t-fence"]}`)
	both.expect(t, "t-fence", accepted)
	tasksOnly := e.open(t, filterOf("t-fence"))
	tasksOnly.expect(t, "t-fence", accepted)
	steps := 0
	fence := func() {
		steps++
		message := strings.Repeat("x", steps)
		e.records.say("t-fence", message)
		both.expect(t, "t-fence", message)
		tasksOnly.expect(t, "t-fence", message)
	}

	e.toolbox.change(alice.Namespace, "gone for a moment")
	fence() // not at once
	e.toolbox.change(alice.Namespace, "2")
	e.clock.Step(settle)
	if got := both.next(t); got.Method != "notifications/tools/list_changed" {
		t.Fatalf("got %s", got.raw)
	}
	fence() // once

	e.toolbox.change(stranger.Namespace, "3")
	e.clock.Step(settle)
	e.toolbox.change(alice.Namespace, "4")
	e.toolbox.change(alice.Namespace, "2")
	e.clock.Step(settle)
	fence() // another tenant's list, and one that is what it was
}

// A22: comments keep a stream alive that a proxy would cut.
func TestKeepAlive_A22_S14(t *testing.T) {
	e := newEndpoint(t, endpointOptions{})
	e.records.create("t-1", alice)
	relay := newRelay(t, e)
	stream := e.open(t, filterOf("t-1"))
	stream.expect(t, "t-1", accepted)
	for elapsed := time.Duration(0); elapsed < 5*time.Minute; elapsed += keepAlive {
		e.clock.Step(keepAlive)
		stream.comment(t)
		relay.cutWhereSilentFor(30 * time.Second)
	}
	e.records.finish("t-1", `{"content":[]}`)
	stream.expect(t, "t-1", "Done.")

	// The proof that the relay does cut streams.
	e.clock.Step(keepAlive - time.Second)
	relay.cutWhereSilentFor(keepAlive - time.Second)
	if _, err := stream.read(); err == nil {
		t.Error("the relay does not cut anything")
	}
	e.waitEnded(t)
}

// A22: the time limits of net/http are for ordinary answers.
func TestServerWriteTimeoutDoesNotEndStreams_A22(t *testing.T) {
	const limit = 100 * time.Millisecond
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, endpointOptions{protocol: protocol, configure: func(s *http.Server) { s.WriteTimeout = limit }})
			e.records.create("t-1", alice)
			stream := e.open(t, filterOf("t-1"))
			stream.next(t)
			<-time.After(3 * limit) // the time that passes is what this is about
			e.records.say("t-1", "still there")
			stream.expect(t, "t-1", "still there")
		})
	}
}

// S-115, Q-18, A22: when the endpoint shuts down, every stream ends with the result of its request, and so the server can
// end.
func TestShutdown_A22_S115(t *testing.T) {
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, endpointOptions{protocol: protocol})
			e.records.create("t-1", alice)
			streams := []*reader{e.open(t, filterOf("t-1")), e.open(t, `{"toolsListChanged":true}`), e.open(t, `{}`)}
			streams[0].next(t)
			e.drain()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := e.Config.Shutdown(ctx); err != nil {
				t.Fatalf("the server could not end: %v", err)
			}
			for _, stream := range streams {
				got := strings.TrimSuffix(string(stream.end(t).raw), "\n")
				want := `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","_meta":{` +
					`"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/subscriptionId":7}}}`
				if got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
			if n := e.endings(t, "shutdown"); n != 3 {
				t.Errorf("%v streams ended by the shutdown, want 3", n)
			}
		})
	}
}

// A21 (3), S-15: a client that hangs up frees everything, and its tasks go on.
func TestClientHangsUp_A21_S15_S117(t *testing.T) {
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, endpointOptions{protocol: protocol})
			e.records.create("t-1", alice)
			stream := e.open(t, `{"toolsListChanged":true,"taskIds":["t-1"]}`)
			stream.next(t)
			before := e.records.get("t-1")
			if err := stream.response.Body.Close(); err != nil {
				t.Fatal(err)
			}
			e.waitEnded(t)
			if e.records.watched() != 0 || e.toolbox.watched() != 0 {
				t.Error("wake-ups are still wanted")
			}
			if e.records.get("t-1") != before {
				t.Error("the task was touched")
			}
			if n := e.endings(t, "client"); n != 1 {
				t.Errorf("%v streams ended by the client, want 1", n)
			}
		})
	}
}
