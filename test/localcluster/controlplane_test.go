//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/cluster"
)

// TestControlPlane uses a control plane without a node, also after its supervisor was killed and left the rest running.
func TestControlPlane(t *testing.T) {
	c := &testCluster{T: t, program: buildProgram(t), name: "selftest-cp"}
	c.localcluster("down")
	t.Cleanup(func() { c.localcluster("down") })

	c.localcluster("up", "--control-plane", "--unsafe-no-fsync", "--controller-manager-arg=--concurrent-job-syncs=7")
	before := c.status()
	// The real Job controller makes the pod, which stays where it is.
	job := strings.TrimSpace(c.kubectl("create", "--filename", "testdata/job.yaml", "--output", "name"))
	c.kubectl("wait", "--for=jsonpath={.status.active}=1", "--timeout=1m", job)
	if token := c.kubectl("create", "token", "default", "--audience=somebody"); strings.Count(token, ".") != 2 {
		t.Errorf("a service account's token is %q", token)
	}

	if err := syscall.Kill(before.Supervisor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.awaitSupervisorEnd()
	c.localcluster("up", "--control-plane", "--unsafe-no-fsync", "--controller-manager-arg=--concurrent-job-syncs=7")
	after := c.status()
	for i, component := range before.Components {
		if after.Components[i].PID == component.PID {
			t.Errorf("%s is still process %d", component.Name, component.PID)
		}
	}
	if before.APIServer != after.APIServer {
		t.Errorf("the API server moved from %s to %s", before.APIServer, after.APIServer)
	}
	c.stopAndStart(job)
	if active := c.kubectl("get", job, "--output", "jsonpath={.status.active}"); active != "1" {
		t.Errorf("the Job isn't as it was: %q active pods", active)
	}
}

// stopAndStart stops components and starts them again, with the data they had. job is a Job of the cluster.
func (c *testCluster) stopAndStart(job string) {
	c.Helper()
	before := c.status()
	c.localcluster("stop", "kube-apiserver", "etcd")
	var down cluster.Status
	out := c.fails("isn't healthy", "status", "--output", "json")
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&down); err != nil {
		c.Fatal(err)
	}
	for _, component := range down.Components {
		stopped := component.Name == "etcd" || component.Name == "kube-apiserver"
		if component.Held != stopped || stopped && component.PID != 0 {
			c.Errorf("after etcd and kube-apiserver were stopped, there is %+v", component)
		}
	}
	c.localcluster("start", "etcd", "kube-apiserver")
	if uid := c.kubectl("get", job, "--output", "jsonpath={.metadata.uid}"); uid == "" {
		c.Errorf("%s is gone", job)
	}
	c.localcluster("restart", "kube-controller-manager")
	for i, component := range c.status().Components {
		if component.PID == before.Components[i].PID || component.Held || component.Restarts != 0 {
			c.Errorf("%s, which was process %d, was to be started once: %+v", component.Name, before.Components[i].PID, component)
		}
	}
	c.localcluster("stop", "kube-controller-manager")
	c.localcluster("up", "--control-plane", "--unsafe-no-fsync", "--controller-manager-arg=--concurrent-job-syncs=7")
	if after := c.status(); after.Supervisor != before.Supervisor {
		c.Error("up started the whole cluster again instead of the one component that was stopped")
	}
	c.fails("no component", "stop", "kube-scheduler")
}
