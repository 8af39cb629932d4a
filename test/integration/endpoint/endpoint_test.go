package endpoint

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// call makes a task.
func call(t *testing.T, c *mcpclient.Client, tool string, arguments any) string {
	t.Helper()
	called, err := c.CallTool(t.Context(), tool, arguments)
	if err != nil {
		t.Fatal(err)
	}
	if called.Task == nil {
		t.Fatalf("no task but %+v", called.Result)
	}
	return called.Task.TaskID
}

// refused checks that err is a JSON-RPC error with the code and words.
func refused(t *testing.T, err error, code int, words string) {
	t.Helper()
	e := (*mcpclient.Error)(nil)
	if !errors.As(err, &e) || e.Code != code || !strings.Contains(e.Message, words) {
		t.Errorf("got %v, want code %d and %q", err, code, words)
	}
}

// A07: the answer to a call leaves when every replica can find the task, and not before.
func TestEveryReplicaFindsANewTask_A07_T10(t *testing.T) {
	a, b := startReplica(t), startReplica(t)
	tool(t, "new-task")
	first, second := a.client(t, tenant, agent), b.client(t, tenant, agent)
	awaitTool(t, first, "new-task")
	for i := range 200 {
		id := call(t, first, "new-task", nil)
		if _, err := second.Get(t.Context(), id); err != nil {
			t.Fatalf("task %d: %v", i, err)
		}
		if i%10 == 0 {
			if err := second.Cancel(t.Context(), id); err != nil {
				t.Fatalf("cancel task %d: %v", i, err)
			}
			task, err := second.Get(t.Context(), id)
			if err != nil || !strings.Contains(task.StatusMessage, "Cancel") {
				t.Fatalf("the cancel of task %d is not seen by who asked for it: %+v, %v", i, task, err)
			}
		}
		if i%10 == 5 {
			hear(t, listen(t, second, id), id, "working", "")
		}
	}
}

// A06: a replica that is killed takes nothing with it.
func TestKilledReplica_A06(t *testing.T) {
	a, b := startReplica(t), startReplica(t)
	tool(t, "survives")
	first, second := a.client(t, tenant, agent), b.client(t, tenant, agent)
	awaitTool(t, first, "survives")
	second.HTTP = &http.Client{Transport: inSession{http.DefaultTransport}} // a session that only the other has ever heard of
	id := call(t, first, "survives", map[string]any{"x": 1})
	a.Kill()
	setStatus(t, id, completed(`{"resultType":"complete","content":[{"type":"text","text":"still here"}]}`))
	task, err := second.Wait(t.Context(), id, nil)
	if err != nil || task.Result.Text() != "still here" {
		t.Fatalf("got %+v, %v", task, err)
	}
}

func completed(result string) func(*v1alpha1.MCPTaskStatus) {
	return func(s *v1alpha1.MCPTaskStatus) {
		now := metav1.NowMicro()
		s.State, s.Reason, s.Result, s.FinishedAt = v1alpha1.StateCompleted, v1alpha1.ReasonSucceeded, result, &now
	}
}

// A26, A15: arguments and large results pass byte for byte, as often as one likes.
func TestBytes_A15_A26(t *testing.T) {
	r := startReplica(t)
	tool(t, "bytes")
	c := r.client(t, tenant, agent)
	awaitTool(t, c, "bytes")
	arguments := `{"id":9007199254740993,"u":18446744073709551615,"z":-0,"html":"<&>","e":"\u00e9"}`
	id := call(t, c, "bytes", json.RawMessage(arguments))
	if got := getTask(t, id).Spec.Arguments; got != arguments {
		t.Errorf("got %s", got)
	}
	text := strings.Repeat("<&> äöü 日本 ", 20_000)
	encoded, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	setStatus(t, id, completed(`{"resultType":"complete","content":[{"type":"text","text":`+string(encoded)+`}]}`))
	for range 3 {
		task, err := c.Wait(t.Context(), id, nil)
		if err != nil || task.Result.Text() != text {
			t.Fatalf("got %v", err)
		}
	}
}

