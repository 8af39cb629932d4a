//go:build unix

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/build"
	"github.com/mcptasks/mcptasks/test/localcluster/internal/console"
	"github.com/mcptasks/mcptasks/test/localcluster/internal/supervise"
)

const (
	// How long a component may take until it is ready: much longer than it needs, for machines that do other things too.
	readyDeadline = 3 * time.Minute
	// A component that ended this often before it was ready won't be.
	maxRestarts = 5
	tailLines   = 15
	// A cluster that is running isn't started again before it had this long to answer: the machine may just be busy.
	recoveryPatience = 20 * time.Second
)

// Up makes the cluster run as the options say. A cluster that does so already is left as it is; one that doesn't, because it
// was started with other options or because something of it ended, is stopped, cleared of remains, and started with the data
// it had. What StopComponent keeps down is started.
func Up(ctx context.Context, l Layout, opts Options, b *build.Builder, out *console.Printer) (*Cluster, error) {
	c := &Cluster{Layout: l, out: out, spec: Spec{Options: opts}}
	var tools tools
	var programs []string
	if opts.Mode == Full {
		var err error
		if tools, err = prepareMachine(ctx, out); err != nil {
			return nil, err
		}
	} else {
		programs = build.ControlPlane()
	}
	selected, err := build.Select(programs...)
	if err != nil {
		return nil, err
	}
	if c.spec.Programs, err = b.Ensure(ctx, selected, out); err != nil {
		return nil, err
	}

	lock, err := l.lockForCommand(ctx, out)
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Release() }()

	earlier, exists, err := readSpec(l)
	if err != nil {
		return nil, err
	}
	if exists && earlier.Mode != opts.Mode {
		return nil, fmt.Errorf("cluster %q exists as %s: choose another --name, or remove it first with down --name %s",
			l.Name, earlier.Mode, l.Name)
	}
	c.spec.Network = earlier.Network
	if err := c.releaseAll(); err != nil {
		return nil, err
	}
	if exists && c.spec.equal(earlier) && c.planned() && c.settledHealth(ctx, recoveryPatience) == nil {
		return c, c.refresh(ctx)
	}
	if err := c.endEarlier(exists); err != nil {
		return nil, err
	}
	if err := checkRoom(); err != nil {
		return nil, err
	}
	if err := c.chooseNetwork(exists); err != nil {
		return nil, err
	}
	err = c.start(ctx, tools)
	var broken *componentError
	if exists && errors.As(err, &broken) && slices.Contains([]string{etcd, containerd}, broken.component) {
		out.Line("%v", err)
		out.Line("The data of the earlier run can't be used. Starting afresh.")
		if err := errors.Join(c.clear(), l.wipe()); err != nil {
			return nil, err
		}
		err = c.start(ctx, tools)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// refresh does what is to be done in a cluster that runs.
func (c *Cluster) refresh(ctx context.Context) error {
	if c.spec.Mode != Full {
		return nil
	}
	api, err := c.apiClient()
	if err != nil {
		return err
	}
	return c.renewVolumes(ctx, api)
}

// endEarlier ends what still runs of an earlier start, and removes what that left.
func (c *Cluster) endEarlier(exists bool) error {
	pid, running, err := c.supervisor()
	if err != nil {
		return err
	}
	switch {
	case running:
		c.out.Line("Stopping cluster %q (process %d), which isn't as it should be.", c.Name, pid)
	case exists:
		c.out.Line("Clearing the remains of an earlier run of cluster %q; its data is kept.", c.Name)
	}
	if err := c.stop(); err != nil {
		return err
	}
	return c.clear()
}

// clear removes what an earlier start left beside its data. Nothing of it runs any more.
func (c *Cluster) clear() error {
	if err := os.RemoveAll(c.path("run")); err != nil {
		return err
	}
	// What the earlier run had to say is kept until the next but one.
	if err := os.RemoveAll(c.path("logs.previous")); err != nil {
		return err
	}
	if err := os.Rename(c.path("logs"), c.path("logs.previous")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if c.spec.Mode == Full {
		return c.clearMachine()
	}
	return nil
}

func (c *Cluster) chooseNetwork(exists bool) (err error) {
	if c.spec.Mode == ControlPlane {
		c.spec.Network, err = loopbackNetwork(c.spec.Network.Ports)
		return err
	}
	used, err := usedNetworks()
	if err != nil {
		return err
	}
	if exists {
		if c.spec.Network.collides(used) {
			return fmt.Errorf("the addresses of cluster %q (%s) are now used by something else on this machine: remove the "+
				"cluster with down and start it again", c.Name, c.spec.Network.block())
		}
		return nil
	}
	for _, other := range otherSpecs(c.Layout) {
		if other.Mode == Full {
			used = append(used, other.Network.block())
		}
	}
	c.spec.Network, err = freeNetwork(used)
	return err
}

// start starts the cluster and waits until it is of use. If that fails, nothing of it is left running.
func (c *Cluster) start(ctx context.Context, t tools) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop())
		}
	}()
	if err := c.create(); err != nil {
		return err
	}
	if err := c.writeCredentials(); err != nil {
		return err
	}
	if c.spec.Mode == Full {
		if err := c.prepareNode(t); err != nil {
			return err
		}
	}
	plan := c.plan()
	if err := supervise.WritePlan(c.planFile(), plan); err != nil {
		return err
	}
	if err := writeSpec(c.Layout, c.spec); err != nil {
		return err
	}
	if err := c.launch(ctx); err != nil {
		return err
	}
	for _, component := range plan.Components {
		if err := c.awaitComponent(ctx, component.Name); err != nil {
			return err
		}
	}
	api, err := c.apiClient()
	if err != nil {
		return err
	}
	if c.spec.Mode == Full {
		if err := c.finishNode(ctx, api); err != nil {
			return err
		}
	}
	// Without it no pod can be made, and the controller manager takes a moment to get to it.
	return c.await(ctx, "wait for the default service account", func(ctx context.Context) error {
		return api.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
	})
}

