//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/kube"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// mcpdo drives tasks by mcpdo, a client whose daemon keeps connections from one command to the next. What it does is looked for
// in the MCPTask objects, and what they say in what it prints.
type mcpdo struct {
	*bench
	home string
	// agent creates tasks for mcpdo to deal with: by itself it follows each task that it creates to the end.
	agent *mcpclient.Client
}

const (
	// connection is mcpdo's name for its connection.
	connection = "fixtures"
	// toolIsError is its exit code, and the Inspector's, for a result that is an error.
	toolIsError = 5
	// stepTimeout is how long one check may take, pods starting on a busy machine included.
	stepTimeout = 3 * time.Minute
)

func (b *bench) mcpdo(ctx context.Context, r *report) error {
	home, err := b.home("mcpdo")
	if err != nil {
		return err
	}
	m := &mcpdo{bench: b, home: home, agent: &mcpclient.Client{
		URL: b.url(), Token: b.token, Capabilities: map[string]any{"elicitation": map[string]any{}},
	}}
	r.say("mcpdo, protocol era modern:")
	// Also where something went wrong, the daemon must not be left behind.
	defer func() {
		r.check("mcpdo-daemon-stop", "the daemon ends", m.stop(context.WithoutCancel(ctx)))
	}()
	for _, step := range []struct {
		name, what string
		run        func(context.Context) error
	}{
		{"mcpdo-connect", "the newest revision is spoken", m.connect},
		{"mcpdo-call", "a task is followed to its result", m.call},
		{"mcpdo-tool-error", "a tool's failure is a tool error", m.toolError},
		{"mcpdo-tasks-get", "tasks/get says what is on the record", m.get},
		{"mcpdo-tasks-cancel", "tasks/cancel ends the task and its pod", m.cancel},
		{"mcpdo-tasks-update", "tasks/update answers one question after the other", m.update},
		{"mcpdo-elicitation", "a person's answer to a task's question is on the record, and the tool runs", m.answer},
		{"mcpdo-elicitation-decline", "a person declines a task's question, and nothing runs", m.decline},
		{"mcpdo-elicitation-call", "a person's answer to a call's question comes with the call", m.answerCall},
		{"mcpdo-unknown-task", "a task that does not exist is an error", m.unknown},
	} {
		if err := ctx.Err(); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, stepTimeout)
		r.check(step.name, step.what, step.run(ctx))
		cancel()
	}
	return nil
}

// run runs mcpdo and reads the JSON that it prints into out, unless that is nil. It wants the exit code.
func (m *mcpdo) run(ctx context.Context, code int, out any, args ...string) error {
	cmd := m.clients.node(ctx, m.home, m.clients.script(".bin/mcpdo"), append(args, "--format", "json")...)
	cmd.Env = append(cmd.Env, "MCP_INSPECTOR_SECRET_STORE=file") // and no keychain of the user's
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("run mcpdo: %w", err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		return fmt.Errorf("mcpdo %s ended with %d, want %d: %s%s", args[0], got, code, &stdout, &stderr)
	}
	if out == nil {
		return nil
	}
	printed := stdout.Bytes()
	if len(printed) == 0 { // errors
		printed = stderr.Bytes()
	}
	if err := json.Unmarshal(printed, out); err != nil {
		return fmt.Errorf("mcpdo %s printed %q: %w", args[0], printed, err)
	}
	return nil
}

// request runs a command that goes to the endpoint.
func (m *mcpdo) request(ctx context.Context, code int, out any, args ...string) error {
	return m.run(ctx, code, out, append(args, "--connection", connection)...)
}

func (m *mcpdo) connect(ctx context.Context) error {
	var connected struct{ ProtocolEra string }
	err := m.run(ctx, 0, &connected, "connect", m.url(), "--connection", connection, "--transport", "http", "--era", modern,
		"--header", "Authorization: Bearer "+m.token)
	if err == nil && connected.ProtocolEra != modern {
		err = fmt.Errorf("the era is %q", connected.ProtocolEra)
	}
	return err
}

