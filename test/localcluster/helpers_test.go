//go:build unix

package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/cluster"
)

// The tests of whole clusters build all programs, and take minutes where that hasn't been done yet: they run where this
// variable is set.
const enableVariable = "LOCALCLUSTER_TEST"

func requireEnabled(t *testing.T) {
	t.Helper()
	if os.Getenv(enableVariable) == "" {
		t.Skipf("set %s=1 to test whole clusters", enableVariable)
	}
}

func buildProgram(t *testing.T) string {
	t.Helper()
	requireEnabled(t)
	program := filepath.Join(t.TempDir(), "localcluster")
	goBuild(t, program, ".")
	return program
}

func goBuild(t *testing.T, target, pkg string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-o", target, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
}

// testCluster is a cluster under test. Its methods fail the test if what they do fails.
type testCluster struct {
	*testing.T
	program, name string
}

func (c *testCluster) run(name string, args ...string) string {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), 30*time.Minute)
	if c.Context().Err() != nil {
		// In a cleanup the test's own context has ended.
		ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
	}
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var out, progress strings.Builder
	cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(&progress, os.Stderr)
	if err := cmd.Run(); err != nil {
		c.Fatalf("%s %s: %v\n%s%s", filepath.Base(name), strings.Join(args, " "), err, out.String(), progress.String())
	}
	return out.String()
}

func (c *testCluster) localcluster(args ...string) string {
	c.Helper()
	return c.run(c.program, append(args, "--name", c.name)...)
}

// fails runs a command that has to fail with these words, and returns what it prints.
func (c *testCluster) fails(words string, args ...string) string {
	c.Helper()
	var out, problem strings.Builder
	cmd := exec.CommandContext(c.Context(), c.program, append(args, "--name", c.name)...)
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err == nil || !strings.Contains(problem.String(), words) {
		c.Fatalf("localcluster %s: got %v and %s, want a failure about %q", strings.Join(args, " "), err, problem.String(), words)
	}
	return out.String()
}

func (c *testCluster) status() cluster.Status {
	c.Helper()
	var s cluster.Status
	if err := json.Unmarshal([]byte(c.localcluster("status", "--output", "json")), &s); err != nil {
		c.Fatal(err)
	}
	return s
}

func (c *testCluster) kubectl(args ...string) string {
	c.Helper()
	s := c.status()
	return c.run(filepath.Join(s.Programs, "kubectl"), append([]string{"--kubeconfig", s.Kubeconfig}, args...)...)
}

// awaitSupervisorEnd waits until the cluster's killed supervisor is gone.
func (c *testCluster) awaitSupervisorEnd() {
	c.Helper()
	l, err := cluster.NewLayout(c.name)
	if err != nil {
		c.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		running, err := l.Running()
		if err != nil {
			c.Fatal(err)
		}
		if !running {
			return
		}
		if time.Now().After(end) {
			c.Fatal("the supervisor doesn't end")
		}
	}
}
