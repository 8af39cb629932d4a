//go:build unix

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/lock"
	"github.com/mcptasks/mcptasks/test/localcluster/internal/supervise"
)

// Files that a supervisor inherits.
const (
	lockDescriptor = 3
	goDescriptor   = 4
)

// lockPatience is how long the supervisor's lock, which is free by now, may look taken because somebody asks who holds it.
const lockPatience = 5 * time.Second

// launch starts the cluster's supervisor, which outlives this process.
func (c *Cluster) launch(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.Create(c.supervisorLog())
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	lockCtx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	l, err := lock.Wait(lockCtx, c.supervisorLock(), func() {})
	if err != nil {
		return err
	}
	defer func() { _ = l.Release() }()
	goRead, goWrite, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = goRead.Close() }()
	defer func() { _ = goWrite.Close() }()

	cmd := exec.Command(self, "supervise", "--name", c.Name)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{l.File(), goRead}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if c.spec.Mode == Full {
		isolate(cmd.SysProcAttr)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the cluster's supervisor: %w%s", err, launchHint(c.spec.Mode, err))
	}
	if err := l.SetHolder(cmd.Process.Pid); err != nil {
		return err
	}
	if c.spec.Mode == Full {
		if err := c.connect(ctx, cmd.Process.Pid); err != nil {
			return err
		}
	}
	// Until it reads this byte the supervisor does nothing; if we end before, it ends too.
	if _, err := goWrite.Write([]byte{1}); err != nil {
		return fmt.Errorf("start the cluster's supervisor: %w", err)
	}
	// The child is collected in case it ends while we still run.
	go func() { _ = cmd.Wait() }()
	return nil
}

// Supervise is what the supervisor's process does.
func Supervise(ctx context.Context, l Layout) error {
	for _, fd := range []int{lockDescriptor, goDescriptor} {
		syscall.CloseOnExec(fd)
	}
	start := os.NewFile(goDescriptor, "start")
	if n, err := start.Read(make([]byte, 1)); n != 1 {
		return errors.Join(errors.New("whoever started this ended before all was prepared"), err)
	}
	_ = start.Close()
	spec, _, err := readSpec(l)
	if err != nil {
		return err
	}
	if spec.Mode == Full {
		if err := enterNode(ctx, l, spec); err != nil {
			return err
		}
	}
	plan, err := supervise.ReadPlan(l.planFile())
	if err != nil {
		return err
	}
	return supervise.Run(ctx, plan)
}
