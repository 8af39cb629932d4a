//go:build unix

package setup

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/mcptasks/mcptasks/test/env"
)

// LocalCluster is the environment variable with the name of the local cluster that the kubeconfig leads to.
const LocalCluster = "MCPTASKS_INTEGRATION_CLUSTER"

// Components stops and starts single components of the cluster under test. Whatever it has stopped, it starts again at the end of
// the test.
type Components struct {
	t       *testing.T
	cluster *env.Cluster
	outages []Outage
}

// Outage is a time in which a component was not there.
type Outage struct {
	Component string
	// Began is when it was about to be killed, and Over when it was ready again; zero: it is not.
	Began, Over time.Time
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
	c := &Components{t: t, cluster: e.ControlPlane(name)}
	t.Cleanup(c.startAll)
	return c
}

// Stop kills a component and keeps it down.
func (c *Components) Stop(name string) {
	c.t.Helper()
	c.outages = append(c.outages, Outage{Component: name, Began: time.Now()})
	if err := c.cluster.StopComponent(c.t.Context(), name); err != nil {
		c.t.Fatal(err)
	}
}

// Start starts what was stopped, and waits until it is ready.
func (c *Components) Start(name string) {
	c.t.Helper()
	if err := c.start(c.t.Context(), name); err != nil {
		c.t.Fatal(err)
	}
}

// Restart kills a component, starts it again, and waits until it is ready.
func (c *Components) Restart(name string) {
	c.t.Helper()
	c.Stop(name)
	c.Start(name)
}

// Outages are those that there were so far.
func (c *Components) Outages() []Outage { return slices.Clone(c.outages) }

func (c *Components) start(ctx context.Context, name string) error {
	if err := c.cluster.StartComponent(ctx, name); err != nil {
		return err
	}
	for i := range c.outages {
		if o := &c.outages[i]; o.Component == name && o.Over.IsZero() {
			o.Over = time.Now()
		}
	}
	return nil
}

func (c *Components) startAll() {
	// etcd goes before what needs it.
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager"} {
		down := func(o Outage) bool { return o.Component == name && o.Over.IsZero() }
		if !slices.ContainsFunc(c.outages, down) {
			continue
		}
		if err := c.start(context.Background(), name); err != nil {
			c.t.Error(err)
		}
	}
}