func (m *mcpdo) call(ctx context.Context) error {
	var result mcpclient.Result
	err := m.request(ctx, 0, &result, "tools/call", "slow_compute", "seconds:=1", "label:=done by mcpdo")
	if err == nil && !strings.HasSuffix(result.Text(), "done by mcpdo: done") {
		err = fmt.Errorf("the result is %q", result.Text())
	}
	return err
}

func (m *mcpdo) toolError(ctx context.Context) error {
	var result mcpclient.Result
	err := m.request(ctx, toolIsError, &result, "tools/call", "failing_job")
	if err == nil && (!result.IsError || !strings.Contains(result.Text(), "The disk is full.")) {
		err = fmt.Errorf("the result is %+v", result)
	}
	return err
}

// shown is a task as mcpdo shows it.
type shown struct {
	Task struct {
		Status, StatusMessage string
		Raw                   mcpclient.Task
	}
}

func (m *mcpdo) get(ctx context.Context) error {
	id, err := m.create(ctx, "slow_compute", map[string]any{"seconds": 300, "label": "looked at"})
	if err != nil {
		return err
	}
	record, err := m.record(ctx, id, func(t *v1alpha1.MCPTask) bool { return t.Status.Reason == v1alpha1.ReasonRunning })
	if err != nil {
		return err
	}
	var task shown
	if err := m.request(ctx, 0, &task, "tasks/get", id); err != nil {
		return err
	}
	if task.Task.Status != string(record.Status.State) || task.Task.StatusMessage != record.Status.Message {
		return fmt.Errorf("mcpdo shows %s (%s), the record says %s (%s)",
			task.Task.Status, task.Task.StatusMessage, record.Status.State, record.Status.Message)
	}
	return m.agent.Cancel(ctx, id)
}

func (m *mcpdo) cancel(ctx context.Context) error {
	id, err := m.create(ctx, "slow_compute", map[string]any{"seconds": 300, "label": "cancelled"})
	if err != nil {
		return err
	}
	running := func(t *v1alpha1.MCPTask) bool { return t.Status.Reason == v1alpha1.ReasonRunning }
	if _, err := m.record(ctx, id, running); err != nil {
		return err
	}
	var said struct{ Cancelled bool }
	if err := m.request(ctx, 0, &said, "tasks/cancel", id); err != nil {
		return err
	}
	record, err := m.ended(ctx, id)
	switch {
	case err != nil:
		return err
	case !said.Cancelled || record.Spec.Cancel == nil || record.Status.State != v1alpha1.StateCancelled || record.Status.Job == nil:
		return fmt.Errorf("mcpdo says %+v, the record %s with the wish %v", said, record.Status.State, record.Spec.Cancel)
	}
	pods := &corev1.PodList{}
	ofJob := client.MatchingLabels{"batch.kubernetes.io/job-name": record.Status.Job.Name}
	if err := m.cluster.List(ctx, pods, client.InNamespace(tenant), ofJob); err != nil {
		return err
	}
	if len(pods.Items) > 0 {
		return fmt.Errorf("%d pods are left", len(pods.Items))
	}
	return nil
}

func (m *mcpdo) update(ctx context.Context) error {
	id, err := m.create(ctx, "multi_input", map[string]any{})
	if err != nil {
		return err
	}
	asks := func(t *v1alpha1.MCPTask) bool { return t.Status.State == v1alpha1.StateInputRequired }
	if _, err := m.record(ctx, id, asks); err != nil {
		return err
	}
	var said struct{ Updated bool }
	name := `{"user_name":{"action":"accept","content":{"name":"mcpdo"}}}`
	if err := m.request(ctx, 0, &said, "tasks/update", id, "--input-responses", name); err != nil {
		return err
	}
	var half shown
	if err := m.request(ctx, 0, &half, "tasks/get", id); err != nil {
		return err
	}
	open := half.Task.Raw.InputRequests
	if !said.Updated || half.Task.Status != string(v1alpha1.StateInputRequired) || len(open) != 1 || open["go_on"] == nil {
		return fmt.Errorf("after one answer (%+v) the task is %s and asks %v", said, half.Task.Status, open)
	}
	goOn := `{"go_on":{"action":"accept","content":{"confirm":true}}}`
	if err := m.request(ctx, 0, &said, "tasks/update", id, "--input-responses", goOn); err != nil {
		return err
	}
	record, err := m.ended(ctx, id)
	if err != nil {
		return err
	}
	for key, content := range map[string]string{"user_name": `{"name":"mcpdo"}`, "go_on": `{"confirm":true}`} {
		if answer := record.Spec.Answers[key]; answer.Action != v1alpha1.AnswerAccept || answer.Content != content {
			return fmt.Errorf("the answer to %s is on the record as %+v", key, answer)
		}
	}
	return succeeded(record, "Hello, mcpdo!")
}

