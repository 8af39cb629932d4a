package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/task"
)

// announce tells about a change of a task that has been written: always in the log and the metrics, and as an event where
// somebody may want to look into it. What goes well, and what goes wrong inside of a tool, is on the task itself and makes no
// event.
func (c *taskController) announce(ctx context.Context, t *v1alpha1.MCPTask, v task.Verdict) {
	log := ctrl.LoggerFrom(ctx).WithValues("state", t.Status.State, "reason", t.Status.Reason, "rule", v.Rule)
	if !t.Status.State.Terminal() {
		log.V(1).Info("Task goes on")
		return
	}
	log.Info("Task ended", "message", t.Status.Message)
	countFinished(t, v)
	switch t.Status.State {
	case v1alpha1.StateFailed:
		c.events.Eventf(t, nil, corev1.EventTypeWarning, t.Status.Reason, "End", "%s", t.Status.Message)
	case v1alpha1.StateCancelled:
		c.events.Eventf(t, nil, corev1.EventTypeNormal, t.Status.Reason, "End", "%s", t.Status.Message)
	}
}
