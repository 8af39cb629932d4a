package api

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

const (
	someTime = `"2026-01-02T03:04:05.000000Z"`
	question = `{"message":"Sure?","requestedSchema":"{}","askedAt":` + someTime + `}`
	answer   = `{"action":"accept","content":"{}","at":` + someTime + `}`
	cancel   = `{"by":"agent","at":` + someTime + `}`
)

// idempotency has hashes of the right form.
var idempotency = `{"keyHash":"` + strings.Repeat("0", 64) + `","argumentsHash":"` + strings.Repeat("f", 64) + `"}`

// step is one merge patch, of spec or, through the subresource, of status.
type step struct{ spec, status string }

func (s step) apply(t *testing.T, task *v1alpha1.MCPTask) error {
	t.Helper()
	if s.status != "" {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"status":`+s.status+`}`))
		return cluster.Status().Patch(t.Context(), task, patch)
	}
	return cluster.Patch(t.Context(), task, client.RawPatch(types.MergePatchType, []byte(`{"spec":`+s.spec+`}`)))
}

// TestTaskRules: of a task's spec only answers and cancel can be added, and nothing that is final in its status can change,
// whoever tries.
func TestTaskRules(t *testing.T) {
	needCluster(t)
	asked := step{status: `{"state":"input_required","questions":{"sure":` + question + `}}`}
	answered := step{spec: `{"answers":{"sure":` + answer + `}}`}
	declined := step{spec: `{"answers":{"sure":{"action":"decline"}}}`}
	revived := step{status: `{"state":"completed","error":null,"result":"{}"}`}
	cancelled := step{spec: `{"cancel":` + cancel + `}`}
	completed := step{status: `{"state":"completed","result":"{\"content\":[]}"}`}
	failed := step{status: `{"state":"failed","error":{"code":-32603,"message":"no"}}`}
	for name, tc := range map[string]struct {
		before []step
		last   step
		err    string // empty: accepted
	}{
		"tool":                 {nil, step{spec: `{"tool":{"generation":2}}`}, "spec.tool is immutable"},
		"arguments":            {nil, step{spec: `{"arguments":"{ }"}`}, "spec.arguments is immutable"},
		"owner":                {nil, step{spec: `{"owner":{"subject":"somebody else"}}`}, "spec.owner is immutable"},
		"execution":            {nil, step{spec: `{"execution":{"deadline":"2h"}}`}, "spec.execution and spec.result are immutable"},
		"result source":        {nil, step{spec: `{"result":{"container":"x"}}`}, "spec.execution and spec.result are immutable"},
		"traceparent":          {nil, step{spec: `{"traceparent":"00"}`}, "spec.traceparent is immutable"},
		"call answers":         {nil, step{spec: `{"callAnswers":{"sure":` + answer + `}}`}, "spec.callAnswers is immutable"},
		"questions' deadline":  {nil, step{spec: `{"questionsDeadline":"1h"}`}, "spec.questionsDeadline is immutable"},
		"idempotency":          {nil, step{spec: `{"idempotency":` + idempotency + `}`}, "spec.idempotency is immutable"},
		"cancel":               {nil, cancelled, ""},
		"cancel again":         {[]step{cancelled}, step{spec: `{"cancel":{"by":"somebody else"}}`}, "cannot be changed or taken back"},
		"cancel taken back":    {[]step{cancelled}, step{spec: `{"cancel":null}`}, "cannot be changed or taken back"},
		"answer":               {[]step{asked}, answered, ""},
		"answer to nothing":    {nil, answered, "may only answer questions that status.questions asks"},
		"answer to another":    {[]step{asked}, step{spec: `{"answers":{"other":` + answer + `}}`}, "may only answer questions"},
		"answer changed":       {[]step{asked, answered}, declined, "answer cannot be changed"},
		"answer taken back":    {[]step{asked, answered}, step{spec: `{"answers":null}`}, "answer cannot be changed or taken back"},
		"unknown action":       {[]step{asked}, step{spec: `{"answers":{"sure":{"action":"maybe","at":` + someTime + `}}}`}, "action"},
		"question taken back":  {[]step{asked, answered}, step{status: `{"questions":null}`}, "may only answer questions"},
		"unknown state":        {nil, step{status: `{"state":"done"}`}, "status.state"},
		"completed":            {nil, completed, ""},
		"completed, no result": {nil, step{status: `{"state":"completed"}`}, "status.result goes with the state completed"},
		"result, not completed": {
			nil, step{status: `{"state":"working","result":"{}"}`}, "status.result goes with the state completed",
		},
		"failed":               {nil, failed, ""},
		"failed, no error":     {nil, step{status: `{"state":"failed"}`}, "status.error goes with the state failed"},
		"A09: back to working": {[]step{completed}, step{status: `{"state":"working","result":null}`}, "does not change its state"},
		"A09: completed later": {[]step{failed}, revived, "does not change its state"},
		"A09: another result":  {[]step{completed}, step{status: `{"result":"{}"}`}, "status.result is final"},
		"another error":        {[]step{failed}, step{status: `{"error":{"message":"yes"}}`}, "status.error is final"},
		"no status":            {[]step{completed}, step{status: `null`}, "status cannot be removed"},
		"cancel after the end": {[]step{completed}, cancelled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			task := newTask()
			if err := cluster.Create(t.Context(), task); err != nil {
				t.Fatal(err)
			}
			for _, s := range tc.before {
				if err := s.apply(t, task); err != nil {
					t.Fatal(err)
				}
			}
			refused(t, tc.last.apply(t, task), tc.err)
		})
	}
}

// TestCallAnswers: answers may come with the call, to questions that no status asks, and stay as they are.
func TestCallAnswers(t *testing.T) {
	needCluster(t)
	task := newTask(func(task *v1alpha1.MCPTask) {
		task.Spec.CallAnswers = map[string]v1alpha1.Answer{
			"sure": {Action: v1alpha1.AnswerAccept, Content: strings.Repeat("x", v1alpha1.MaxAnswerBytes), At: metav1.NowMicro()},
		}
		task.Spec.QuestionsDeadline = &metav1.Duration{Duration: time.Hour}
	})
	if err := cluster.Create(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	refused(t, step{spec: `{"callAnswers":{"sure":{"action":"decline"}}}`}.apply(t, task), "spec.callAnswers is immutable")
	refused(t, step{spec: `{"callAnswers":null}`}.apply(t, task), "spec.callAnswers is immutable")
	refused(t, step{spec: `{"questionsDeadline":null}`}.apply(t, task), "spec.questionsDeadline is immutable")
	refused(t, step{spec: `{"cancel":` + cancel + `}`}.apply(t, task), "")
}

// TestSecretArguments: that there is a Secret, and what is in it, stays as it is; that it has been stored is said once.
func TestSecretArguments(t *testing.T) {
	needCluster(t)
	secret := func(variables ...string) *v1alpha1.MCPTask {
		return newTask(func(task *v1alpha1.MCPTask) {
			task.Spec.SecretArguments = &v1alpha1.SecretArguments{Variables: variables}
		})
	}
	refused(t, cluster.Create(t.Context(), secret("PATH")), "spec.secretArguments.variables")
	task := secret("MCP_ARG_PASSWORD")
	if err := cluster.Create(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	refused(t, step{spec: `{"secretArguments":null}`}.apply(t, task), "spec.secretArguments is immutable")
	refused(t, step{spec: `{"secretArguments":{"variables":["MCP_ARG_OTHER"]}}`}.apply(t, task),
		"secretArguments.variables is immutable")
	refused(t, step{spec: `{"secretArguments":{"storedAt":` + someTime + `}}`}.apply(t, task), "")
	refused(t, step{spec: `{"secretArguments":{"storedAt":null}}`}.apply(t, task), "storedAt cannot be taken back")
	plain := newTask()
	if err := cluster.Create(t.Context(), plain); err != nil {
		t.Fatal(err)
	}
	refused(t, step{spec: `{"secretArguments":{}}`}.apply(t, plain), "spec.secretArguments is immutable")
}

// TestIdempotency: what a call's key became stays as it is.
func TestIdempotency(t *testing.T) {
	needCluster(t)
	hash := strings.Repeat("0123456789abcdef", 4)
	keyed := func(keyHash string) *v1alpha1.MCPTask {
		return newTask(func(task *v1alpha1.MCPTask) {
			task.Spec.Idempotency = &v1alpha1.Idempotency{KeyHash: keyHash, ArgumentsHash: hash}
		})
	}
	refused(t, cluster.Create(t.Context(), keyed("a key")), "spec.idempotency.keyHash")
	task := keyed(hash)
	if err := cluster.Create(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	other := step{spec: `{"idempotency":{"argumentsHash":"` + strings.Repeat("0", 64) + `"}}`}
	refused(t, other.apply(t, task), "spec.idempotency is immutable")
	refused(t, step{spec: `{"idempotency":null}`}.apply(t, task), "spec.idempotency is immutable")
	refused(t, step{spec: `{"cancel":` + cancel + `}`}.apply(t, task), "")
}

// TestTaskLimits: the largest call and the largest result fit into one object together.
func TestTaskLimits(t *testing.T) {
	needCluster(t)
	arguments := func(n int) func(*v1alpha1.MCPTask) {
		return func(task *v1alpha1.MCPTask) {
			task.Spec.Arguments = `{"x":"` + strings.Repeat("x", n-len(`{"x":""}`)) + `"}`
		}
	}
	refused(t, cluster.Create(t.Context(), newTask(arguments(v1alpha1.MaxArgumentsBytes+1))), "spec.arguments")

	task := newTask(arguments(v1alpha1.MaxArgumentsBytes))
	if err := cluster.Create(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	result := func(n int) step {
		return step{status: `{"state":"completed","result":"` + strings.Repeat("r", n) + `"}`}
	}
	refused(t, result(v1alpha1.MaxResultBytes+1).apply(t, task), "status.result")
	refused(t, result(v1alpha1.MaxResultBytes).apply(t, task), "")
}
