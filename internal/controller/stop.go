package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/internal/task"
)

// stop deletes the task's Job in the foreground: it stays until its pods are gone, so that its absence says that nothing runs any
// more. SIGTERM and the grace period are the template's business.
func (c *taskController) stop(ctx context.Context, o *task.Observation) error {
	err := c.client.Delete(ctx, o.Job,
		client.Preconditions{UID: &o.Job.UID}, client.PropagationPolicy(metav1.DeletePropagationForeground))
	// Not found, or another Job by now: this one is gone, as it should be.
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete the Job: %w", err)
	}
	ctrl.LoggerFrom(ctx).Info("Deleted the Job")
	o.Stopped = true
	return nil
}
