//go:build unix

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/supervise"
)

// StopComponent kills one component of a running cluster, as an accident would, and keeps it down until StartComponent or Up. It
// returns when the component has ended. It is no error if it is down already.
func (c *Cluster) StopComponent(ctx context.Context, name string) error {
	return c.changeComponent(ctx, name, c.hold)
}

// StartComponent starts a component that StopComponent keeps down, and waits until it is ready. It is no error if it runs.
func (c *Cluster) StartComponent(ctx context.Context, name string) error {
	return c.changeComponent(ctx, name, c.release)
}

// RestartComponent is StopComponent and then StartComponent.
func (c *Cluster) RestartComponent(ctx context.Context, name string) error {
	return c.changeComponent(ctx, name, c.hold, c.release)
}

// changeComponent takes steps with a component, one after the other, with no other command in between.
func (c *Cluster) changeComponent(
	ctx context.Context, name string, steps ...func(context.Context, supervise.Plan, string) error,
) error {
	lock, err := c.lockForCommand(ctx, c.out)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }()
	running, err := c.Running()
	if err != nil {
		return err
	}
	if !running {
		return fmt.Errorf("cluster %q: %w", c.Name, ErrNotRunning)
	}
	plan, err := c.runningPlan(name)
	if err != nil {
		return err
	}
	for _, step := range steps {
		if err := step(ctx, plan, name); err != nil {
			return err
		}
	}
	return nil
}

// runningPlan is the plan that the cluster was started with, which has to have a component of that name.
func (c *Cluster) runningPlan(component string) (supervise.Plan, error) {
	plan, err := supervise.ReadPlan(c.planFile())
	if err != nil {
		return plan, err
	}
	names := make([]string, len(plan.Components))
	for i := range plan.Components {
		names[i] = plan.Components[i].Name
	}
	if !slices.Contains(names, component) {
		return plan, fmt.Errorf("cluster %q has no component %q; it has %s", c.Name, component, strings.Join(names, ", "))
	}
	if plan.HoldDir == "" {
		return plan, fmt.Errorf("cluster %q was started by an earlier version of this program; up starts it again", c.Name)
	}
	return plan, nil
}

func (c *Cluster) hold(ctx context.Context, plan supervise.Plan, name string) error {
	if err := supervise.Hold(plan, name); err != nil {
		return fmt.Errorf("stop %s: %w", name, err)
	}
	return c.await(ctx, "stop "+name, func(context.Context) error {
		state, err := supervise.ReadState(c.stateFile())
		if err != nil {
			return err
		}
		if s, _ := state.Component(name); !s.Held {
			return errors.New("it still runs")
		}
		return nil
	})
}

func (c *Cluster) release(ctx context.Context, plan supervise.Plan, name string) error {
	if err := supervise.Release(plan, name); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	return c.awaitComponent(ctx, name)
}

// releaseAll starts whatever StopComponent keeps down.
func (c *Cluster) releaseAll() error {
	plan := c.plan()
	for i := range plan.Components {
		if err := supervise.Release(plan, plan.Components[i].Name); err != nil {
			return fmt.Errorf("start %s: %w", plan.Components[i].Name, err)
		}
	}
	return nil
}