// A15: reading a result changes nothing and uses nothing up, also where the answer gets lost on the way.
func TestResultsCanBeReadAgain_A15(t *testing.T) {
	a, b := startReplica(t), startReplica(t)
	tool(t, "read-again")
	first, second := a.client(t, tenant, agent), b.client(t, tenant, agent)
	awaitTool(t, first, "read-again")
	id := call(t, first, "read-again", nil)
	setStatus(t, id, completed(`{"resultType":"complete","content":[{"type":"text","text":"`+strings.Repeat("<ü>", 50_000)+`"}]}`))
	if _, err := first.Wait(t.Context(), id, nil); err != nil {
		t.Fatal(err)
	}
	before := getTask(t, id).ResourceVersion

	params := map[string]any{"taskId": id}
	body, header, err := first.Encode("tasks/get", id, params)
	if err != nil {
		t.Fatal(err)
	}
	lost, err := first.Send(t.Context(), body, header)
	if err != nil {
		t.Fatal(err)
	}
	_ = lost.Body.Close() // unread: the connection is closed

	want, err := second.Request(t.Context(), "tasks/get", id, params)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		for _, c := range []*mcpclient.Client{first, second} {
			if got, err := c.Request(t.Context(), "tasks/get", id, params); err != nil || string(got) != string(want) {
				t.Errorf("got %d bytes, %v; want the same %d bytes as before", len(got), err, len(want))
			}
		}
	}
	if after := getTask(t, id).ResourceVersion; after != before {
		t.Errorf("reading changed the task from version %s to %s", before, after)
	}
}

// A18: who has lost the ids of their tasks is found by their label, with what an operator wants to know.
func TestTasksOfAnOwner_A18(t *testing.T) {
	r := startReplica(t)
	tool(t, "forgotten")
	c, stranger := r.client(t, tenant, agent), r.client(t, tenant, other)
	awaitTool(t, c, "forgotten")
	id := call(t, c, "forgotten", nil)
	for range 19 {
		call(t, c, "forgotten", nil)
	}
	call(t, stranger, "forgotten", nil)
	var list v1alpha1.MCPTaskList
	labels := client.MatchingLabels{
		v1alpha1.LabelTool: "forgotten", v1alpha1.LabelOwner: getTask(t, id).Labels[v1alpha1.LabelOwner],
	}
	if err := cluster.List(t.Context(), &list, client.InNamespace(tenant), labels); err != nil || len(list.Items) != 20 {
		t.Errorf("%d tasks of the owner, %v", len(list.Items), err)
	}
	for i := range list.Items {
		if owner := list.Items[i].Spec.Owner.Subject; !strings.HasSuffix(owner, ":"+agent) {
			t.Errorf("a task of %s", owner)
		}
	}
}

// A12: the API server's own rules and the endpoint's agree on what may still be said.
func TestQuestions_A02_A12(t *testing.T) {
	a, b := startReplica(t), startReplica(t)
	tool(t, "asks")
	first, second := a.client(t, tenant, agent), b.client(t, tenant, agent)
	awaitTool(t, first, "asks")
	id := call(t, first, "asks", nil)
	setStatus(t, id, func(s *v1alpha1.MCPTaskStatus) {
		s.State, s.Reason = v1alpha1.StateInputRequired, v1alpha1.ReasonAwaitingInput
		question := v1alpha1.Question{
			Message:         "Sure?",
			RequestedSchema: `{"type":"object","required":["confirm"],"properties":{"confirm":{"type":"boolean"}}}`,
			AskedAt:         metav1.NowMicro(),
		}
		s.Questions = map[string]v1alpha1.Question{"a": question, "b": question}
	})
	yes := mcpclient.Accept(map[string]any{"confirm": true})
	// Whichever replica has heard of the questions, the other takes the answer.
	if err := second.Update(t.Context(), id, map[string]any{"a": yes, "zzz": 7}); err != nil {
		t.Fatal(err)
	}
	task, err := second.Get(t.Context(), id)
	if err != nil || task.Status != "input_required" || len(task.InputRequests) != 1 || task.InputRequests["b"] == nil {
		t.Fatalf("got %+v, %v", task, err)
	}
	bad := mcpclient.Accept(map[string]any{"confirm": "x"})
	refused(t, first.Update(t.Context(), id, map[string]any{"b": bad}), -32602, "confirm")
	for _, confirm := range []bool{true, false} { // the second is too late, and no error
		answer := map[string]any{"b": mcpclient.Accept(map[string]any{"confirm": confirm})}
		if err := first.Update(t.Context(), id, answer); err != nil {
			t.Fatal(err)
		}
	}
	if got := getTask(t, id).Spec.Answers["b"].Content; got != `{"confirm":true}` {
		t.Errorf("got %s", got)
	}
	if task, err := first.Get(t.Context(), id); err != nil || task.Status != "working" {
		t.Errorf("got %+v, %v", task, err)
	}
}

