package controller

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/task"
)

const (
	// readTimeout is how long the reading of one task's log may take. A node that does not answer keeps a worker busy for so long.
	readTimeout = 10 * time.Second
	// patience is how long a log that cannot be read is tried again, before the task ends without it.
	patience = time.Minute
	// glanceTimeout is how long somebody who cancels is kept waiting for the end of the output, and glanceLimit how much is read.
	glanceTimeout = 3 * time.Second
	glanceLimit   = 2 << 10
)

// LogReader reads the logs of containers, most of which have ended. An error means that a log could not be read this time;
// one that apierrors.IsNotFound tells apart, that it never will be.
type LogReader interface {
	// Tail reads the last limit bytes of a log.
	Tail(ctx context.Context, pod types.NamespacedName, container string, limit int64) (job.Output, error)
	// Errors reads the last limit bytes of what was written to stderr, and how many there were; an error where the cluster does
	// not keep that apart.
	Errors(ctx context.Context, pod types.NamespacedName, container string, limit int64) (data []byte, total int64, err error)
}

// capture reads what main containers left in their logs. A log that cannot be read delays a task's end for a minute, but never
// keeps it from ending: the outcome is known without it.
type capture struct {
	logs  LogReader
	clock clock.PassiveClock
	// linked: clients can read logs by their URIs.
	linked bool

	mu sync.Mutex
	// failing has, by task, since when the log of which pod could not be read.
	failing map[client.ObjectKey]failure
	// gathered has, by task, the logs of a Job of several pods as long as some of them are missing.
	gathered map[client.ObjectKey]*gathering
}

type failure struct {
	pod   types.UID
	since time.Time
}

// read puts the container's output into the observation, or in words why there is none.
func (c *capture) read(ctx context.Context, o *task.Observation, v task.Verdict) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	of := client.ObjectKeyFromObject(o.Task)
	pod, limit := client.ObjectKeyFromObject(v.Pod), o.Task.Spec.Result.Limit.Value()
	output, err := c.logs.Tail(ctx, pod, v.Container, limit)
	if err == nil {
		if v.Errors && output.Cut() {
			c.addErrors(ctx, pod, v.Container, limit, &output)
		}
		if c.linked {
			output.URI = job.LogURI(of.Name, 0)
		}
	} else if output, err = c.without(err, c.failingSince(of, v.Pod.UID)); err != nil {
		return err
	}
	c.forget(of)
	o.Output = &output
	return nil
}

// without is what stands in for a log that could not be read: an error as long as it may be worth trying again, then words.
func (c *capture) without(err error, failingSince time.Time) (job.Output, error) {
	if apierrors.IsNotFound(err) {
		return job.Output{Unavailable: "its pod is gone"}, nil
	}
	failingFor := c.clock.Since(failingSince)
	if failingFor < patience {
		again := min(max(failingFor/2, 200*time.Millisecond), 5*time.Second)
		return job.Output{}, &notYetError{after: again, err: fmt.Errorf("read the log: %w", err)}
	}
	return job.Output{Unavailable: cmp.Or(lacking(err), "its node did not hand out the log")}, nil
}

// glance puts the end of what a container has written so far into the observation; nothing where that cannot be had at once.
func (c *capture) glance(ctx context.Context, o *task.Observation, v task.Verdict) {
	ctx, cancel := context.WithTimeout(ctx, glanceTimeout)
	defer cancel()
	output, err := c.logs.Tail(ctx, client.ObjectKeyFromObject(v.Pod), v.Container, glanceLimit)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("The output so far cannot be read", "cause", err.Error())
		output = job.Output{}
	}
	o.SoFar = &output
}

// addErrors adds the end of stderr, which the end of a long log may not show. Most clusters cannot tell it apart; then the log
// has to do.
func (c *capture) addErrors(ctx context.Context, pod types.NamespacedName, container string, limit int64, output *job.Output) {
	data, total, err := c.logs.Errors(ctx, pod, container, job.ErrorsLimit(limit))
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("No error output apart from the log", "cause", err.Error())
		return
	}
	output.Errors, output.ErrorsTotal = data, total
}

// failingSince is when reading the pod's log first failed: now, if it has not before.
func (c *capture) failingSince(of client.ObjectKey, pod types.UID) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failing == nil {
		c.failing = map[client.ObjectKey]failure{}
	}
	if f, ok := c.failing[of]; ok && f.pod == pod {
		return f.since
	}
	now := c.clock.Now()
	c.failing[of] = failure{pod: pod, since: now}
	return now
}

// forget drops what is known of a task's logs.
func (c *capture) forget(of client.ObjectKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.failing, of)
	delete(c.gathered, of)
}
