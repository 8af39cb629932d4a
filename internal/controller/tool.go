package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

// toolController says of each MCPTool whether agents can use it: its Ready condition.
type toolController struct {
	client  client.Client
	clock   clock.PassiveClock
	catalog string
	// reserved are the names that no tool can have.
	reserved []string
}

// Reconcile checks a tool and writes its status if that changed.
func (c *toolController) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	tool := &v1alpha1.MCPTool{}
	if err := c.client.Get(ctx, req.NamespacedName, tool); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if tool.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	problem, err := c.check(ctx, tool)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, c.record(ctx, tool, problem)
}

// check says why the tool cannot be used; nil: it can. An error says nothing about the tool.
func (c *toolController) check(ctx context.Context, tool *v1alpha1.MCPTool) (*job.Problem, error) {
	if problem := c.checkSelector(tool); problem != nil {
		return problem, nil
	}
	if err := job.Check(tool); err != nil {
		var problem *job.Problem
		if errors.As(err, &problem) {
			return problem, nil
		}
		return nil, fmt.Errorf("check the tool: %w", err)
	}
	if problem, err := c.checkName(ctx, tool); problem != nil || err != nil {
		return problem, err
	}
	return c.dryRun(ctx, tool)
}

// checkSelector refuses a tenantSelector where it has no meaning, or has none at all.
func (c *toolController) checkSelector(tool *v1alpha1.MCPTool) *job.Problem {
	selector := tool.Spec.TenantSelector
	if selector == nil {
		return nil
	}
	if tool.Namespace != c.catalog {
		return &job.Problem{Reason: v1alpha1.ToolReasonInvalidSelector, Message: fmt.Sprintf(
			"tenantSelector only has a meaning in the catalog namespace %s. Remove it: here the tool is this tenant's own.", c.catalog)}
	}
	if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
		return &job.Problem{Reason: v1alpha1.ToolReasonInvalidSelector, Message: "tenantSelector is not valid: " + err.Error()}
	}
	return nil
}

// dryRun has the API server, with all its policies, look at the Job of an example call.
func (c *toolController) dryRun(ctx context.Context, tool *v1alpha1.MCPTool) (*job.Problem, error) {
	j, err := exampleJob(tool)
	if problem := (*job.Problem)(nil); errors.As(err, &problem) && problem.Reason == v1alpha1.ToolReasonInvalidBinding {
		return problem, nil
	}
	if err != nil {
		return &job.Problem{
			Reason: v1alpha1.ToolReasonInvalidTemplate, Message: "No Job can be made of the template: " + err.Error(),
		}, nil
	}
	err = c.client.Create(ctx, j, client.DryRunAll, client.FieldOwner(Name))
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return nil, nil
	// A full quota refuses calls, one by one, as long as it is full; it does not make the tool wrong.
	case quotaFull(err):
		return nil, nil
	case refusal(err) != nil:
		return &job.Problem{
			Reason: v1alpha1.ToolReasonInvalidTemplate, Message: "The cluster refuses the Job: " + statusMessage(err),
		}, nil
	}
	return nil, fmt.Errorf("dry-run the Job: %w", err)
}

// record writes the tool's status, if that changes it.
func (c *toolController) record(ctx context.Context, tool *v1alpha1.MCPTool, problem *job.Problem) error {
	changed := tool.DeepCopy()
	changed.Status.Name = toolName(tool)
	changed.Status.ObservedGeneration = tool.Generation
	ready := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: tool.Generation,
		Reason: v1alpha1.ToolReasonReady, Message: "Agents can call the tool.",
		LastTransitionTime: metav1.NewTime(c.clock.Now()),
	}
	if problem != nil {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, problem.Reason, problem.Message
	}
	meta.SetStatusCondition(&changed.Status.Conditions, ready)
	if equality.Semantic.DeepEqual(tool.Status, changed.Status) {
		return nil
	}
	if err := c.client.Status().Patch(ctx, changed, client.MergeFrom(tool), client.FieldOwner(Name)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write the status of the tool: %w", err))
	}
	ctrl.LoggerFrom(ctx).Info("Checked the tool", "ready", ready.Status, "reason", ready.Reason)
	return nil
}

// toolName is the tool's name in the agents' list.
func toolName(tool *v1alpha1.MCPTool) string { return cmp.Or(tool.Spec.Name, tool.Name) }

// toolsIn maps a namespace to its tools: which catalog tools they meet depends on its labels.
func (c *toolController) toolsIn(ctx context.Context, namespace client.Object) []reconcile.Request {
	return c.requests(ctx, client.InNamespace(namespace.GetName()))
}

func (c *toolController) requests(ctx context.Context, opts ...client.ListOption) []reconcile.Request {
	var list v1alpha1.MCPToolList
	if err := c.client.List(ctx, &list, opts...); err != nil {
		// Reads of the cache only fail while the program ends.
		ctrl.LoggerFrom(ctx).Error(err, "Cannot list the tools")
		return nil
	}
	requests := make([]reconcile.Request, len(list.Items))
	for i := range list.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&list.Items[i])
	}
	return requests
}