// pending is a question that mcpdo wants a person to answer.
type pending struct {
	ElicitationPending struct{ ElicitationID, Message, Origin string }
}

// ask calls a tool, which has to ask something, and returns the question's id.
func (m *mcpdo) ask(ctx context.Context, message, origin string, call ...string) (string, error) {
	var asked pending
	if err := m.request(ctx, 0, &asked, append([]string{"tools/call"}, call...)...); err != nil {
		return "", err
	}
	question := asked.ElicitationPending
	if question.ElicitationID == "" || question.Message != message || question.Origin != origin {
		return "", fmt.Errorf("mcpdo asks %+v, want %q of %s", question, message, origin)
	}
	return question.ElicitationID, nil
}

// Where mcpdo says that questions come from.
const (
	ofTask = "task-input-required"
	ofCall = "input-required"
)

func (m *mcpdo) answer(ctx context.Context) error {
	id, err := m.ask(ctx, "Delete answered.txt?", ofTask, "confirm_delete", "filename:=answered.txt")
	if err != nil {
		return err
	}
	var result mcpclient.Result
	if err := m.request(ctx, 0, &result, "elicitation/respond", id, "confirm:=true"); err != nil {
		return err
	}
	if result.Text() != "Deleted answered.txt" {
		return fmt.Errorf("the result is %q", result.Text())
	}
	record, err := m.newest(ctx, "confirm-delete", `{"filename":"answered.txt"}`)
	if err != nil {
		return err
	}
	if answer := record.Spec.Answers["confirm"]; answer.Action != v1alpha1.AnswerAccept || answer.Content != `{"confirm":true}` {
		return fmt.Errorf("the answer is on the record as %+v", answer)
	}
	return succeeded(record, "Deleted answered.txt")
}

func (m *mcpdo) decline(ctx context.Context) error {
	id, err := m.ask(ctx, "Delete declined.txt?", ofTask, "confirm_delete", "filename:=declined.txt")
	if err != nil {
		return err
	}
	var result mcpclient.Result
	if err := m.request(ctx, toolIsError, &result, "elicitation/respond", id, "--decline"); err != nil {
		return err
	}
	record, err := m.newest(ctx, "confirm-delete", `{"filename":"declined.txt"}`)
	if err != nil {
		return err
	}
	status := record.Status
	if status.State != v1alpha1.StateCompleted || status.Reason != v1alpha1.ReasonDeclined || status.Job != nil {
		return fmt.Errorf("the record is %s (%s) with the Job %v", status.State, status.Reason, status.Job)
	}
	return nil
}

func (m *mcpdo) answerCall(ctx context.Context) error {
	id, err := m.ask(ctx, "What is your name?", ofCall, "test_tool_with_task")
	if err != nil {
		return err
	}
	var result mcpclient.Result
	if err := m.request(ctx, 0, &result, "elicitation/respond", id, "name:=mcpdo"); err != nil {
		return err
	}
	if result.Text() != "Hello, mcpdo!" {
		return fmt.Errorf("the result is %q", result.Text())
	}
	record, err := m.newest(ctx, "test-tool-with-task", `{}`)
	if err != nil {
		return err
	}
	if answer := record.Spec.CallAnswers["user_name"]; answer.Content != `{"name":"mcpdo"}` {
		return fmt.Errorf("the answer is on the record as %+v", answer)
	}
	return succeeded(record, "Hello, mcpdo!")
}

