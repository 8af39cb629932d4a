package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/internal/task"
)

// leftoverGrace is how long other containers of a pod may go on after its main container has ended.
const leftoverGrace = 30 * time.Second

// finish lets go of the Job of a finished task: from now on Kubernetes may remove it after the tool's retention. Not earlier, for
// what became of the task would be lost with it.
//
// Containers that something injected into the pod and that do not end by themselves would keep the pod running until its
// deadline. The Job's own deadline is set to end them; the task is not touched by that, it has ended.
func (c *taskController) finish(ctx context.Context, o *task.Observation) error {
	j, key := o.Job, client.ObjectKeyFromObject(o.Task)
	if j == nil || j.DeletionTimestamp != nil || o.Stopped || j.Spec.TTLSecondsAfterFinished != nil {
		c.released.Delete(key)
		return nil
	}
	if of, done := c.released.Load(key); done && of == o.Task.UID {
		return nil // The cache does not show it yet.
	}
	spec := map[string]any{"ttlSecondsAfterFinished": wholeSeconds(o.Task.Spec.Execution.Retention.Job.Duration)}
	if deadline := leftoverDeadline(o); deadline > 0 {
		spec["activeDeadlineSeconds"] = deadline
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": j.UID}, "spec": spec})
	if err != nil {
		return fmt.Errorf("encode the patch of the Job: %w", err)
	}
	err = c.client.Patch(ctx, j, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(Name))
	// Not found, or another Job by now: somebody has removed it before.
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("set how long the Job is kept: %w", err)
	}
	c.released.Store(key, o.Task.UID)
	return nil
}

// leftoverDeadline is the activeDeadlineSeconds that ends what still runs in the Job's pods; 0: nothing would go on by itself.
func leftoverDeadline(o *task.Observation) int64 {
	over := slices.ContainsFunc(o.Job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
	several := slices.ContainsFunc(o.Pods, func(p corev1.Pod) bool { return len(p.Spec.Containers) > 1 })
	if over || !several {
		return 0
	}
	// The deadline counts from the Job's start. Of a pod that ended at once one may hear before the Job says when it started: then
	// the others get the few moments longer that lie between its creation and its start.
	started := o.Job.CreationTimestamp.Time
	if at := o.Job.Status.StartTime; at != nil {
		started = at.Time
	}
	deadline := wholeSeconds(o.Now.Sub(started) + leftoverGrace)
	if d := o.Job.Spec.ActiveDeadlineSeconds; d != nil && *d <= deadline {
		return 0
	}
	return deadline
}

// wholeSeconds rounds up.
func wholeSeconds(d time.Duration) int64 {
	return int64((d + time.Second - 1) / time.Second)
}
