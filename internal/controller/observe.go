package controller

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/task"
)

// observe gathers from the cache what is known of a task.
func (c *taskController) observe(ctx context.Context, t *v1alpha1.MCPTask) (task.Observation, error) {
	o := task.Observation{Now: c.clock.Now(), CatalogNamespace: c.catalog, Task: t}
	if err := getJob(ctx, c.client, &o); err != nil {
		return o, err
	}
	switch {
	case o.Job != nil || t.Status.Job != nil:
		return o, c.getPods(ctx, &o)
	case t.Status.State.Terminal():
		return o, nil
	default:
		return o, getTool(ctx, c.client, &o)
	}
}

// readTask reads task and tool past the cache.
func (c *taskController) readTask(ctx context.Context, o *task.Observation) error {
	t := &v1alpha1.MCPTask{}
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(o.Task), t); err != nil {
		if apierrors.IsNotFound(err) {
			return errGone
		}
		return fmt.Errorf("read the task: %w", err)
	}
	if t.UID != o.Task.UID || t.DeletionTimestamp != nil {
		return errGone
	}
	o.Task, o.FreshTask = t, true
	if ref := t.Spec.Tool; o.Tool == nil || o.Tool.UID != ref.UID || o.Tool.Generation < ref.Generation {
		return getTool(ctx, c.live, o)
	}
	return nil
}

// readJob reads Job and pods past the cache.
func (c *taskController) readJob(ctx context.Context, o *task.Observation) error {
	if err := getJob(ctx, c.live, o); err != nil {
		return err
	}
	var pods []corev1.Pod
	// Each of a thousand pods may have the call's arguments among its annotations; they are not kept, as in the cache.
	page := client.Limit(podsPerPage)
	for next := ""; ; {
		var list corev1.PodList
		err := c.live.List(ctx, &list, client.InNamespace(o.Task.Namespace), client.MatchingLabels{v1alpha1.LabelTask: o.Task.Name},
			page, client.Continue(next))
		if err != nil {
			return fmt.Errorf("read the pods: %w", err)
		}
		for i := range list.Items {
			slimPod(&list.Items[i])
		}
		pods = append(pods, list.Items...)
		if next = list.Continue; next == "" {
			break
		}
	}
	ownPods(o, pods)
	o.FreshJob = true
	return nil
}

// podsPerPage is how many pods are read past the cache at a time.
const podsPerPage = 100

// readEvents reads the events about an object. They are not cached: there are too many of them, and they are rarely needed.
func (c *taskController) readEvents(ctx context.Context, o *task.Observation, about types.UID) error {
	var list corev1.EventList
	err := c.live.List(ctx, &list, client.InNamespace(o.Task.Namespace), client.MatchingFields{"involvedObject.uid": string(about)})
	if what := lacking(err); what != "" {
		// The task goes on without, and has to end in time, too.
		ctrl.LoggerFrom(ctx).Error(err, "Cannot tell what the task waits for")
		o.Events, o.NoEvents = []corev1.Event{}, what
		return nil
	}
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	o.Events = append([]corev1.Event{}, list.Items...)
	return nil
}

// getJob finds the task's own Job. Its name alone proves nothing; the owner's UID does.
func getJob(ctx context.Context, r client.Reader, o *task.Observation) error {
	j := &batchv1.Job{}
	err := r.Get(ctx, client.ObjectKey{Namespace: o.Task.Namespace, Name: job.Name(o.Task.Name)}, j)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the Job: %w", err)
	}
	o.Job = nil
	if ref := o.Task.Status.Job; err == nil && metav1.IsControlledBy(j, o.Task) && (ref == nil || ref.UID == j.UID) {
		o.Job = j
	}
	return nil
}

// getPods finds the pods of the task's Job in the cache.
func (c *taskController) getPods(ctx context.Context, o *task.Observation) error {
	var list corev1.PodList
	match := client.MatchingFields{byTask: o.Task.Name}
	if err := c.client.List(ctx, &list, client.InNamespace(o.Task.Namespace), match); err != nil {
		return fmt.Errorf("read the pods: %w", err)
	}
	ownPods(o, list.Items)
	return nil
}

// ownPods puts those pods into the observation that the task's Job owns.
func ownPods(o *task.Observation, pods []corev1.Pod) {
	o.Pods = nil
	for i := range pods {
		if owner := metav1.GetControllerOf(&pods[i]); owner != nil && owner.UID == jobUID(o) {
			o.Pods = append(o.Pods, pods[i])
		}
	}
}

func jobUID(o *task.Observation) types.UID {
	switch {
	case o.Job != nil:
		return o.Job.UID
	case o.Task.Status.Job != nil:
		return o.Task.Status.Job.UID
	}
	return ""
}

// getTool finds the tool that the task may use.
func getTool(ctx context.Context, r client.Reader, o *task.Observation) error {
	o.Tool = nil
	ref := o.Task.Spec.Tool
	if ref.Namespace != o.Task.Namespace && ref.Namespace != o.CatalogNamespace {
		return nil
	}
	tool := &v1alpha1.MCPTool{}
	err := r.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, tool)
	if err == nil {
		o.Tool = tool
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the tool: %w", err)
	}
	return nil
}
