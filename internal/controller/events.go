package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/task"
)

// announce tells about a change of a task that has been written: always in the log and the metrics, and as an event where
// somebody may want to look into it. What goes well, and what goes wrong inside of a tool, is on the task itself and makes no
// event. Nor does what ends with its namespace, which takes none any more.
func (c *taskController) announce(ctx context.Context, t *v1alpha1.MCPTask, v task.Verdict) {
	log := ctrl.LoggerFrom(ctx).WithValues("state", t.Status.State, "reason", t.Status.Reason, "rule", v.Rule)
	if !t.Status.State.Terminal() {
		log.V(1).Info("Task goes on")
		return
	}
	log.Info("Task ended", "message", t.Status.Message)
	countFinished(t, v)
	if c.namespaceEnds(ctx, t.Namespace) {
		return
	}
	switch t.Status.State {
	case v1alpha1.StateFailed:
		c.events.Eventf(t, nil, corev1.EventTypeWarning, t.Status.Reason, "End", "%s", t.Status.Message)
	case v1alpha1.StateCancelled:
		c.events.Eventf(t, nil, corev1.EventTypeNormal, t.Status.Reason, "End", "%s", t.Status.Message)
	}
}

// namespaceEnds reports whether a namespace is being deleted, or is gone, as far as the cache knows.
func (c *taskController) namespaceEnds(ctx context.Context, name string) bool {
	namespace := &corev1.Namespace{}
	err := c.client.Get(ctx, client.ObjectKey{Name: name}, namespace)
	return apierrors.IsNotFound(err) || err == nil && namespace.DeletionTimestamp != nil
}
