//go:build unix

// Package env sets up what the demo and the tests stand on: a local cluster, images in it, the chart installed. Each step runs
// the project's own programs (test/localcluster, make image, helm), so that a person can do the same by hand.
//
// It knows how the parts are put together; it must not know what is then done with them.
package env

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Namespace is where InstallChart puts the release, which has the same name.
const Namespace = "mcptasks"

// goFlags are those of the Makefile, so that all builds share one cache.
const goFlags = "GOFLAGS=-trimpath -buildvcs=false"

// stopGrace is how long a program that is told to stop may take to clean up behind itself.
const stopGrace = 30 * time.Second

// Env runs the project's programs.
type Env struct {
	// Root is the directory of the repository.
	Root string
	// Out is where the programs report their progress.
	Out io.Writer
}

// New finds the repository that the working directory is in.
func New(ctx context.Context, out io.Writer) (*Env, error) {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/mcptasks/mcptasks").Output()
	if err != nil {
		return nil, fmt.Errorf("find the repository (run this from inside of it): %w", err)
	}
	return &Env{Root: strings.TrimSpace(string(dir)), Out: out}, nil
}

// NoPods says why pods cannot run on this machine; empty where they can.
func NoPods() string {
	switch {
	case runtime.GOOS != "linux":
		return "a local cluster runs pods on Linux only"
	case os.Geteuid() != 0:
		return "a local cluster runs pods for root only"
	}
	return ""
}

// Command prepares a program that runs in the repository's root and writes to Out. It is the first of a process group: when
// ctx ends, the whole group gets SIGTERM, which "go run" alone would not pass on, and after a grace period SIGKILL.
func (e *Env) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = e.Root
	cmd.Env = append(os.Environ(), goFlags, "CGO_ENABLED=0")
	cmd.Stdout, cmd.Stderr = e.Out, e.Out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = stopGrace
	return cmd
}

// run runs a program; its output has said more than the error.
func (e *Env) run(ctx context.Context, name string, args ...string) error {
	if err := e.Command(ctx, name, args...).Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(append([]string{filepath.Base(name)}, args...), " "), err)
	}
	return nil
}

// output runs a program and gives what it prints on standard output.
func (e *Env) output(ctx context.Context, name string, args ...string) (string, error) {
	var out strings.Builder
	cmd := e.Command(ctx, name, args...)
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(append([]string{filepath.Base(name)}, args...), " "), err)
	}
	return strings.TrimSpace(out.String()), nil
}
