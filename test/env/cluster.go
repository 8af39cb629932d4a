//go:build unix

package env

import (
	"context"
	"fmt"
	"path/filepath"
)

// Cluster is a local cluster, whether it runs or not.
type Cluster struct {
	env *Env
	// Name tells clusters beside each other apart.
	Name string
	// ControlPlaneOnly: etcd, API server and controller manager, without a node; needs neither root nor Linux.
	ControlPlaneOnly bool
}

// Cluster is the local cluster with a name.
func (e *Env) Cluster(name string) *Cluster { return &Cluster{env: e, Name: name} }

// ControlPlane is a cluster that runs no pods.
func (e *Env) ControlPlane(name string) *Cluster {
	return &Cluster{env: e, Name: name, ControlPlaneOnly: true}
}

func (c *Cluster) args(command string, args ...string) []string {
	return append([]string{"-C", filepath.Join(c.env.Root, "test/localcluster"), "run", ".", command, "--name", c.Name}, args...)
}

// Up starts the cluster unless it runs, and gives the path of its administrator's kubeconfig. The first time ever it builds
// Kubernetes, which takes about a quarter of an hour on two cores.
func (c *Cluster) Up(ctx context.Context) (kubeconfig string, err error) {
	var args []string
	if c.ControlPlaneOnly {
		args = append(args, "--control-plane")
	}
	if err := c.env.run(ctx, "go", c.args("up", args...)...); err != nil {
		return "", fmt.Errorf("start the cluster %s: %w", c.Name, err)
	}
	return c.env.output(ctx, "go", c.args("kubeconfig")...)
}

// Down stops the cluster and removes all of it.
func (c *Cluster) Down(ctx context.Context) error {
	if err := c.env.run(ctx, "go", c.args("down")...); err != nil {
		return fmt.Errorf("stop the cluster %s: %w", c.Name, err)
	}
	return nil
}

// StopComponent kills one program of the cluster, such as kube-apiserver, and keeps it down.
func (c *Cluster) StopComponent(ctx context.Context, name string) error {
	return c.changeComponent(ctx, "stop", name)
}

// StartComponent starts what StopComponent has stopped, and waits until it is ready.
func (c *Cluster) StartComponent(ctx context.Context, name string) error {
	return c.changeComponent(ctx, "start", name)
}

// RestartComponent kills one program of the cluster, starts it again, and waits until it is ready.
func (c *Cluster) RestartComponent(ctx context.Context, name string) error {
	return c.changeComponent(ctx, "restart", name)
}

func (c *Cluster) changeComponent(ctx context.Context, verb, name string) error {
	if err := c.env.run(ctx, "go", c.args(verb, name)...); err != nil {
		return fmt.Errorf("%s %s of the cluster %s: %w", verb, name, c.Name, err)
	}
	return nil
}

// LoadImages puts image archives into the cluster's node.
func (c *Cluster) LoadImages(ctx context.Context, archives ...string) error {
	if err := c.env.run(ctx, "go", c.args("load-image", archives...)...); err != nil {
		return fmt.Errorf("load images into the cluster %s: %w", c.Name, err)
	}
	return nil
}

// BuildCluster builds all programs of a cluster that are not built yet. Up does so too.
func (e *Env) BuildCluster(ctx context.Context) error {
	if _, err := e.output(ctx, "go", "-C", filepath.Join(e.Root, "test/localcluster"), "run", ".", "binaries"); err != nil {
		return fmt.Errorf("build the cluster's programs: %w", err)
	}
	return nil
}

// Binary gives the path of one of the programs that test/localcluster builds, for instance kubectl or helm; it is built if it
// is not there yet.
func (e *Env) Binary(ctx context.Context, name string) (string, error) {
	dir, err := e.output(ctx, "go", "-C", filepath.Join(e.Root, "test/localcluster"), "run", ".", "binaries", "--only", name)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return filepath.Join(dir, name), nil
}
