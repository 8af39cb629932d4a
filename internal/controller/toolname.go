package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

// checkName finds the tool whose name wins over this one's: one of the endpoint's own, a catalog tool that is offered in this
// namespace, or an older tool of the same namespace. It does not matter whether the winner is Ready; a name must not change hands
// with a typo.
func (c *toolController) checkName(ctx context.Context, tool *v1alpha1.MCPTool) (*job.Problem, error) {
	if slices.Contains(c.reserved, toolName(tool)) {
		return conflict("The endpoint has a tool of its own with the name %s (companion tools), and it wins. "+
			"Give this one another spec.name.", toolName(tool)), nil
	}
	var list v1alpha1.MCPToolList
	if err := c.client.List(ctx, &list, client.MatchingFields{byToolName: toolName(tool)}); err != nil {
		return nil, fmt.Errorf("list the tools of the same name: %w", err)
	}
	for i := range list.Items {
		other := &list.Items[i]
		switch {
		case other.UID == tool.UID:
		case other.Namespace == tool.Namespace && older(other, tool):
			return conflict("The older MCPTool %s has the name %s too. Give this one another spec.name.", other.Name, toolName(tool)), nil
		case other.Namespace == c.catalog && tool.Namespace != c.catalog:
			offered, err := c.offered(ctx, other, tool.Namespace)
			if err != nil {
				return nil, err
			}
			if offered {
				return conflict("The catalog's MCPTool %s has the name %s too, and it wins. Give this one another spec.name.",
					other.Name, toolName(tool)), nil
			}
		}
	}
	return nil, nil
}

// rivals maps a tool to those whose name it may win or lose.
func (c *toolController) rivals(ctx context.Context, obj client.Object) []reconcile.Request {
	tool, ok := obj.(*v1alpha1.MCPTool)
	if !ok {
		return nil
	}
	same := client.MatchingFields{byToolName: toolName(tool)}
	if tool.Namespace == c.catalog {
		return c.requests(ctx, same)
	}
	return c.requests(ctx, same, client.InNamespace(tool.Namespace))
}

// offered reports whether a catalog tool is offered to the tenant of a namespace.
func (c *toolController) offered(ctx context.Context, tool *v1alpha1.MCPTool, namespace string) (bool, error) {
	if tool.Spec.TenantSelector == nil {
		return true, nil
	}
	ns := &corev1.Namespace{}
	if err := c.client.Get(ctx, client.ObjectKey{Name: namespace}, ns); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("read the namespace: %w", err)
	}
	// A selector that is not valid picks nobody.
	selector, err := metav1.LabelSelectorAsSelector(tool.Spec.TenantSelector)
	return err == nil && selector.Matches(labels.Set(ns.Labels)), nil
}

// older orders tools by age, and those of the same second by their names.
func older(a, b *v1alpha1.MCPTool) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name)) < 0
}

func conflict(format string, args ...any) *job.Problem {
	return &job.Problem{Reason: v1alpha1.ToolReasonNameConflict, Message: fmt.Sprintf(format, args...)}
}
