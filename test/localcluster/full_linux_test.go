package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/image"
)

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
	one.kubectl("apply", "--filename", "testdata/volume.yaml")
	one.kubectl("wait", "--for=condition=Complete", "--timeout=2m", "job/writer")

	t.Run("a second up changes nothing", func(t *testing.T) {
		before := one.status()
		one.localcluster("up")
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
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		before.awaitEnd(t)
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
	for _, url := range []string{"http://" + address, "http://" + net.JoinHostPort(c.status().Network.Node.String(), "30080")} {
		client := &http.Client{Timeout: 10 * time.Second}
		resp, err := client.Get(url)
		if err != nil {
			c.Error(err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
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

// awaitEnd waits until no process is left.
func (f footprint) awaitEnd(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); len(f.processes()) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("processes don't end: %v", f.processes())
		}
	}
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
	for _, hierarchy := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		if groups, _ := filepath.Glob(hierarchy + f.controlGroupStart + "*"); len(groups) > 0 {
			t.Errorf("control groups are left: %v", groups)
		}
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
