//go:build unix

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
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

// stop ends all processes of the cluster: in order if gently, else at once. It doesn't need the spec.
func (l Layout) stop(gently bool) error {
	pid, held, err := l.supervisor()
	if err != nil {
		return err
	}
	if held {
		if gently {
			syscall.Kill(pid, syscall.SIGTERM)
			held = !waitFor(stopDeadline, l.supervisorEnded)
		}
		// The kernel ends everything in a full cluster's namespaces with their first process.
		if held {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if !waitFor(stopDeadline, l.supervisorEnded) {
			return fmt.Errorf("the supervisor of cluster %q (process %d) doesn't end: see what holds it with ps", l.Name, pid)
		}
	}
	return l.endOrphans()
}

func (l Layout) supervisorEnded() bool {
	_, held, err := l.supervisor()
	return err == nil && !held
}

// endOrphans ends components of a control plane that outlived their supervisor.
func (l Layout) endOrphans() error {
	for _, name := range []string{controllerManager, kubeAPIServer, etcd} {
		pid, held, err := lock.Holder(l.componentLock(name))
		if err != nil {
			return err
		}
		if !held {
			continue
		}
		syscall.Kill(pid, syscall.SIGKILL)
		ended := waitFor(stopDeadline, func() bool {
			_, held, err := lock.Holder(l.componentLock(name))
			return err == nil && !held
		})
		if !ended {
			return fmt.Errorf("%s of cluster %q (process %d) doesn't end: see what holds it with ps", name, l.Name, pid)
		}
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

// healthy says whether the cluster runs, with every component ready and an API server that answers.
func (c *Cluster) healthy(ctx context.Context) bool {
	if _, held, err := c.supervisor(); err != nil || !held {
		return false
	}
	state, err := supervise.ReadState(c.stateFile())
	if err != nil {
		return false
	}
	for _, s := range state.Components {
		if !s.Ready {
			return false
		}
	}
	api, err := c.apiClient()
	if err != nil {
		return false
	}
	return api.get(ctx, "/readyz", nil) == nil
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
