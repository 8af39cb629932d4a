//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/kube"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// lookEvery is how often the agent asks for a task's state: more often than a real one would, so that the reader sees all states.
const lookEvery = 150 * time.Millisecond

// patience is how long a task may take to get to where the demo wants it.
const patience = 3 * time.Minute

// agent is an agent that speaks the Tasks extension, with a reader looking over its shoulder.
type agent struct {
	s   *screen
	p   *place
	mcp *mcpclient.Client
}

func newAgent(ctx context.Context, s *screen, p *place) (*agent, error) {
	url, err := p.endpoint(ctx)
	if err != nil {
		return nil, err
	}
	token, err := p.cluster.Token(ctx, tenant, tenantsAgent)
	if err != nil {
		return nil, err
	}
	return &agent{s: s, p: p, mcp: &mcpclient.Client{URL: url, Token: token}}, nil
}

// work is the main job.
func (a *agent) work(ctx context.Context) error {
	for _, part := range []func(context.Context) error{a.lists, a.migrates, a.hasNothingToDo, a.meetsBadSQL, a.cancels} {
		if err := part(ctx); err != nil {
			return advise(err, "see what the controller and the endpoint say: "+
				"kubectl logs -n %s -l app.kubernetes.io/name=mcptasks --prefix", kube.Namespace)
		}
	}
	return nil
}

func (a *agent) lists(ctx context.Context) error {
	a.s.heading("An agent asks what it can do")
	a.s.say("It is the service account %q of %s, and speaks MCP to %s.", tenantsAgent, tenant, a.mcp.URL)
	a.s.gap()
	a.s.request("tools/list", "")
	tools, err := a.mcp.ListTools(ctx)
	if err != nil {
		return err
	}
	for _, tool := range tools {
		a.s.say("  %-18s %s", tool.Name, tool.Title)
	}
	return nil
}

func (a *agent) migrates(ctx context.Context) error {
	a.s.heading("It migrates staging")
	id, err := a.call(ctx, "staging")
	if err != nil {
		return err
	}
	if _, err := a.follow(ctx, id, (*mcpclient.Task).Terminal); err != nil {
		return err
	}
	if err := a.jobComplete(ctx, id); err != nil {
		return err
	}
	a.s.gap()
	a.s.say("The task is an MCPTask, its work is a Job, and the Job's pod did it:")
	if err := a.p.show(ctx, a.s, "get", "mcptasks", "-n", tenant, id); err != nil {
		return err
	}
	return a.p.show(ctx, a.s, "get", "jobs,pods", "-n", tenant, "-l", v1alpha1.LabelTask+"="+id)
}

func (a *agent) hasNothingToDo(ctx context.Context) error {
	a.s.heading("It calls again: nothing to do")
	id, err := a.call(ctx, "staging")
	if err != nil {
		return err
	}
	_, err = a.follow(ctx, id, (*mcpclient.Task).Terminal)
	return err
}

func (a *agent) meetsBadSQL(ctx context.Context) error {
	a.s.heading("It migrates preview, whose fourth migration has a mistake")
	id, err := a.call(ctx, "preview")
	if err != nil {
		return err
	}
	task, err := a.follow(ctx, id, (*mcpclient.Task).Terminal)
	if err != nil {
		return err
	}
	if task.Result == nil || !task.Result.IsError {
		return fmt.Errorf("the bad migration of preview did not come back as a tool error: %s", task.StatusMessage)
	}
	a.s.gap()
	a.s.say("A tool that fails is a completed task with isError, so the agent can read the reason and act on it.")
	return nil
}

