package endpoint_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/mcp/endpoint"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// asks adds a question to a tool, with a form that wants {"ok": boolean} and lets only true pass.
func asks(key string, ask v1alpha1.QuestionAsk, changes ...func(*v1alpha1.ToolQuestion)) func(*v1alpha1.MCPTool) {
	q := v1alpha1.ToolQuestion{
		Key: key, Ask: ask, Message: "'About ' + arguments.?what.orValue('it') + '?'", ProceedIf: "answer.ok",
		Schema: &apiextensionsv1.JSON{Raw: []byte(`{"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"}}}`)},
	}
	for _, change := range changes {
		change(&q)
	}
	return func(tool *v1alpha1.MCPTool) { tool.Spec.Questions = append(tool.Spec.Questions, q) }
}

// newQuestioner starts an endpoint with one more tool, inquirer, that takes {"what": string}.
func newQuestioner(t *testing.T, edit ...func(*v1alpha1.MCPTool)) *fixture {
	t.Helper()
	edit = append(edit, storetest.WithInput(`{"type":"object","properties":{"what":{"type":"string"}}}`))
	return newReplica(t, storetest.New(t, append(tools(), storetest.Tool("mcptasks", "inquirer", edit...))...))
}

func withForms(c *mcpclient.Client) { c.Capabilities = map[string]any{"elicitation": map[string]any{}} }

var (
	yes     = mcpclient.Accept(map[string]any{"ok": true})
	no      = mcpclient.Accept(map[string]any{"ok": false})
	decline = map[string]any{"action": "decline"}
	dismiss = map[string]any{"action": "cancel", "content": nil}
)

