package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/task"
)

const (
	// readTimeout is how long one read of a log may take. A node that does not answer keeps a worker busy for so long.
	readTimeout = 10 * time.Second
	// patience is how long a log that cannot be read is tried again, before the task ends without it.
	patience = time.Minute
)

// capture reads what main containers left in their logs. A log that cannot be read delays a task's end for a minute, but never
// keeps it from ending: the outcome is known without it.
type capture struct {
	logs  LogReader
	clock clock.PassiveClock

	mu sync.Mutex
	// failing has, by the pod's UID, since when its log could not be read.
	failing map[types.UID]time.Time
}

// read puts the container's output into the observation, or in words why there is none.
func (c *capture) read(ctx context.Context, o *task.Observation, v task.Verdict) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	limit := o.Task.Spec.Result.Limit.Value()
	output, err := c.logs.Tail(ctx, types.NamespacedName{Namespace: v.Pod.Namespace, Name: v.Pod.Name}, v.Container, limit)
	if err == nil {
		c.done(v.Pod.UID)
		o.Output = &output
		return nil
	}
	if apierrors.IsNotFound(err) {
		c.done(v.Pod.UID)
		o.Output = &job.Output{Unavailable: "its pod is gone"}
		return nil
	}
	failingFor := c.clock.Since(c.since(v.Pod.UID))
	if failingFor >= patience {
		c.done(v.Pod.UID)
		o.Output = &job.Output{Unavailable: "its node did not hand out the log"}
		return nil
	}
	return &notYetError{after: min(max(failingFor/2, 200*time.Millisecond), 5*time.Second), err: fmt.Errorf("read the log: %w", err)}
}

// since is when reading the pod's log first failed: now, if it has not before.
func (c *capture) since(pod types.UID) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failing == nil {
		c.failing = map[types.UID]time.Time{}
	}
	first, ok := c.failing[pod]
	if !ok {
		first = c.clock.Now()
		c.failing[pod] = first
	}
	return first
}

func (c *capture) done(pod types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.failing, pod)
}
