package controller

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// expiryController deletes MCPTasks whose status.expiresAt has passed. What still belongs to them goes with them.
type expiryController struct {
	client client.Client
	live   client.Reader
	clock  clock.PassiveClock
}

// Reconcile deletes the task if it has expired, and otherwise comes back when it does.
func (c *expiryController) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	t := &v1alpha1.MCPTask{}
	if err := c.client.Get(ctx, req.NamespacedName, t); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if left, ok := c.left(t); !ok || left.RequeueAfter > 0 {
		return left, nil
	}
	// Once more past the cache: what is deleted does not come back.
	if err := c.live.Get(ctx, req.NamespacedName, t); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if left, ok := c.left(t); !ok || left.RequeueAfter > 0 {
		return left, nil
	}
	err := c.client.Delete(ctx, t,
		client.Preconditions{UID: &t.UID, ResourceVersion: &t.ResourceVersion},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(fmt.Errorf("delete the expired task: %w", err))
	}
	late := c.clock.Since(t.Status.ExpiresAt.Time)
	countExpired(late)
	ctrl.LoggerFrom(ctx).Info("Deleted the expired task", "late", late.String())
	return reconcile.Result{}, nil
}

// left is how long the task has to be kept yet; false: it does not expire, or is being deleted already.
func (c *expiryController) left(t *v1alpha1.MCPTask) (reconcile.Result, bool) {
	if t.Status.ExpiresAt == nil || !t.Status.State.Terminal() || t.DeletionTimestamp != nil {
		return reconcile.Result{}, false
	}
	return reconcile.Result{RequeueAfter: max(0, t.Status.ExpiresAt.Sub(c.clock.Now()))}, true
}
