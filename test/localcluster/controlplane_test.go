//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"
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
	if active := c.kubectl("get", job, "--output", "jsonpath={.status.active}"); active != "1" {
		t.Errorf("the Job isn't as it was: %q active pods", active)
	}
}
