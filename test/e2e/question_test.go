package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/kube"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// asking adds a question with a form of one required property, given as its name and its type. Only an answer that is true lets
// the tool run, where the type is boolean.
func (b *toolBuilder) asking(key string, how v1alpha1.QuestionAsk, nameType string) *toolBuilder {
	name, kind, _ := strings.Cut(nameType, " ")
	q := v1alpha1.ToolQuestion{
		Key: key, Ask: how, Message: fmt.Sprintf("'%s, please'", key),
		Schema: &apiextensionsv1.JSON{Raw: fmt.Appendf(nil,
			`{"type":"object","required":[%q],"properties":{%q:{"type":%q}}}`, name, name, kind)},
	}
	if kind == "boolean" {
		q.ProceedIf = "answer." + name
	}
	b.tool.Spec.Questions = append(b.tool.Spec.Questions, q)
	return b
}

// askable lets the endpoint ask the client's user.
func askable(c *mcpclient.Client) *mcpclient.Client {
	c.Capabilities = map[string]any{"elicitation": map[string]any{}}
	return c
}

// asked waits until the task asks, and returns the keys of what it asks.
func (x *tenant) asked(c *mcpclient.Client, id string) string {
	x.t.Helper()
	task, err := c.WaitFor(x.ctx, id, func(t *mcpclient.Task) bool { return t.Terminal() || t.Status == "input_required" }, nil)
	x.must(err)
	return task.Status + " " + strings.Join(slices.Sorted(maps.Keys(task.InputRequests)), " ")
}

// wantNoPod fails the test if the task has, or ever had, a Job or a pod.
func (x *tenant) wantNoPod(id string) {
	x.t.Helper()
	jobs := &batchv1.JobList{}
	x.must(cluster.List(x.ctx, jobs, client.InNamespace(x.namespace), client.MatchingLabels{v1alpha1.LabelTask: id}))
	pods, err := x.pods(x.ctx, id)
	x.must(err)
	if record := x.record(id); len(jobs.Items) > 0 || len(pods) > 0 || record.Status.Job != nil {
		x.t.Errorf("task %s has %d Jobs and %d pods (%+v), want none", id, len(jobs.Items), len(pods), record.Status.Job)
	}
}

// TestProtocolQuestionsOfATask_A12 answers two questions one by one, each at another replica.
func TestProtocolQuestionsOfATask_A12(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("greet", "greet", "--name=$(MCP_ANSWER_WHO_NAME)").
		asking("who", v1alpha1.AskTask, "name string").asking("sure", v1alpha1.AskTask, "ok boolean"))
	clients := x.replicas(2)
	a, b := askable(clients[0]), askable(clients[1])

	id := x.call(a, "greet", nil)
	if got := x.asked(b, id); got != "input_required sure who" {
		t.Fatalf("the task is %s", got)
	}
	x.wantNoPod(id)
	x.must(b.Update(x.ctx, id, map[string]any{"sure": mcpclient.Accept(map[string]any{"ok": true})}))
	if got := x.asked(b, id); got != "input_required who" {
		t.Errorf("after one answer the task is %s", got)
	}
	if err := a.Update(x.ctx, id, map[string]any{"who": mcpclient.Accept(map[string]any{"name": 7})}); err == nil {
		t.Error("a name that is a number was taken")
	}
	x.wantNoPod(id)
	// The first answer counts, and what is not asked does not.
	x.must(a.Update(x.ctx, id, map[string]any{
		"sure": map[string]any{"action": "decline"}, "who": mcpclient.Accept(map[string]any{"name": "$(HOME) Ann"}), "else": 1,
	}))
	task := x.wait(b, id)
	if task.Status != "completed" || task.Result == nil || task.Result.Text() != "Hello, $(HOME) Ann!" {
		t.Errorf("the task is %s (%s), result %+v", task.Status, task.StatusMessage, task.Result)
	}
	x.must(b.Update(x.ctx, id, map[string]any{"who": mcpclient.Accept(map[string]any{"name": "late"})}))
}

// TestProtocolQuestionsWithoutConsent_A13 answers with everything but a yes; nothing ever runs.
func TestProtocolQuestionsWithoutConsent_A13(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("greet", "greet").asking("sure", v1alpha1.AskTask, "ok boolean"))
	c := askable(x.replicas(1)[0])
	for _, answer := range []struct {
		name   string
		answer any
		status string
		reason string
	}{
		{"no", mcpclient.Accept(map[string]any{"ok": false}), "completed", v1alpha1.ReasonDeclined},
		{"decline", map[string]any{"action": "decline"}, "completed", v1alpha1.ReasonDeclined},
		{"cancel", map[string]any{"action": "cancel", "content": nil}, "cancelled", v1alpha1.ReasonQuestionCancelled},
	} {
		id := x.call(c, "greet", nil)
		if got := x.asked(c, id); got != "input_required sure" {
			t.Fatalf("%s: the task is %s", answer.name, got)
		}
		x.must(c.Update(x.ctx, id, map[string]any{"sure": answer.answer}))
		task := x.wait(c, id)
		if task.Status != answer.status || (task.Result != nil && !task.Result.IsError) || x.record(id).Status.Reason != answer.reason {
			t.Errorf("%s: the task is %s (%s), result %+v", answer.name, task.Status, task.StatusMessage, task.Result)
		}
		x.wantNoPod(id)
	}
}

