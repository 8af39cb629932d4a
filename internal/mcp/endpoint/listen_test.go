package endpoint_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// listen opens a stream and checks what of the filter is honoured.
func (f *fixture) listen(t *testing.T, as string, filter, honoured mcpclient.Filter) *mcpclient.Listener {
	t.Helper()
	listener, err := f.client(as).Listen(t.Context(), filter)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	got, want := asJSON(t, listener.Honoured), asJSON(t, honoured)
	if got != want {
		t.Fatalf("honoured %s, want %s", got, want)
	}
	return listener
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// listenTo is a stream about these tasks, all of them the caller's.
func (f *fixture) listenTo(t *testing.T, ids ...string) *mcpclient.Listener {
	t.Helper()
	filter := mcpclient.Filter{TaskIDs: ids}
	return f.listen(t, alice, filter, filter)
}

// hear waits for the next notification, which must be about a task in that state, and say what tasks/get says.
func (f *fixture) hear(t *testing.T, listener *mcpclient.Listener, status, message string) {
	t.Helper()
	event, err := listener.Next()
	if err != nil {
		t.Fatal(err)
	}
	if event.Task == nil || event.Task.Status != status || !strings.Contains(event.Task.StatusMessage, message) {
		t.Fatalf("got %s %s; want %s: %s", event.Method, event.Params, status, message)
	}
	get := f.result(t, "tasks/get", event.Task.TaskID, map[string]any{"taskId": event.Task.TaskID})
	_, want, _ := strings.Cut(get, `"taskId"`)
	if _, got, _ := strings.Cut(string(event.Params), `"taskId"`); got != want {
		t.Errorf("notification %s\ntasks/get    %s", got, want)
	}
}

func says(message string) func(*v1alpha1.MCPTaskStatus) {
	return func(s *v1alpha1.MCPTaskStatus) { s.State, s.Message = v1alpha1.StateWorking, message }
}

// T-50, A23: a stream on one replica hears of what another one, and the controller, does to a task, from its beginning to
// its end.
func TestListenAcrossReplicas_A23_T50(t *testing.T) {
	f := newFixture(t)
	other := newReplica(t, f.cluster)
	id := f.call(t).TaskID
	listener := other.listenTo(t, id)
	other.hear(t, listener, "working", "Accepted")
	f.cluster.SetStatus(t, "team-a", id, says("Half of it."))
	other.hear(t, listener, "working", "Half of it.")
	f.cluster.SetStatus(t, "team-a", id, storetest.Asks("a"))
	other.hear(t, listener, "input_required", "")
	answers := map[string]any{"a": mcpclient.Accept(map[string]any{"confirm": true})}
	if err := f.client(alice).Update(t.Context(), id, answers); err != nil {
		t.Fatal(err)
	}
	other.hear(t, listener, "working", "Answer received")
	f.cluster.SetStatus(t, "team-a", id, storetest.Completed(textResult("all of it")))
	other.hear(t, listener, "completed", "")

	// Whoever comes late hears of the end all the same.
	other.hear(t, f.listenTo(t, id), "completed", "")
}

// What a replica has written itself it tells at once, whatever its informer knows.
func TestListenersHearOfTheirReplicasWrites(t *testing.T) {
	f := newFixture(t)
	id := f.call(t).TaskID
	listener := f.listenTo(t, id)
	f.hear(t, listener, "working", "Accepted")
	f.cluster.Hold()
	defer f.cluster.Release()
	if err := f.client(alice).Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	f.hear(t, listener, "working", "Cancel requested")
}

// T-62, Q-8: a task of somebody else is to listeners what an unknown one is: nothing.
func TestListenersHearOfTheirOwnTasksOnly_A08_T51_T62(t *testing.T) {
	f := newFixture(t)
	id := f.call(t).TaskID
	for _, caller := range []string{bob, mallory} {
		filter := mcpclient.Filter{TaskIDs: []string{id, "t-aaaaaaaaaaaaaaaaaaaaaaaaaa", "nonsense"}}
		f.listen(t, caller, filter, mcpclient.Filter{TaskIDs: []string{}})
	}
}

// A03, T-52: tasks are listened to by those only who declare that they know what a task is.
func TestListenWithoutTheExtension_A03_T52(t *testing.T) {
	f := newFixture(t)
	for _, ids := range [][]string{{"t-aaaaaaaaaaaaaaaaaaaaaaaaaa"}, {}} {
		_, err := f.client(alice, withoutTasks).Listen(t.Context(), mcpclient.Filter{TaskIDs: ids})
		if e := (*mcpclient.Error)(nil); !errors.As(err, &e) || e.Code != -32021 || e.HTTPStatus != 400 {
			t.Errorf("%v: got %v", ids, err)
		}
	}
	if _, err := f.client(alice, withoutTasks).Listen(t.Context(), mcpclient.Filter{ToolsListChanged: true}); err != nil {
		t.Errorf("the list of tools has nothing to do with tasks: %v", err)
	}
}

// A24: a watch that breaks off loses nothing.
func TestListenThroughABrokenWatch_A24(t *testing.T) {
	f := newFixture(t)
	ended, deleted, created := f.call(t).TaskID, f.call(t).TaskID, f.call(t).TaskID
	listener := f.listenTo(t, ended, deleted)
	f.hear(t, listener, "working", "Accepted")
	f.hear(t, listener, "working", "Accepted")
	f.cluster.Cut()
	f.cluster.SetStatus(t, "team-a", ended, storetest.Completed(textResult("done")))
	if err := f.cluster.Delete(t.Context(), f.cluster.Task(t, "team-a", deleted)); err != nil {
		t.Fatal(err)
	}
	late := f.listenTo(t, created) // while it is broken
	f.hear(t, late, "working", "Accepted")
	f.cluster.SetStatus(t, "team-a", created, says("Half of it."))
	f.cluster.Mend()
	f.hear(t, listener, "completed", "")
	f.hear(t, late, "working", "Half of it.")
}

// A24: a watch that says nothing, as if all were well, delays news and loses none.
func TestListenThroughASilentWatch_A24(t *testing.T) {
	now := testingclock.NewFakeClock(time.Now())
	f := newReplicaAt(t, storetest.New(t, tools()...), now)
	id := f.call(t).TaskID
	listener := f.listenTo(t, id)
	f.hear(t, listener, "working", "Accepted")
	f.cluster.Hold()
	defer f.cluster.Release()
	f.cluster.SetStatus(t, "team-a", id, storetest.Completed(textResult("done")))
	now.Step(2 * time.Minute)
	f.hear(t, listener, "completed", "")
}

// a stream does not outlive its token by more than a token's check is remembered.
func TestListenersAreCheckedAgain(t *testing.T) {
	now := testingclock.NewFakeClock(time.Now())
	f := newReplicaAt(t, storetest.New(t, tools()...), now)
	id := f.call(t).TaskID
	listener := f.listenTo(t, id)
	f.hear(t, listener, "working", "Accepted")
	f.cluster.Review = func(review *authenticationv1.TokenReview) error {
		review.Status = authenticationv1.TokenReviewStatus{Error: "expired"}
		return nil
	}
	now.Step(time.Minute)
	f.cluster.SetStatus(t, "team-a", id, storetest.Completed(textResult("secret")))
	if event, err := listener.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %+v, %v; want the end of the stream", event, err)
	}
}

