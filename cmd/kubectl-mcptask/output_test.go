package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

var (
	created = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now     = created.Add(10 * time.Minute)
)

func at(d time.Duration) *metav1.MicroTime {
	t := metav1.NewMicroTime(created.Add(d))
	return &t
}

func newTask(name string, change func(*v1alpha1.MCPTask)) v1alpha1.MCPTask {
	t := v1alpha1.MCPTask{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team-a", CreationTimestamp: metav1.NewTime(created)},
		Spec: v1alpha1.MCPTaskSpec{
			Tool:      v1alpha1.ToolReference{Namespace: "mcptasks", Name: "run-migration"},
			Arguments: `{"environment":"staging"}`,
			Owner:     v1alpha1.Owner{Issuer: "kubernetes", Subject: "agent"},
		},
		Status: v1alpha1.MCPTaskStatus{State: v1alpha1.StateWorking, Reason: v1alpha1.ReasonRunning, Message: "Running"},
	}
	if change != nil {
		change(&t)
	}
	return t
}

func completed(result string) func(*v1alpha1.MCPTask) {
	return func(t *v1alpha1.MCPTask) {
		t.Status.State, t.Status.Reason, t.Status.Result = v1alpha1.StateCompleted, v1alpha1.ReasonSucceeded, result
		t.Status.Message = "Done"
	}
}

