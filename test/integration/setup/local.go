//go:build unix

package setup

import (
	"context"
	"os"
	"testing"

	"github.com/mcptasks/mcptasks/test/env"
)

// LocalCluster is the environment variable with the name of the local cluster that the kubeconfig leads to.
const LocalCluster = "MCPTASKS_INTEGRATION_CLUSTER"

// Components stops and starts single components of the cluster under test. Whatever it has stopped, it starts again at the end of
// the test.
type Components struct {
	t       *testing.T
	cluster *env.Cluster
	stopped map[string]bool
}

// NewComponents skips the test where the cluster is not a local one.
func NewComponents(t *testing.T) *Components {
	t.Helper()
	name := os.Getenv(LocalCluster)
	if name == "" {
		t.Skip(LocalCluster + " is not set; make test-integration sets it")
	}
	e, err := env.New(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	c := &Components{t: t, cluster: e.ControlPlane(name), stopped: map[string]bool{}}
	t.Cleanup(c.startAll)
	return c
}

// Stop kills a component and keeps it down.
func (c *Components) Stop(name string) {
	c.t.Helper()
	c.stopped[name] = true
	if err := c.cluster.StopComponent(c.t.Context(), name); err != nil {
		c.t.Fatal(err)
	}
}

// Start starts what was stopped, and waits until it is ready.
func (c *Components) Start(name string) {
	c.t.Helper()
	if err := c.cluster.StartComponent(c.t.Context(), name); err != nil {
		c.t.Fatal(err)
	}
	delete(c.stopped, name)
}

// Restart kills a component, starts it again, and waits until it is ready.
func (c *Components) Restart(name string) {
	c.t.Helper()
	c.Stop(name)
	c.Start(name)
}

func (c *Components) startAll() {
	// etcd goes before what needs it.
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager"} {
		if !c.stopped[name] {
			continue
		}
		if err := c.cluster.StartComponent(context.Background(), name); err != nil {
			c.t.Error(err)
		}
	}
}
