//go:build unix

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/console"
	"github.com/mcptasks/mcptasks/test/localcluster/internal/lock"
	"github.com/mcptasks/mcptasks/test/localcluster/internal/supervise"
)

// Cluster is a cluster of this machine, running or not.
type Cluster struct {
	Layout
	spec Spec
	out  *console.Printer
}

// ErrNotRunning says that there is no such cluster, or that it isn't running.
var ErrNotRunning = errors.New("the cluster isn't running; start it with up")

// Open returns a cluster that has been made by Up.
func Open(l Layout, out *console.Printer) (*Cluster, error) {
	spec, exists, err := readSpec(l)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, fmt.Errorf("cluster %q: %w", l.Name, ErrNotRunning)
	}
	return &Cluster{Layout: l, spec: spec, out: out}, nil
}

// supervisor returns the process id of the cluster's supervisor, and false if it doesn't run.
func (l Layout) supervisor() (int, bool, error) { return lock.Holder(l.supervisorLock()) }

// Running says whether the cluster's supervisor runs, whatever its components do.
func (l Layout) Running() (bool, error) {
	_, running, err := l.supervisor()
	return running, err
}

// lockForCommand keeps other commands from changing the cluster.
func (l Layout) lockForCommand(ctx context.Context, out *console.Printer) (*lock.File, error) {
	return lock.Wait(ctx, l.commandLock(), func() {
		out.Line("Another command is working on cluster %q; waiting for it.", l.Name)
	})
}

const (
	// How long a supervisor and its components may take to end.
	stopDeadline = 30 * time.Second
	pollInterval = 50 * time.Millisecond
)

// stop ends all processes of the cluster at once, as an accident would; it doesn't need the spec.
func (l Layout) stop() error {
	// The kernel ends everything in a full cluster's namespaces with their first process.
	if err := endHolder(l.supervisorLock()); err != nil {
		return fmt.Errorf("end the supervisor of cluster %q: %w", l.Name, err)
	}
	// Components of a control plane may have outlived their supervisor. The API server goes before what it writes to.
	for _, name := range []string{controllerManager, kubeAPIServer, etcd} {
		if err := endHolder(l.componentLock(name)); err != nil {
			return fmt.Errorf("end %s of cluster %q: %w", name, l.Name, err)
		}
	}
	return nil
}

// endHolder kills the process that holds a lock, if there is one, and waits until it has ended.
func endHolder(path string) error {
	pid, held, err := lock.Holder(path)
	if err != nil || !held {
		return err
	}
	if err := killProcess(pid); err != nil {
		return err
	}
	free := waitFor(stopDeadline, func() bool {
		_, held, err := lock.Holder(path)
		return err == nil && !held
	})
	if !free {
		return fmt.Errorf("process %d was killed, but %s is still held: see by what with lsof", pid, path)
	}
	return nil
}

// waitFor polls until done or the deadline, and says whether it was done.
func waitFor(deadline time.Duration, done func() bool) bool {
	for end := time.Now().Add(deadline); ; time.Sleep(pollInterval) {
		if done() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// health says what is wrong with the cluster: nil if it runs, with every component ready, and an API server and cluster DNS
// that answer.
func (c *Cluster) health(ctx context.Context) error {
	if _, held, err := c.supervisor(); err != nil {
		return err
	} else if !held {
		return errors.New("it doesn't run")
	}
	state, err := supervise.ReadState(c.stateFile())
	if err != nil {
		return err
	}
	for _, s := range state.Components {
		if !s.Ready {
			return fmt.Errorf("%s isn't ready: %s", s.Name, s.Detail)
		}
	}
	api, err := c.apiClient()
	if err != nil {
		return err
	}
	if err := api.get(ctx, "/readyz", nil); err != nil {
		return fmt.Errorf("the API server isn't ready: %w", err)
	}
	if c.spec.Mode == ControlPlane {
		return nil
	}
	if err := c.dnsAnswers(ctx); err != nil {
		return fmt.Errorf("cluster DNS: %w", err)
	}
	return nil
}

// settledHealth is the health of a running cluster that had the given time to get well: one probe that is lost or late on a
// busy machine says nothing about the cluster.
func (c *Cluster) settledHealth(ctx context.Context, patience time.Duration) (err error) {
	waitFor(patience, func() bool {
		if err = c.health(ctx); err == nil || ctx.Err() != nil {
			return true
		}
		_, running, lookup := c.supervisor()
		return lookup != nil || !running
	})
	return err
}

// wipe deletes what a cluster keeps when it is started again.
func (l Layout) wipe() error {
	for _, d := range l.dataDirs() {
		if err := os.RemoveAll(d); err != nil {
			return err
		}
	}
	return nil
}