func TestDescribe(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.MCPTask)
		want   string
	}{
		"running": {
			func(t *v1alpha1.MCPTask) {
				t.Status.StartedAt = at(time.Minute)
				t.Status.Job = &v1alpha1.JobReference{Name: t.Name}
			}, `
Task:       t-1
Namespace:  team-a
Tool:       mcptasks/run-migration
Caller:     agent (kubernetes)
Arguments:  {"environment":"staging"}
State:      working
Reason:     Running
Message:    Running
Created:    2026-03-01 12:00:00 UTC (10m ago)
Started:    2026-03-01 12:01:00 UTC (9m ago)
Job:        t-1
`},
		"finished": {
			func(t *v1alpha1.MCPTask) {
				completed(`{"content":[]}`)(t)
				t.Status.FinishedAt = at(2 * time.Minute)
				expires := metav1.NewTime(created.Add(24 * time.Hour))
				t.Status.ExpiresAt = &expires
			}, `
Task:        t-1
Namespace:   team-a
Tool:        mcptasks/run-migration
Caller:      agent (kubernetes)
Arguments:   {"environment":"staging"}
State:       completed
Reason:      Succeeded
Message:     Done
Created:     2026-03-01 12:00:00 UTC (10m ago)
Finished:    2026-03-01 12:02:00 UTC (8m ago)
Kept until:  2026-03-02 12:00:00 UTC
Result:      kubectl mcptask result t-1 -n team-a
`},
		"failed, with a message that would fake a line": {
			func(t *v1alpha1.MCPTask) {
				t.Status.State, t.Status.Reason = v1alpha1.StateFailed, v1alpha1.ReasonRejected
				t.Status.Message = "refused\nState:      completed\x1b[2J"
				t.Status.Error = &v1alpha1.TaskError{Code: -32603, Message: "refused", Data: `{"reason":"Rejected"}`}
			}, `
Task:       t-1
Namespace:  team-a
Tool:       mcptasks/run-migration
Caller:     agent (kubernetes)
Arguments:  {"environment":"staging"}
State:      failed
Reason:     Rejected
Message:    refused State:      completed [2J
Error:      -32603 refused {"reason":"Rejected"}
Created:    2026-03-01 12:00:00 UTC (10m ago)
`},
		"questions": {
			func(t *v1alpha1.MCPTask) {
				t.Status.State, t.Status.Reason = v1alpha1.StateInputRequired, v1alpha1.ReasonAwaitingInput
				t.Status.Message = "Waiting for an answer"
				t.Status.Questions = map[string]v1alpha1.Question{"b": {Message: "Sure?"}, "a": {Message: "Where?"}}
			}, `
Task:        t-1
Namespace:   team-a
Tool:        mcptasks/run-migration
Caller:      agent (kubernetes)
Arguments:   {"environment":"staging"}
State:       input_required
Reason:      AwaitingInput
Message:     Waiting for an answer
Question a:  Where?
Question b:  Sure?
Created:     2026-03-01 12:00:00 UTC (10m ago)
`},
		"cancel asked for": {
			func(t *v1alpha1.MCPTask) {
				t.Spec.Cancel = &v1alpha1.Cancellation{At: *at(time.Minute), By: "ann", Reason: "too slow"}
			}, `
Task:             t-1
Namespace:        team-a
Tool:             mcptasks/run-migration
Caller:           agent (kubernetes)
Arguments:        {"environment":"staging"}
State:            working
Reason:           Running
Message:          Cancel requested; stopping the work: too slow
Cancel asked by:  ann
Created:          2026-03-01 12:00:00 UTC (10m ago)
`},
	} {
		t.Run(name, func(t *testing.T) {
			task := newTask("t-1", tc.change)
			var out bytes.Buffer
			if err := describe(&out, &task, now); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestList(t *testing.T) {
	older := newTask("t-old", completed(`{"content":[]}`))
	newer := newTask("t-new", func(t *v1alpha1.MCPTask) {
		t.CreationTimestamp = metav1.NewTime(created.Add(9 * time.Minute))
		t.Namespace = "b"
		t.Status = v1alpha1.MCPTaskStatus{}
	})
	for name, tc := range map[string]struct {
		namespaces bool
		want       string
	}{
		"one namespace": {false, `
TASK    TOOL            STATE       AGE   MESSAGE
t-new   run-migration   working     60s   Accepted; waiting to be started.
t-old   run-migration   completed   10m   Done
`},
		"all namespaces": {true, `
NAMESPACE   TASK    TOOL            STATE       AGE   MESSAGE
b           t-new   run-migration   working     60s   Accepted; waiting to be started.
team-a      t-old   run-migration   completed   10m   Done
`},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := list(&out, []v1alpha1.MCPTask{older, newer}, tc.namespaces, now); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPrintResult(t *testing.T) {
	const good = `{"content":[{"type":"text","text":"first\nsecond"},{"type":"resource_link","uri":"mcptasks:///t-1/log"},` +
		`{"type":"image","mimeType":"image/png","data":"AA=="}]}`
	for name, tc := range map[string]struct {
		change func(*v1alpha1.MCPTask)
		json   bool
		want   string
		err    string
	}{
		"text": {
			change: completed(good),
			want:   "first\nsecond\n[more at mcptasks:///t-1/log]\n[image image/png; see --json]\n",
		},
		"link to its own log": {
			change: func(t *v1alpha1.MCPTask) {
				completed(`{"content":[{"type":"text","text":"end"},{"type":"resource_link","uri":"mcptasks:///` + t.Name + `/log"}]}`)(t)
				t.Status.Log = &v1alpha1.LogReference{Pod: "t-1-x", Container: "main"}
			},
			want: "end\n[all of it, while the Job is kept: kubectl logs -n team-a t-1-x -c main]\n",
		},
		"json": {change: completed(good), json: true, want: good + "\n"},
		"the tool's own error": {
			change: completed(`{"content":[{"type":"text","text":"syntax error"}],"isError":true}`),
			want:   "syntax error\n", err: "the tool ended with an error",
		},
		"none yet": {err: "no result yet: the task is working: Running"},
		"never": {
			change: func(t *v1alpha1.MCPTask) {
				t.Status.State, t.Status.Error = v1alpha1.StateFailed, &v1alpha1.TaskError{Code: -32603, Message: "no such image"}
			},
			err: "the call could not be carried out: no such image",
		},
		"cancelled": {
			change: func(t *v1alpha1.MCPTask) { t.Status.State, t.Status.Message = v1alpha1.StateCancelled, "by ann" },
			err:    "the task was cancelled: by ann",
		},
		"broken record": {change: completed(`[]`), err: "not a CallToolResult"},
	} {
		t.Run(name, func(t *testing.T) {
			task := newTask("t-1", tc.change)
			var out bytes.Buffer
			err := printResult(&out, &task, tc.json, now)
			if out.String() != tc.want {
				t.Errorf("output %q, want %q", out.String(), tc.want)
			}
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
		})
	}
}
