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
)

// dropSecret deletes the Secret with a task's arguments, which nothing needs once the task ends. It comes before the end is on
// the record, so that there is nothing left to do for a task that has ended, and whoever sees the end can rely on it: what is
// decided to be an end stays one, whatever becomes of this pass.
//
// Where this controller may not delete Secrets, because somebody has taken the right away, tasks end all the same; the garbage
// collector then deletes the Secret with the task that owns it.
func (c *taskController) dropSecret(ctx context.Context, t *v1alpha1.MCPTask) error {
	if t.Spec.SecretArguments == nil {
		return nil
	}
	err := c.client.Delete(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: job.SecretName(t.Name)},
	})
	switch {
	case err == nil:
		ctrl.LoggerFrom(ctx).V(1).Info("Deleted the Secret with the arguments")
	case apierrors.IsNotFound(err):
	case apierrors.IsForbidden(err):
		ctrl.LoggerFrom(ctx).Error(err, "May not delete the Secret with the arguments; it stays until the task is deleted")
	default:
		return fmt.Errorf("delete the Secret with the arguments: %w", err)
	}
	return nil
}
