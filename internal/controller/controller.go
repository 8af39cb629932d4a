package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/task"
)

// taskController takes each MCPTask from its creation to its end. A pass gathers what is known (observe.go), lets package task
// decide, does what the verdict asks for (question.go, launch.go, capture.go, stop.go), decides again until nothing is left to
// do, writes the status once, and then lets go of the Job (finish.go).
type taskController struct {
	client  client.Client // reads from the cache
	live    client.Reader // reads from the API server
	events  events.EventRecorder
	clock   clock.PassiveClock
	catalog string
	capture capture
	// blueprints has the tools that were needed last.
	blueprints *blueprints
	written    ledger
	// released has the UIDs of the finished tasks whose Jobs were let go, by the tasks' names, until the cache shows it.
	released sync.Map
}

func newTaskController(mgr manager.Manager, o Options) *taskController {
	return &taskController{
		client:  mgr.GetClient(),
		live:    mgr.GetAPIReader(),
		events:  mgr.GetEventRecorder(Name),
		clock:   o.Clock,
		catalog: o.CatalogNamespace,
		capture: capture{logs: o.Logs, clock: o.Clock, linked: o.LogLinks},

		blueprints: newBlueprints(),
	}
}

// errGone: the task was deleted in the meantime; its Job goes with it, and there is nothing to do.
var errGone = errors.New("the task is gone")

// notYetError is an error that is expected to pass: try again after a while, without alarm.
type notYetError struct {
	after time.Duration
	err   error
}

func (e *notYetError) Error() string { return e.err.Error() }

func (e *notYetError) Unwrap() error { return e.err }

// conflictDelay is how long the cache is given to catch up after somebody else has changed a task.
const conflictDelay = 50 * time.Millisecond

// rightsDelay is the pause before a task is tried again that a missing right holds up. It is short: mostly the API server has
// only just started.
const rightsDelay = 5 * time.Second

// Reconcile makes one pass over a task.
func (c *taskController) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	after, err := c.pass(ctx, req.NamespacedName)
	var later *notYetError
	switch {
	case errors.Is(err, errGone):
		return reconcile.Result{}, nil
	case lacking(err) != "":
		ctrl.LoggerFrom(ctx).Error(err, "A right is missing; will try again", "after", rightsDelay)
		return reconcile.Result{RequeueAfter: rightsDelay}, nil
	case errors.As(err, &later):
		ctrl.LoggerFrom(ctx).V(1).Info("Will try again", "cause", err.Error(), "after", later.after)
		return reconcile.Result{RequeueAfter: max(later.after, conflictDelay)}, nil
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	}
	return reconcile.Result{RequeueAfter: after}, err
}

func (c *taskController) pass(ctx context.Context, key client.ObjectKey) (time.Duration, error) {
	t := &v1alpha1.MCPTask{}
	if err := c.client.Get(ctx, key, t); err != nil {
		c.written.forget(key)
		c.capture.forget(key)
		c.released.Delete(key)
		return 0, client.IgnoreNotFound(err)
	}
	t = c.written.newest(t)
	if t.DeletionTimestamp != nil {
		return 0, nil // The garbage collector deletes the Job with its owner.
	}
	o, err := c.observe(ctx, t)
	if err != nil {
		return 0, err
	}
	v, err := c.advance(ctx, &o)
	if what := lacking(err); what != "" {
		v = v.HeldUp(o.Task, what)
	}
	if recordErr := c.record(ctx, &o, v); recordErr != nil {
		return 0, errors.Join(recordErr, err)
	}
	if err != nil {
		return 0, err
	}
	if o.Task.Status.State.Terminal() {
		c.capture.forget(key)
		return 0, c.finish(ctx, &o)
	}
	return v.After, nil
}

// advance decides and acts until nothing is left to do but to record the verdict. On an error the verdict is that on what is
// known by then.
func (c *taskController) advance(ctx context.Context, o *task.Observation) (task.Verdict, error) {
	asked := map[task.Next]bool{}
	for {
		v := task.Decide(*o)
		if v.Next == task.NextNothing {
			if err := c.dropSecret(ctx, o.Task, v); err != nil {
				return v.HeldUp(o.Task, "its secret arguments cannot be deleted"), err
			}
			return v, nil
		}
		if asked[v.Next] {
			return v, fmt.Errorf("rule %q asks for %s a second time", v.Rule, v.Next)
		}
		asked[v.Next] = true
		if err := c.act(ctx, o, v); err != nil {
			return task.Decide(*o), fmt.Errorf("%s for rule %q: %w", v.Next, v.Rule, err)
		}
	}
}

func (c *taskController) act(ctx context.Context, o *task.Observation, v task.Verdict) error {
	switch v.Next {
	case task.NextFreshTask:
		return c.readTask(ctx, o)
	case task.NextFreshJob:
		return c.readJob(ctx, o)
	case task.NextEvents:
		return c.readEvents(ctx, o, v.About)
	case task.NextPlan:
		c.plan(o)
		return nil
	case task.NextLaunch:
		return c.launch(ctx, o)
	case task.NextOutput:
		return c.capture.read(ctx, o, v)
	case task.NextOutputs:
		return c.capture.readAll(ctx, o, v)
	case task.NextGlance:
		c.capture.glance(ctx, o, v)
		return nil
	case task.NextStop:
		return c.stop(ctx, o)
	}
	return fmt.Errorf("nobody knows how to do %q", v.Next)
}

// record writes the verdict to the task's status, if that changes it. Where the cluster has no room for a result, because of what
// else the task holds and the cache does not (slimTask), it is made again with all of that in sight, and left out if need be:
// every task has to end.
func (c *taskController) record(ctx context.Context, o *task.Observation, v task.Verdict) error {
	err := c.write(ctx, o, v)
	if !tooLarge(err) || v.Result == "" {
		return err
	}
	if err := c.readTask(ctx, o); err != nil {
		return err
	}
	v = task.Decide(*o)
	if err = c.write(ctx, o, v); tooLarge(err) {
		err = c.write(ctx, o, v.WithoutOutput())
	}
	return err
}

// write puts the verdict into the task's status in one patch that only succeeds on the version of the task that was decided on.
// Events and metrics follow the write.
func (c *taskController) write(ctx context.Context, o *task.Observation, v task.Verdict) error {
	if v.Next != task.NextNothing && v.State.Terminal() {
		return nil // What has to come before the end could not be done yet.
	}
	changed := o.Task.DeepCopy()
	if !task.Apply(v, changed, o.Job, o.Now) {
		return nil
	}
	patch := client.MergeFromWithOptions(o.Task, client.MergeFromWithOptimisticLock{})
	if err := c.client.Status().Patch(ctx, changed, patch, client.FieldOwner(Name)); err != nil {
		if apierrors.IsNotFound(err) {
			return errGone
		}
		return fmt.Errorf("write the status of %s/%s: %w", o.Task.Namespace, o.Task.Name, err)
	}
	slimTask(changed)
	c.written.add(changed)
	o.Task = changed
	c.announce(ctx, changed, v)
	return nil
}

// tooLarge: the object is larger than the API server takes, or than etcd does, for which the API server has no reason but etcd's
// words.
func tooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) ||
		err != nil && strings.Contains(statusMessage(err), "request is too large")
}