// TestProtocolQuestionsOfACall asks before there is a task, and gets the answer at another replica.
func TestProtocolQuestionsOfACall(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("greet", "greet", "--name=$(MCP_ANSWER_WHO_NAME)").asking("who", v1alpha1.AskCall, "name string"))
	clients := x.replicas(2)
	a, b := askable(clients[0]), askable(clients[1])

	call, err := a.CallTool(x.ctx, "greet", nil)
	x.must(err)
	if len(call.InputRequests) != 1 || call.InputRequests["who"] == nil {
		t.Fatalf("the call was answered with %+v", call)
	}
	x.wantNothing()
	call, err = b.CallAgain(x.ctx, "greet", nil, call, map[string]any{"who": mcpclient.Accept(map[string]any{"name": "Ann"})})
	x.must(err)
	if call.Task == nil {
		t.Fatalf("the repeated call was answered with %+v", call)
	}
	if task := x.wait(a, call.Task.TaskID); task.Result == nil || task.Result.Text() != "Hello, Ann!" {
		t.Errorf("the task is %s (%s), result %+v", task.Status, task.StatusMessage, task.Result)
	}
	b.Capabilities = nil
	if _, err := b.CallTool(x.ctx, "greet", nil); err == nil || !strings.Contains(err.Error(), "-32021") {
		t.Errorf("a client that cannot be asked got %v, want -32021", err)
	}
}

// TestProtocolQuestionsInRounds asks twice before there is a task, each time at another replica.
func TestProtocolQuestionsInRounds(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	b := tool("greet", "greet", "--name=$(MCP_ANSWER_WHO_NAME) from $(MCP_ANSWER_WHERE_PLACE)").
		asking("who", v1alpha1.AskCall, "name string").asking("where", v1alpha1.AskCall, "place string")
	b.tool.Spec.Questions[1].Message = "'Where is ' + answers.who.name + ' from?'"
	x.offer(b)
	clients := x.replicas(2)
	first, err := askable(clients[0]).CallTool(x.ctx, "greet", nil)
	x.must(err)
	second, err := askable(clients[1]).CallAgain(x.ctx, "greet", nil, first,
		map[string]any{"who": mcpclient.Accept(map[string]any{"name": "Ann"})})
	x.must(err)
	if asked := string(second.InputRequests["where"]); !strings.Contains(asked, "Where is Ann from?") {
		t.Fatalf("the second round asks %+v", second)
	}
	x.wantNothing()
	answer := map[string]any{"where": mcpclient.Accept(map[string]any{"place": "Ulm"})}
	second.RequestState += "x"
	if _, err := clients[0].CallAgain(x.ctx, "greet", nil, second, answer); err == nil || !strings.Contains(err.Error(), "-32602") {
		t.Errorf("a state that was tampered with got %v", err)
	}
	second.RequestState = strings.TrimSuffix(second.RequestState, "x")
	last, err := clients[0].CallAgain(x.ctx, "greet", nil, second, answer)
	x.must(err)
	if last.Task == nil {
		t.Fatalf("the third call was answered with %+v", last)
	}
	if task := x.wait(clients[1], last.Task.TaskID); task.Result == nil || task.Result.Text() != "Hello, Ann from Ulm!" {
		t.Errorf("the task is %s (%s), result %+v", task.Status, task.StatusMessage, task.Result)
	}
}

// TestProtocolQuestionsOutliveEverything_A35 ends controller and endpoint while a task waits for its answer. It does not run in
// parallel: the other tests could not tell its kills from faults.
func TestProtocolQuestionsOutliveEverything_A35(t *testing.T) {
	x := newTenant(t)
	x.offer(tool("greet", "greet", "--name=$(MCP_ANSWER_WHO_NAME)").asking("who", v1alpha1.AskTask, "name string"))
	c := askable(x.replicas(1)[0])
	id := x.call(c, "greet", nil)
	if got := x.asked(c, id); got != "input_required who" {
		t.Fatalf("the task is %s", got)
	}
	version := x.record(id).ResourceVersion
	x.kill(kube.ControllerLabels)
	x.kill(kube.EndpointLabels)
	c = askable(x.replicas(2)[1])
	if got := x.asked(c, id); got != "input_required who" {
		t.Errorf("after the kills the task is %s", got)
	}
	if now := x.record(id).ResourceVersion; now != version {
		t.Errorf("a task that waits was written to: version %s, was %s", now, version)
	}
	x.wantNoPod(id)
	x.must(c.Update(x.ctx, id, map[string]any{"who": mcpclient.Accept(map[string]any{"name": "Ann"})}))
	if task := x.wait(c, id); task.Result == nil || task.Result.Text() != "Hello, Ann!" {
		t.Errorf("the task is %s (%s), result %+v", task.Status, task.StatusMessage, task.Result)
	}
}
