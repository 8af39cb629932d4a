package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/task"
)

// launchWithin is how long after the beginning of a pass a Job may be created: as long as a lease lasts. A process that was held
// up for longer must not act on what it read before; another may have taken over, and the Job may have been and gone.
const launchWithin = LeaseDuration

// launch creates the task's Job. It only runs on a task that was read past the cache and has no Job on its record; the Job's name
// is the task's, so that whatever happens in between, a second one cannot be created.
func (c *taskController) launch(ctx context.Context, o *task.Observation) error {
	left := launchWithin - c.clock.Since(o.Now)
	if left <= 0 {
		return &notYetError{err: errors.New("held up since the task was read")}
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	j, err := c.build(o)
	if err != nil {
		var problem *job.Problem
		if errors.As(err, &problem) {
			o.Refusal = &task.Refusal{Reason: problem.Reason, Message: problem.Message}
			return nil
		}
		return fmt.Errorf("build the Job: %w", err)
	}
	err = c.client.Create(ctx, j, client.FieldOwner(Name))
	switch {
	case err == nil:
		ctrl.LoggerFrom(ctx).Info("Created the Job", "tool", o.Tool.Name)
		o.Job = j
		return nil
	case apierrors.IsAlreadyExists(err):
		return c.adopt(ctx, o)
	}
	if o.Refusal = refusal(err); o.Refusal != nil {
		return nil
	}
	o.Trouble = cmp.Or(lacking(err), statusMessage(err))
	return fmt.Errorf("create the Job: %w", err)
}

// build makes the Job. What is wrong with a tool, job.Build says in the words that are for tasks.
func (c *taskController) build(o *task.Observation) (*batchv1.Job, error) {
	blueprint, err := c.blueprints.of(o.Tool)
	if err != nil {
		return job.Build(o.Tool, o.Task)
	}
	return blueprint.Build(o.Task)
}

// adopt takes up the Job that an earlier pass created but could not record. A Job of the same name that is not the task's own is
// left alone.
func (c *taskController) adopt(ctx context.Context, o *task.Observation) error {
	existing := &batchv1.Job{}
	key := client.ObjectKey{Namespace: o.Task.Namespace, Name: job.Name(o.Task.Name)}
	if err := c.live.Get(ctx, key, existing); err != nil {
		return fmt.Errorf("read the Job that exists already: %w", err)
	}
	if metav1.IsControlledBy(existing, o.Task) {
		o.Job = existing
		return nil
	}
	o.Refusal = &task.Refusal{
		Reason:  v1alpha1.ReasonRejected,
		Message: fmt.Sprintf("A Job named %s exists already and is not this call's.", key.Name),
	}
	return nil
}

// refusal is the final No in an error of the API server; nil where trying again may help.
func refusal(err error) *task.Refusal {
	switch {
	case lacking(err) != "":
		return nil
	case quotaFull(err):
		return &task.Refusal{Reason: v1alpha1.ReasonQuotaExceeded, Message: "A quota is full: " + statusMessage(err)}
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsNotFound(err),
		apierrors.IsRequestEntityTooLargeError(err), apierrors.IsMethodNotSupported(err):
		return &task.Refusal{Reason: v1alpha1.ReasonRejected, Message: "The cluster refuses the Job: " + statusMessage(err)}
	}
	return nil
}

// quotaFull: a quota that is full refuses the object; there may be room later.
func quotaFull(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

// statusMessage is what the API server says in an error, without what this program added to it. An error that did not come from
// the API server tells a caller nothing but that the cluster could not be reached.
func statusMessage(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return "the cluster's API server could not be reached"
}