func (a *agent) cancels(ctx context.Context) error {
	a.s.heading("It migrates production, and thinks better of it")
	a.s.say("Production's fourth migration takes a minute.")
	id, err := a.call(ctx, "production")
	if err != nil {
		return err
	}
	if _, err := a.follow(ctx, id, func(t *mcpclient.Task) bool { return t.Terminal() || a.running(ctx, id) }); err != nil {
		return err
	}
	pods := []string{"get", "pods", "-n", tenant, "-l", v1alpha1.LabelTask + "=" + id}
	if err := a.p.show(ctx, a.s, pods...); err != nil {
		return err
	}
	a.s.gap()
	a.s.request("tasks/cancel", id)
	if err := a.mcp.Cancel(ctx, id); err != nil {
		return err
	}
	task, err := a.follow(ctx, id, (*mcpclient.Task).Terminal)
	if err != nil {
		return err
	}
	if task.Status != "cancelled" {
		return fmt.Errorf("the cancelled task is %s: %s", task.Status, task.StatusMessage)
	}
	a.s.gap()
	a.s.say("The pod is gone, and its transaction with it:")
	if err := a.p.show(ctx, a.s, pods...); err != nil {
		return err
	}
	a.s.gap()
	return a.asks(ctx, "migration_status", map[string]any{"environment": "production"})
}

// call calls run_migration, which has to become a task.
func (a *agent) call(ctx context.Context, environment string) (string, error) {
	arguments := map[string]any{"environment": environment}
	if err := a.showCall("run_migration", arguments); err != nil {
		return "", err
	}
	call, err := a.mcp.CallTool(ctx, "run_migration", arguments)
	if err != nil {
		return "", err
	}
	if call.Task == nil {
		return "", fmt.Errorf("run_migration did not become a task: %s", call.Result.Text())
	}
	a.s.say("  task %s", call.Task.TaskID)
	return call.Task.TaskID, nil
}

// asks calls a tool that answers at once.
func (a *agent) asks(ctx context.Context, tool string, arguments map[string]any) error {
	if err := a.showCall(tool, arguments); err != nil {
		return err
	}
	call, err := a.mcp.CallTool(ctx, tool, arguments)
	if err != nil {
		return err
	}
	if call.Result == nil || call.Result.IsError {
		return fmt.Errorf("%s did not answer well: %+v", tool, call)
	}
	a.s.quote(call.Result.Text())
	return nil
}

func (a *agent) showCall(tool string, arguments map[string]any) error {
	text, err := json.Marshal(arguments)
	if err != nil {
		return err
	}
	a.s.request("tools/call", tool+" "+string(bytes.TrimSpace(text)))
	return nil
}

// follow asks for the task until done says so and shows its states as they change, and its result where it has one.
func (a *agent) follow(ctx context.Context, id string, done func(*mcpclient.Task) bool) (*mcpclient.Task, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var seen string
	for {
		task, err := a.mcp.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if now := task.Status + task.StatusMessage; now != seen {
			seen = now
			a.s.state(time.Now(), task)
		}
		if done(task) {
			return task, a.outcome(task)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("task %s is still %s (%s): %w", id, task.Status, task.StatusMessage, ctx.Err())
		}
	}
}

// outcome shows a result. A task that failed ends the demo.
func (a *agent) outcome(task *mcpclient.Task) error {
	switch {
	case task.Status == "failed":
		return fmt.Errorf("task %s failed: %s", task.TaskID, task.StatusMessage)
	case task.Result != nil && task.Result.IsError:
		a.s.say("  result, isError:")
		a.s.quote(task.Result.Text())
	case task.Result != nil:
		a.s.say("  result:")
		a.s.quote(task.Result.Text())
	}
	return nil
}

// jobComplete waits until Kubernetes, too, has noticed that the Job is done; the task's end does not wait for that.
func (a *agent) jobComplete(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	job := &batchv1.Job{}
	return a.p.cluster.Wait(ctx, job, taskKey(id), func() bool { return job.Status.CompletionTime != nil })
}

// running reports whether the task's container runs, which the wire says in words only.
func (a *agent) running(ctx context.Context, id string) bool {
	task := &v1alpha1.MCPTask{}
	err := a.p.cluster.Get(ctx, taskKey(id), task)
	return err == nil && task.Status.Reason == v1alpha1.ReasonRunning
}

// taskKey is where a task and its Job are.
func taskKey(id string) types.NamespacedName {
	return types.NamespacedName{Namespace: tenant, Name: id}
}