func (m *mcpdo) unknown(ctx context.Context) error {
	var said struct{ Error struct{ Message string } }
	err := m.request(ctx, 1, &said, "tasks/get", "t-aaaaaaaaaaaaaaaaaaaaaaaaaa")
	if err == nil && !strings.Contains(said.Error.Message, "Task not found") {
		err = fmt.Errorf("mcpdo says %q", said.Error.Message)
	}
	return err
}

// create makes a task for mcpdo.
func (m *mcpdo) create(ctx context.Context, tool string, arguments map[string]any) (string, error) {
	call, err := m.agent.CallTool(ctx, tool, arguments)
	if err != nil {
		return "", fmt.Errorf("call %s: %w", tool, err)
	}
	if call.Task == nil {
		return "", fmt.Errorf("%s is no task: %+v", tool, call)
	}
	return call.Task.TaskID, nil
}

// record waits until the MCPTask of that id is as wanted.
func (m *mcpdo) record(ctx context.Context, id string, wanted func(*v1alpha1.MCPTask) bool) (*v1alpha1.MCPTask, error) {
	task := &v1alpha1.MCPTask{}
	key := types.NamespacedName{Namespace: tenant, Name: id}
	if err := m.cluster.Wait(ctx, task, key, func() bool { return wanted(task) }); err != nil {
		return nil, fmt.Errorf("the record of task %s is %s (%s): %w", id, task.Status.State, task.Status.Message, err)
	}
	return task, nil
}

func (m *mcpdo) ended(ctx context.Context, id string) (*v1alpha1.MCPTask, error) {
	return m.record(ctx, id, func(t *v1alpha1.MCPTask) bool { return t.Status.State.Terminal() })
}

// newest is the record of the last call of a tool with these arguments.
func (m *mcpdo) newest(ctx context.Context, tool, arguments string) (*v1alpha1.MCPTask, error) {
	list := &v1alpha1.MCPTaskList{}
	if err := m.cluster.List(ctx, list, client.InNamespace(tenant)); err != nil {
		return nil, err
	}
	list.Items = slices.DeleteFunc(list.Items, func(t v1alpha1.MCPTask) bool {
		return t.Spec.Tool.Name != tool || t.Spec.Arguments != arguments
	})
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("there is no record of a call of %s with %s", tool, arguments)
	}
	newest := slices.MaxFunc(list.Items, func(a, b v1alpha1.MCPTask) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return &newest, nil
}

// succeeded says what is wrong with a record that should have this text as its result.
func succeeded(record *v1alpha1.MCPTask, text string) error {
	if record.Status.Reason != v1alpha1.ReasonSucceeded || !strings.Contains(record.Status.Result, strconv.Quote(text)) {
		return fmt.Errorf("the record is %s (%s) with the result %s", record.Status.State, record.Status.Reason, record.Status.Result)
	}
	return nil
}

// stop ends the daemon, and waits until it has.
func (m *mcpdo) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	var daemon struct{ PID int }
	if err := m.run(ctx, 0, &daemon, "daemon", "status"); err != nil {
		return err
	}
	if daemon.PID == 0 {
		return nil // it never began
	}
	if err := m.run(ctx, 0, nil, "daemon", "stop"); err != nil {
		return errors.Join(err, kill(daemon.PID))
	}
	err := kube.Poll(ctx, func(context.Context) (bool, error) { return !alive(daemon.PID), nil })
	if err != nil {
		return errors.Join(fmt.Errorf("the daemon did not end by itself: %w", err), kill(daemon.PID))
	}
	return nil
}

// alive reports whether a process still runs.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	// The state follows the name, which is in parentheses; Z is one that has ended and that nobody has asked about.
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func kill(pid int) error {
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return process.Kill()
}