// componentError says that a component didn't become ready.
type componentError struct {
	component, why string
	log            string
}

func (e *componentError) Error() string {
	text, _ := os.ReadFile(e.log)
	return fmt.Sprintf("%s didn't become ready: %s\nthe end of %s:\n%s", e.component, e.why, e.log, build.Tail(text, tailLines))
}

// awaitComponent waits until the supervisor says that a component is ready.
func (c *Cluster) awaitComponent(ctx context.Context, name string) error {
	return c.await(ctx, "start "+name, func(context.Context) error {
		if _, held, err := c.supervisor(); err == nil && !held {
			return &finalError{&componentError{"the supervisor", "it ended", c.supervisorLog()}}
		}
		state, err := supervise.ReadState(c.stateFile())
		if err != nil {
			return err
		}
		last, _ := state.Component(name)
		switch {
		case last.Ready:
			return nil
		case !last.Held && last.Restarts >= maxRestarts:
			return &finalError{&componentError{name, "it ended again and again, last with " + last.Detail, c.log(name)}}
		}
		return &componentError{name, last.Detail, c.log(name)}
	})
}

// finalError says that there is no use in trying again.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }

// await polls until try returns nil, a finalError, or the deadline passes, and reports it as one step.
func (c *Cluster) await(ctx context.Context, title string, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyDeadline)
	defer cancel()
	var last atomic.Value
	step := c.out.Step(title, func() string {
		why, _ := last.Load().(string)
		return why
	})
	for {
		err := try(ctx)
		if err == nil {
			step.Done("")
			return nil
		}
		var final *finalError
		if errors.As(err, &final) {
			step.Fail()
			return final.error
		}
		last.Store(brief(err))
		select {
		case <-ctx.Done():
			step.Fail()
			return fmt.Errorf("%s: %w: %w", title, context.Cause(ctx), err)
		case <-time.After(pollInterval):
		}
	}
}

// brief is the beginning of an error's text, for a line that has room for no more.
func brief(err error) string {
	text := err.Error()
	var component *componentError
	if errors.As(err, &component) {
		text = component.why
	}
	text, _, _ = strings.Cut(text, "\n")
	if r := []rune(text); len(r) > 100 {
		text = string(r[:100]) + "…"
	}
	return text
}
