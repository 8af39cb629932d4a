package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/task"
)

const (
	// readers is how many logs of one Job are read at a time.
	readers = 8
	// gatherTimeout is how long a pass may read logs. The next one goes on where it ended.
	gatherTimeout = 30 * time.Second
)

// gathering are the logs that have been read of one Job with several pods: each of them once, and together not much more than
// twice what the result may have.
type gathering struct {
	task  types.UID
	limit int64

	mu      sync.Mutex
	outputs map[types.UID]*job.Output
	size    int64
	// failing has since when the logs of which pods could not be read.
	failing map[types.UID]time.Time
}

func (g *gathering) has(pod types.UID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.outputs[pod] != nil
}

// add keeps the output of a pod. What the result has no room for is dropped, from the longest logs first.
func (g *gathering) add(pod types.UID, output *job.Output) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.outputs[pod] = output
	if g.size += int64(len(output.Data)); g.size <= 2*g.limit {
		return
	}
	all := make([]*job.Output, 0, len(g.outputs))
	for _, o := range g.outputs {
		all = append(all, o)
	}
	job.Share(all, g.limit)
	g.size = 0
	for _, o := range all {
		g.size += int64(len(o.Data))
	}
}

// failingSince is when reading the pod's log first failed: now, if it has not before.
func (g *gathering) failingSince(pod types.UID, now time.Time) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if since, ok := g.failing[pod]; ok {
		return since
	}
	g.failing[pod] = now
	return now
}

// readAll puts the outputs of all wanted pods into the observation, or, for each that has none, in words why. Logs that were read
// are kept until the last one is there or given up.
func (c *capture) readAll(ctx context.Context, o *task.Observation, v task.Verdict) error {
	key := client.ObjectKeyFromObject(o.Task)
	g := c.gathering(key, o)
	var wanted []*corev1.Pod
	for _, pod := range v.Pods {
		if !g.has(pod.UID) {
			wanted = append(wanted, pod)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, gatherTimeout)
	defer cancel()
	failures := make([]error, len(wanted))
	workqueue.ParallelizeUntil(ctx, readers, len(wanted), func(i int) {
		pod := wanted[i]
		one, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		output, err := c.logs.Tail(one, client.ObjectKeyFromObject(pod), v.Container, g.limit)
		if err != nil && ctx.Err() == nil {
			output, err = c.without(err, g.failingSince(pod.UID, c.clock.Now()))
		}
		if failures[i] = err; err == nil {
			g.add(pod.UID, &output)
		}
	})
	for i, pod := range wanted {
		switch {
		case g.has(pod.UID):
		case failures[i] != nil && ctx.Err() == nil:
			return failures[i]
		default:
			return &notYetError{err: errors.New("not all logs could be read in one go")}
		}
	}
	o.Outputs = make(map[types.UID]job.Output, len(g.outputs))
	for pod, output := range g.outputs {
		o.Outputs[pod] = *output
	}
	c.forget(key)
	return nil
}

// gathering is what has been read of the task's Job so far.
func (c *capture) gathering(key client.ObjectKey, o *task.Observation) *gathering {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gathered == nil {
		c.gathered = map[client.ObjectKey]*gathering{}
	}
	g := c.gathered[key]
	if g == nil || g.task != o.Task.UID {
		g = &gathering{
			task: o.Task.UID, limit: o.Task.Spec.Result.Limit.Value(),
			outputs: map[types.UID]*job.Output{}, failing: map[types.UID]time.Time{},
		}
		c.gathered[key] = g
	}
	return g
}