// S-113: a listener hears when its list of tools has changed, and finds the new one.
func TestListenToTools_S113(t *testing.T) {
	f := newFixture(t)
	filter := mcpclient.Filter{ToolsListChanged: true}
	teamA, teamB := f.listen(t, alice, filter, filter), f.listen(t, mallory, filter, filter)
	for _, change := range []client.Object{storetest.Tool("team-b", "theirs"), storetest.Tool("team-a", "ours")} {
		if err := f.cluster.Live.Create(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	for caller, listener := range map[string]*mcpclient.Listener{alice: teamA, mallory: teamB} {
		event, err := listener.Next()
		if err != nil || event.Method != "notifications/tools/list_changed" {
			t.Fatalf("%s: got %+v, %v", caller, event, err)
		}
	}
	tools, err := f.client(alice).ListTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, tool := range tools {
		found = found || tool.Name == "ours"
	}
	if !found {
		t.Error("the list is not what the news was about")
	}
}

// S-115, A22: the end of the endpoint is an orderly end of its streams, and the log has one line about each.
func TestListenersOutliveNoEndpoint_A22_S115(t *testing.T) {
	f := newFixture(t)
	id := f.call(t).TaskID
	listener := f.listenTo(t, id)
	f.hear(t, listener, "working", "Accepted")
	f.drain()
	if event, err := listener.Next(); !errors.Is(err, io.EOF) {
		t.Fatalf("got %+v, %v; want the result and the end", event, err)
	}
	eventually(t, "the log says so", func() bool {
		return strings.Contains(f.log.String(), `"rpc"="subscriptions/listen" "target"="" "task"="" "code"=0`)
	})
}
