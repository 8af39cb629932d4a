package controller

import (
	"context"
	"fmt"

	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/question"
	"github.com/mcptasks/mcptasks/internal/task"
)

// plan evaluates the questions of the tool for a task that was read past the cache. What goes wrong in it is the tool author's
// doing: it ends the task.
func (c *taskController) plan(o *task.Observation) {
	blueprint, err := c.blueprints.of(o.Tool)
	if err != nil {
		o.PlanProblem = err.Error()
		return
	}
	plan, err := blueprint.Questions().Plan(v1alpha1.AskTask, []byte(o.Task.Spec.Arguments), question.AnswersOf(o.Task))
	if err != nil {
		o.PlanProblem = err.Error()
		return
	}
	o.Plan = &plan
}

// waitingFor maps a tool to the tasks that ask its questions: they end when it is changed or deleted, and whoever was about to
// answer is told so at once.
func (c *taskController) waitingFor(ctx context.Context, tool client.Object) []reconcile.Request {
	var list v1alpha1.MCPTaskList
	key := client.ObjectKeyFromObject(tool).String()
	if err := c.client.List(ctx, &list, client.MatchingFields{byWaitingFor: key}); err != nil {
		// Reads of the cache only fail while the program ends.
		ctrl.LoggerFrom(ctx).Error(err, "Cannot list the tasks that wait for answers")
		return nil
	}
	requests := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
	}
	return requests
}

// waitingForIndex is the tool whose questions a task asks now.
func waitingForIndex(o client.Object) []string {
	t, ok := o.(*v1alpha1.MCPTask)
	if !ok || t.Status.State != v1alpha1.StateInputRequired {
		return nil
	}
	return []string{client.ObjectKey{Namespace: t.Spec.Tool.Namespace, Name: t.Spec.Tool.Name}.String()}
}

// blueprints keeps tools compiled: compiling one takes longer than making a Job of it or evaluating its questions, and tools are
// called more than once.
type blueprints struct{ kept *lru.Cache } // types.UID → compiled

// maxBlueprints bounds the tools that are kept compiled.
const maxBlueprints = 1024

func newBlueprints() *blueprints { return &blueprints{kept: lru.New(maxBlueprints)} }

// compiled is a tool at one version. Its annotations count, so that the generation would not do.
type compiled struct {
	version   string
	blueprint *job.Blueprint
	err       error
}

func (b *blueprints) of(tool *v1alpha1.MCPTool) (*job.Blueprint, error) {
	if value, ok := b.kept.Get(tool.UID); ok {
		if known, ok := value.(compiled); ok && known.version == tool.ResourceVersion {
			return known.blueprint, known.err
		}
	}
	blueprint, err := job.NewBlueprint(tool)
	if err != nil {
		err = fmt.Errorf("the tool cannot be used: %w", err)
	}
	b.kept.Add(tool.UID, compiled{version: tool.ResourceVersion, blueprint: blueprint, err: err})
	return blueprint, err
}
