package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/cluster"
	"github.com/mcptasks/mcptasks/test/localcluster/internal/image"
)

// The tests of whole clusters build all programs, and take minutes where that hasn't been done yet: they run where this
// variable is set.
const enableVariable = "LOCALCLUSTER_TEST"

const greeting = "hello from a service\n"

// TestFullCluster uses a cluster as its users do, kills all of it, and uses it again.
func TestFullCluster(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a full cluster needs root")
	}
	program := buildProgram(t)
	one := &testCluster{T: t, program: program, name: "selftest-1"}
	two := &testCluster{T: t, program: program, name: "selftest-2"}
	for _, c := range []*testCluster{one, two} {
		c.localcluster("down")
		t.Cleanup(func() { c.localcluster("down") })
	}

	one.localcluster("up")
	one.localcluster("load-image", buildProbe(t))
	one.kubectl("apply", "--filename", "testdata/service.yaml")
	one.kubectl("rollout", "status", "deployment/greeter", "--timeout=2m")
	one.runJob()
	one.reachService()

	t.Run("a second up changes nothing and takes no time", func(t *testing.T) {
		before := one.status()
		began := time.Now()
		one.localcluster("up")
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %s", took)
		}
		if after := one.status(); after.Supervisor != before.Supervisor {
			t.Errorf("the cluster was started again: supervisor %d, then %d", before.Supervisor, after.Supervisor)
		}
	})

	t.Run("two clusters beside each other", func(t *testing.T) {
		two.localcluster("up")
		one.runJob()
		one.reachService()
		if a, b := one.status().Network.Pods, two.status().Network.Pods; a.Overlaps(b) {
			t.Errorf("pods of both are in %s and %s", a, b)
		}
		remains := two.remember()
		two.localcluster("down")
		remains.check(t)
		one.reachService()
	})

	t.Run("up after everything was killed", func(t *testing.T) {
		before := one.remember()
		for _, pid := range before.processes() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		one.localcluster("up")
		one.kubectl("rollout", "status", "deployment/greeter", "--timeout=2m")
		one.runJob()
		one.reachService()
		if left := before.processes(); len(left) > 0 {
			t.Errorf("processes of the earlier start are left: %v", left)
		}
	})

	t.Run("nothing is left after down", func(t *testing.T) {
		remains := one.remember()
		one.localcluster("down")
		remains.check(t)
	})
}

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

func buildProbe(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	goBuild(t, filepath.Join(dir, "probe"), "./testdata/probe")
	file := filepath.Join(dir, "probe.tar")
	if err := image.WriteProgram(file, "localcluster.mcptasks.dev/probe:test", filepath.Join(dir, "probe")); err != nil {
		t.Fatal(err)
	}
	return file
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

// runJob runs a Job that reads from a service by its DNS name, and checks its log.
func (c *testCluster) runJob() {
	c.Helper()
	job := strings.TrimSpace(c.kubectl("create", "--filename", "testdata/job.yaml", "--output", "name"))
	c.kubectl("wait", "--for=condition=Complete", "--timeout=2m", job)
	if log := c.kubectl("logs", job); log != greeting {
		c.Errorf("the log of %s is %q, want %q", job, log, greeting)
	}
}

// reachService reaches the service from this machine by all addresses it has.
func (c *testCluster) reachService() {
	c.Helper()
	address := c.kubectl("get", "service", "greeter", "--output", "jsonpath={.spec.clusterIP}")
	for _, url := range []string{"http://" + address, fmt.Sprintf("http://%s:30080", c.status().Network.Node)} {
		client := &http.Client{Timeout: 10 * time.Second}
		resp, err := client.Get(url)
		if err != nil {
			c.Error(err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(body) != greeting {
			c.Errorf("%s answered %q, %v, want %q", url, body, err, greeting)
		}
	}
}

// footprint is what a running cluster has on this machine.
type footprint struct {
	dir               string
	processNamespace  string
	networkNamespace  string
	controlGroupStart string
	address           string
}

func (c *testCluster) remember() footprint {
	c.Helper()
	s := c.status()
	return footprint{
		dir:               filepath.Dir(s.Kubeconfig),
		processNamespace:  namespace(strconv.Itoa(s.Supervisor), "pid"),
		networkNamespace:  namespace(strconv.Itoa(s.Supervisor), "net"),
		controlGroupStart: "mcptasks-" + s.Name + "-",
		address:           s.Network.Host.String(),
	}
}

func namespace(pid, kind string) string {
	id, _ := os.Readlink(filepath.Join("/proc", pid, "ns", kind))
	return id
}

// processes returns all processes in the cluster's namespace: components, shims, and what runs in pods, the supervisor last.
func (f footprint) processes() []int {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var pids []int
	for _, d := range dirs {
		pid := filepath.Base(d)
		// One that has ended is there until its parent, by now the machine's init, looks.
		if stat, _ := os.ReadFile(filepath.Join(d, "stat")); strings.Contains(string(stat), ") Z ") {
			continue
		}
		if namespace(pid, "pid") == f.processNamespace || namespace(pid, "net") == f.networkNamespace {
			n, _ := strconv.Atoi(pid)
			pids = append([]int{n}, pids...)
		}
	}
	return pids
}

// check fails the test for everything that is left of the cluster.
func (f footprint) check(t *testing.T) {
	t.Helper()
	if f.processNamespace == "" || f.networkNamespace == "" {
		t.Fatal("the cluster's namespaces weren't found while it ran")
	}
	if pids := f.processes(); len(pids) > 0 {
		t.Errorf("processes are left: %v", pids)
	}
	if _, err := os.Stat(f.dir); !os.IsNotExist(err) {
		t.Errorf("%s is left", f.dir)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), f.dir) {
		t.Errorf("mounts are left in %s", f.dir)
	}
	if groups, _ := filepath.Glob("/sys/fs/cgroup/*/" + f.controlGroupStart + "*"); len(groups) > 0 {
		t.Errorf("control groups are left: %v", groups)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if strings.HasPrefix(a.String(), f.address+"/") {
			t.Errorf("the interface with address %s is left", a)
		}
	}
}