// A08, A33: who calls, and what that allows.
func TestCallers_A08_A33_S133(t *testing.T) {
	r := startReplica(t)
	tool(t, "callers")
	c := r.client(t, tenant, agent)
	awaitTool(t, c, "callers")
	id := call(t, c, "callers", nil)

	_, err := r.client(t, tenant, other).Get(t.Context(), id)
	refused(t, err, -32602, "Failed to retrieve task: Task not found")
	_, err = r.client(t, small, agent).Get(t.Context(), id)
	refused(t, err, -32602, "Failed to retrieve task: Task not found")
	if _, err := r.client(t, tenant, agent).Get(t.Context(), id); err != nil {
		t.Errorf("with another token of the same account: %v", err)
	}
	_, err = r.client(t, none, agent).Discover(t.Context())
	refused(t, err, -32600, "no tenant")
	forAPIServer := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: agent}}
	if err := cluster.SubResource("token").Create(t.Context(), account, forAPIServer); err != nil {
		t.Fatal(err)
	}
	for token, words := range map[string]string{
		forAPIServer.Status.Token: "audience", "nonsense": "not valid here", "": "Authentication required",
	} {
		_, err = (&mcpclient.Client{URL: r.url, Token: token}).Discover(t.Context())
		refused(t, err, -32600, words)
	}
	if strings.Contains(r.Log.String(), c.Token) {
		t.Error("a token is in the log")
	}
}

func TestFullQuota_A18(t *testing.T) {
	r := startReplica(t)
	tool(t, "quota")
	c := r.client(t, small, agent)
	awaitTool(t, c, "quota")
	call(t, c, "quota", nil)
	_, err := c.CallTool(t.Context(), "quota", nil)
	refused(t, err, -32603, "quota is full (tasks, requested: count/mcptasks.mcptasks.dev=1, used:")
	if e := (*mcpclient.Error)(nil); errors.As(err, &e) && string(e.Data) != `{"reason":"QuotaExceeded"}` {
		t.Errorf("got data %s", e.Data)
	}
	var list v1alpha1.MCPTaskList
	if err := cluster.List(t.Context(), &list, client.InNamespace(small)); err != nil || len(list.Items) != 1 {
		t.Errorf("%d tasks, %v", len(list.Items), err)
	}
}

// A replica that is to go answers those who wait, and their work goes on.
func TestTermination(t *testing.T) {
	r := startReplica(t)
	tool(t, "terminated")
	c := r.client(t, tenant, agent)
	c.WithoutTasks = true
	awaitTool(t, c, "terminated")
	answered := make(chan *mcpclient.Call, 1)
	go func() {
		call, err := c.CallTool(t.Context(), "terminated", nil)
		if err != nil {
			t.Error(err)
		}
		answered <- call
	}()
	id := onlyTask(t, "terminated")
	r.Terminate()
	if call := <-answered; call == nil || call.Result.IsError || !strings.Contains(call.Result.Text(), id) {
		t.Errorf("got %+v", call)
	}
	if getTask(t, id).Spec.Cancel != nil {
		t.Error("the task was cancelled")
	}
}

// A37: a wait is bounded and its end is seen at once.
func TestWaiting_A37(t *testing.T) {
	r := startReplica(t)
	tool(t, "waited-for", func(s *v1alpha1.MCPToolSpec) {
		s.Execution.Mode = v1alpha1.ModeForbidden
		s.Execution.BlockFor = metav1.Duration{Duration: patience}
	})
	c := r.client(t, tenant, agent)
	awaitTool(t, c, "waited-for")
	type answer struct {
		call *mcpclient.Call
		at   time.Time
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		call, err := c.CallTool(t.Context(), "waited-for", nil)
		answered <- answer{call, time.Now(), err}
	}()
	id := onlyTask(t, "waited-for")
	setStatus(t, id, completed(`{"resultType":"complete","content":[{"type":"text","text":"done"}]}`))
	written := time.Now()
	got := <-answered
	if got.err != nil || got.call.Result.Text() != "done" {
		t.Fatalf("got %+v", got)
	}
	if late := got.at.Sub(written); late > 2*time.Second {
		t.Errorf("answered %s after the end", late)
	}
}

func TestAnonymous(t *testing.T) {
	r := startReplica(t, "--insecure-anonymous", tenant)
	tool(t, "anonymous")
	c := &mcpclient.Client{URL: r.url}
	awaitTool(t, c, "anonymous")
	id := call(t, c, "anonymous", nil)
	if got := getTask(t, id).Spec.Owner; got != (v1alpha1.Owner{Issuer: "anonymous", Subject: "anonymous"}) {
		t.Errorf("got owner %+v", got)
	}
	if !strings.Contains(r.Log.String(), "INSECURE") {
		t.Error("the log does not warn")
	}
}