// S-90 to S-95, T-13: the first call is answered with a question, the second becomes a task that has the answer.
func TestCallIsAskedFirst_S91_S95_T13(t *testing.T) {
	f := newQuestioner(t, asks("sure", v1alpha1.AskCall))
	c := f.client(alice, withForms)
	arguments := map[string]any{"what": "x"}
	first, err := c.Request(t.Context(), "tools/call", "inquirer", map[string]any{"name": "inquirer", "arguments": arguments})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"resultType":"input_required",` + serverInfo + `,"inputRequests":{"sure":{"method":"elicitation/create",` +
		`"params":{"mode":"form","message":"About x?",` +
		`"requestedSchema":{"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"}}}}}}}`
	if string(first) != want {
		t.Errorf("got  %s\nwant %s", first, want)
	}
	if n := len(f.cluster.Tasks(t, "team-a")); n != 0 {
		t.Fatalf("%d tasks exist before anybody has answered", n)
	}

	// Any replica takes the answer, from the request alone.
	other := newReplica(t, f.cluster).client(alice, withForms)
	call, err := other.CallAgain(t.Context(), "inquirer", arguments, &mcpclient.Call{}, map[string]any{
		"sure": mcpclient.Accept(map[string]any{"ok": true, "more": 1}), "unknown": 7,
	})
	if err != nil || call.Task == nil {
		t.Fatalf("got %+v, %v", call, err)
	}
	recorded := f.cluster.Task(t, "team-a", call.Task.TaskID).Spec
	if got := recorded.CallAnswers; len(got) != 1 || got["sure"].Content != `{"more":1,"ok":true}` || got["sure"].At.Unix() <= 0 {
		t.Errorf("recorded %+v", got)
	}
	if recorded.QuestionsDeadline != nil {
		t.Errorf("a task with nothing to ask waits for %v", recorded.QuestionsDeadline)
	}
}

func TestCallAnswers_A13_S94_S103(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers map[string]any
		want    string // what the call becomes
	}{
		{"none", nil, "asked sure"},
		{"another key", map[string]any{"else": yes}, "asked sure"},
		{"yes", map[string]any{"sure": yes}, "task"},
		{"no", map[string]any{"sure": no}, "error: Not confirmed"},
		{"declined", map[string]any{"sure": decline}, "error: Not confirmed"},
		{"dismissed", map[string]any{"sure": dismiss}, "error: The question \"sure\" was dismissed"},
		{"a number", map[string]any{"sure": 7}, "-32602 The answer to \"sure\""},
		{"null", map[string]any{"sure": nil}, "-32602 The answer to \"sure\""},
		{"junk", map[string]any{"sure": mcpclient.Accept(map[string]any{"ok": "x"})}, "-32602 The answer to \"sure\""},
		{"no content", map[string]any{"sure": map[string]any{"action": "accept"}}, "-32602 The answer to \"sure\""},
		{"another action", map[string]any{"sure": map[string]any{"action": "reject"}}, "-32602 The answer to \"sure\""},
		{"too much", map[string]any{"sure": mcpclient.Accept(map[string]any{"ok": true, "x": strings.Repeat("x", 100<<10)})}, "-32602"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newQuestioner(t, asks("sure", v1alpha1.AskCall))
			call, err := f.client(alice, withForms).CallAgain(t.Context(), "inquirer", nil, &mcpclient.Call{}, tt.answers)
			if got := outcome(call, err); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if n := len(f.cluster.Tasks(t, "team-a")); (n == 1) != (tt.want == "task") {
				t.Errorf("%d tasks", n)
			}
		})
	}
}

// outcome says in a line what a call became.
func outcome(call *mcpclient.Call, err error) string {
	rpc := (*mcpclient.Error)(nil)
	switch {
	case errors.As(err, &rpc):
		return fmt.Sprintf("%d %s %s", rpc.Code, rpc.Message, rpc.Data)
	case err != nil:
		return err.Error()
	case call.InputRequests != nil:
		return "asked " + strings.Join(slices.Sorted(maps.Keys(call.InputRequests)), " ")
	case call.Task != nil:
		return "task"
	case call.Result.IsError:
		return "error: " + call.Result.Text()
	default:
		return "result: " + call.Result.Text()
	}
}

// S-92, T-4: nobody is asked who did not say that it can be.
func TestWhoCannotBeAsked_S92_S102_T4(t *testing.T) {
	const needsForms = `{"requiredCapabilities":{"elicitation":{"form":{}}}}`
	const needsTasks = `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	const needsBoth = `{"requiredCapabilities":{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	elicitation := func(modes map[string]any) func(*mcpclient.Client) {
		return func(c *mcpclient.Client) { c.Capabilities = map[string]any{"elicitation": modes} }
	}
	never := func(q *v1alpha1.ToolQuestion) { q.When = "has(arguments.what)" }
	for _, tt := range []struct {
		name   string
		tool   []func(*v1alpha1.MCPTool)
		client []func(*mcpclient.Client)
		want   string // the data of -32021, or what else the call becomes
	}{
		{"by the call, neither", ask(v1alpha1.AskCall), cannot(withoutTasks), needsForms},
		{"by the call, tasks only", ask(v1alpha1.AskCall), nil, needsForms},
		{"by the call, forms only", ask(v1alpha1.AskCall), cannot(withForms, withoutTasks), "asked a"},
		{"by the call, forms by name", ask(v1alpha1.AskCall), cannot(elicitation(map[string]any{"form": map[string]any{}})), "asked a"},
		{"by the call, URLs only", ask(v1alpha1.AskCall), cannot(elicitation(map[string]any{"url": map[string]any{}})), needsForms},
		{"by the call, nothing to ask", ask(v1alpha1.AskCall, never), nil, "task"},
		{"by the task, neither", ask(v1alpha1.AskTask), cannot(withoutTasks), needsBoth},
		{"by the task, tasks only", ask(v1alpha1.AskTask), nil, needsForms},
		{"by the task, forms only", ask(v1alpha1.AskTask), cannot(withForms, withoutTasks), needsTasks},
		{"by the task, both", ask(v1alpha1.AskTask), cannot(withForms), "task"},
		{"tasks required, neither", append(ask(v1alpha1.AskCall), storetest.WithMode(v1alpha1.ModeRequired)),
			cannot(withoutTasks), needsBoth},
		{"tasks required, nothing to ask", append(ask(v1alpha1.AskCall, never), storetest.WithMode(v1alpha1.ModeRequired)),
			cannot(withoutTasks), needsTasks},
		{"by call and task", append(ask(v1alpha1.AskTask), asks("b", v1alpha1.AskCall)), cannot(withForms), "asked b"},
		{"by call and task, forms only", append(ask(v1alpha1.AskTask), asks("b", v1alpha1.AskCall)),
			cannot(withForms, withoutTasks), needsTasks},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newQuestioner(t, tt.tool...)
			got := outcome(f.client(alice, tt.client...).CallTool(t.Context(), "inquirer", nil))
			if strings.HasPrefix(tt.want, "{") {
				if !strings.HasPrefix(got, "-32021 Missing required client capability: declare ") || !strings.HasSuffix(got, " "+tt.want) {
					t.Errorf("got %s, want -32021 with %s", got, tt.want)
				}
			} else if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if n := len(f.cluster.Tasks(t, "team-a")); (n == 1) != (tt.want == "task") {
				t.Errorf("%d tasks", n)
			}
		})
	}
}

func ask(how v1alpha1.QuestionAsk, changes ...func(*v1alpha1.ToolQuestion)) []func(*v1alpha1.MCPTool) {
	return []func(*v1alpha1.MCPTool){asks("a", how, changes...)}
}

func cannot(edit ...func(*mcpclient.Client)) []func(*mcpclient.Client) { return edit }

// A task that will ask has the time for it in its ttl.
func TestTimeForAnswers(t *testing.T) {
	f := newQuestioner(t, asks("sure", v1alpha1.AskTask, func(q *v1alpha1.ToolQuestion) {
		q.Deadline = &metav1.Duration{Duration: 2 * time.Hour}
	}))
	call, err := f.client(alice, withForms).CallTool(t.Context(), "inquirer", nil)
	if err != nil || call.Task == nil {
		t.Fatalf("got %+v, %v", call, err)
	}
	want := (10*time.Minute + 2*time.Hour + time.Hour + 24*time.Hour).Milliseconds()
	if got := call.Task.TTLMs; got == nil || *got != want {
		t.Errorf("got ttlMs %v, want %d", got, want)
	}
	recorded := f.cluster.Task(t, "team-a", call.Task.TaskID).Spec.QuestionsDeadline
	if diff := cmp.Diff(&metav1.Duration{Duration: 2 * time.Hour}, recorded); diff != "" {
		t.Error(diff)
	}
}

// A mistake in the tool is its author's, and no consent.
func TestQuestionThatCannotBeAsked(t *testing.T) {
	f := newQuestioner(t, asks("sure", v1alpha1.AskCall, func(q *v1alpha1.ToolQuestion) { q.Message = "arguments.what" }))
	got := outcome(f.client(alice, withForms).CallTool(t.Context(), "inquirer", nil))
	if !strings.HasPrefix(got, "-32603 ") || !strings.Contains(got, `question "sure": message: `) ||
		!strings.HasSuffix(got, `{"reason":"InvalidQuestion"}`) {
		t.Errorf("got %s", got)
	}
	if n := len(f.cluster.Tasks(t, "team-a")); n != 0 {
		t.Errorf("%d tasks", n)
	}
}

// A call that is waited for is asked, too, and then has its result.
func TestAskedAndWaitedFor(t *testing.T) {
	f := newQuestioner(t, asks("sure", v1alpha1.AskCall), storetest.WithMode(v1alpha1.ModeForbidden))
	f.play(t, func(id string) { f.cluster.SetStatus(t, "team-a", id, storetest.Completed(textResult("done"))) })
	c := f.client(alice, withForms, withoutTasks)
	if got := outcome(c.CallTool(t.Context(), "inquirer", nil)); got != "asked sure" {
		t.Fatalf("got %s", got)
	}
	again, err := c.CallAgain(t.Context(), "inquirer", nil, &mcpclient.Call{}, map[string]any{"sure": yes})
	if got := outcome(again, err); got != "result: done" {
		t.Errorf("got %s", got)
	}
}

// All answers of a task together stay so small that its object can be stored.
func TestAnswersTogetherAreBounded(t *testing.T) {
	f := newFixture(t)
	c := f.client(alice)
	id := f.call(t).TaskID
	f.cluster.SetStatus(t, "team-a", id, storetest.Asks("a", "b"))
	long := mcpclient.Accept(map[string]any{"confirm": true, "x": strings.Repeat("x", 60<<10)})
	if err := c.Update(t.Context(), id, map[string]any{"a": long}); err != nil {
		t.Fatal(err)
	}
	err := c.Update(t.Context(), id, map[string]any{"b": long})
	if e := (*mcpclient.Error)(nil); !errors.As(err, &e) || e.Code != -32602 || !strings.Contains(e.Message, "together") {
		t.Errorf("got %v", err)
	}
	if err := c.Update(t.Context(), id, map[string]any{"b": mcpclient.Accept(map[string]any{"confirm": true})}); err != nil {
		t.Errorf("a short answer instead: %v", err)
	}
}

// S-93: questions one after another; each round brings the answers of all rounds before it, and nobody else's.
func TestRoundsOfQuestions_S93_S104(t *testing.T) {
	key := []byte(strings.Repeat("k", 32))
	shared := func(o *endpoint.Options) { o.StateKey = key }
	tool := storetest.Tool("mcptasks", "inquirer", asks("first", v1alpha1.AskCall), asks("second", v1alpha1.AskCall,
		func(q *v1alpha1.ToolQuestion) {
			q.When, q.Message = "answers.first.ok", "'First was ' + string(answers.first.ok)"
		}), storetest.WithInput(`{"type":"object","properties":{"what":{"type":"string"}}}`))
	one := newReplica(t, storetest.New(t, append(tools(), tool)...), shared)
	two := newReplica(t, one.cluster, shared)
	stranger := newReplica(t, one.cluster)

	c := one.client(alice, withForms)
	first, err := c.CallTool(t.Context(), "inquirer", nil)
	if got := outcome(first, err); got != "asked first" {
		t.Fatalf("got %s", got)
	}
	second, err := two.client(alice, withForms).CallAgain(t.Context(), "inquirer", nil, first, map[string]any{"first": yes})
	if got := outcome(second, err); got != "asked second" {
		t.Fatalf("got %s", got)
	}
	if !strings.HasPrefix(first.RequestState, "v1.") || first.RequestState == second.RequestState ||
		!strings.Contains(string(second.InputRequests["second"]), "First was true") {
		t.Errorf("got %+v after %+v", second, first)
	}
	answer := map[string]any{"second": yes}
	for name, bad := range map[string]struct {
		client    *mcpclient.Client
		arguments any
		state     string
	}{
		"another caller":    {one.client(bob, withForms), nil, second.RequestState},
		"another tenant":    {one.client(mallory, withForms), nil, second.RequestState},
		"another argument":  {c, map[string]any{"what": "else"}, second.RequestState},
		"tampered with":     {c, nil, second.RequestState + "-TAMPERED"},
		"another key's":     {stranger.client(alice, withForms), nil, second.RequestState},
		"without its start": {c, nil, second.RequestState[3:]},
	} {
		got := outcome(bad.client.CallAgain(t.Context(), "inquirer", bad.arguments, &mcpclient.Call{RequestState: bad.state}, answer))
		if !strings.HasPrefix(got, "-32602 params.requestState was not given out for this call") {
			t.Errorf("%s: got %s", name, got)
		}
	}
	if got := outcome(c.CallAgain(t.Context(), "inquirer", nil, first, answer)); got != "asked first" {
		t.Errorf("an answer to what was not asked yet: got %s", got)
	}
	if n := len(one.cluster.Tasks(t, "team-a")); n != 0 {
		t.Fatalf("%d tasks", n)
	}
	last, err := c.CallAgain(t.Context(), "inquirer", nil, second, answer)
	if err != nil || last.Task == nil {
		t.Fatalf("got %+v, %v", last, err)
	}
	if got := one.cluster.Task(t, "team-a", last.Task.TaskID).Spec.CallAnswers; len(got) != 2 {
		t.Errorf("recorded %+v", got)
	}
}

// S-94: what no honest client sends.
func TestMalformedRetries_S94(t *testing.T) {
	f := newQuestioner(t, asks("sure", v1alpha1.AskCall))
	for name, params := range map[string]map[string]any{
		"answers are null":     {"inputResponses": nil},
		"answers are a list":   {"inputResponses": []any{}},
		"a made-up state":      {"inputResponses": map[string]any{"sure": yes}, "requestState": "x"},
		"no state":             {"inputResponses": map[string]any{"sure": yes}, "requestState": ""},
		"a state that is null": {"inputResponses": map[string]any{"sure": yes}, "requestState": nil},
	} {
		params["name"] = "inquirer"
		_, err := f.client(alice, withForms).Request(t.Context(), "tools/call", "inquirer", params)
		if e := (*mcpclient.Error)(nil); !errors.As(err, &e) || e.Code != -32602 {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if n := len(f.cluster.Tasks(t, "team-a")); n != 0 {
		t.Errorf("%d tasks", n)
	}
}
