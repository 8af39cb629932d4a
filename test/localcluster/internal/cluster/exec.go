//go:build unix

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// Exec runs a command, connected to this process' terminal, inside a full cluster's namespaces.
func (c *Cluster) Exec(ctx context.Context, command []string) error {
	if c.spec.Mode != Full {
		return fmt.Errorf("cluster %q has no namespaces of its own", c.Name)
	}
	pid, running, err := c.supervisor()
	if err != nil {
		return err
	}
	if !running {
		return ErrNotRunning
	}
	args := append([]string{"--target", fmt.Sprint(pid), "--mount", "--net", "--pid", "--"}, command...)
	cmd := exec.CommandContext(ctx, "nsenter", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "PATH="+c.spec.Programs+":"+os.Getenv("PATH"), "CONTAINERD_ADDRESS="+containerdSocket)
	return cmd.Run()
}
