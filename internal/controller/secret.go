package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/task"
)

// dropSecret deletes the Secret with a task's arguments if v ends the task, for then nothing needs it any more. It comes before
// the end is on the record, so that there is nothing left to do for a task that has ended, and whoever sees the end can rely on
// it: what is decided to be an end stays one, whatever becomes of this pass.
//
// A right that is missing holds the end up, until somebody grants it. A policy that protects what has the Secret's name does
// not: it is nothing of ours, or goes with the task that owns it.
func (c *taskController) dropSecret(ctx context.Context, t *v1alpha1.MCPTask, v task.Verdict) error {
	if t.Spec.SecretArguments == nil || !v.State.Terminal() || t.Status.State.Terminal() {
		return nil
	}
	err := c.client.Delete(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: job.SecretName(t.Name)},
	})
	switch {
	case err == nil:
		ctrl.LoggerFrom(ctx).V(1).Info("Deleted the Secret with the arguments")
	case apierrors.IsNotFound(err):
	case lacking(err) == "" && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)):
		ctrl.LoggerFrom(ctx).Error(err, "A policy keeps the Secret with the arguments")
	default:
		return fmt.Errorf("delete the Secret with the arguments: %w", err)
	}
	return nil
}
