package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// prepareNode writes the node's configuration and makes its control groups.
func (c *Cluster) prepareNode(t tools) error {
	if err := c.writeNodeConfig(c.snapshotter(), t.cniPlugins); err != nil {
		return err
	}
	if err := c.createVolumes(); err != nil {
		return err
	}
	return createControlGroups(c.controlGroup())
}

// snapshotter is overlay where the file system of the cluster's directory can be a part of one, as it can't inside most
// containers.
func (c *Cluster) snapshotter() string {
	dir, err := os.MkdirTemp(c.Dir(), "overlay-")
	if err != nil {
		return native
	}
	defer func() { _ = os.RemoveAll(dir) }()
	part := func(name string) string {
		p := filepath.Join(dir, name)
		err = errors.Join(err, os.Mkdir(p, 0o755))
		return p
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", part("lower"), part("upper"), part("work"))
	merged := part("merged")
	if err != nil || unix.Mount("overlay", merged, "overlay", 0, options) != nil {
		return native
	}
	// A mount that is left would keep the directory from being removed; it is detached even if something looks into it.
	_ = unix.Unmount(merged, unix.MNT_DETACH)
	return overlay
}

// finishNode waits until the node takes pods, and gives it images, cluster DNS and volumes.
func (c *Cluster) finishNode(ctx context.Context, api *api) error {
	if err := c.loadSystemImages(ctx); err != nil {
		return err
	}
	if err := c.await(ctx, "wait for the node", func(ctx context.Context) error {
		return api.nodeReady(ctx, c.Name)
	}); err != nil {
		return err
	}
	if err := c.applyObjects(ctx); err != nil {
		return err
	}
	if err := c.await(ctx, "wait for cluster DNS", c.dnsAnswers); err != nil {
		return errors.Join(err, api.podProblems(context.WithoutCancel(ctx), dnsNamespace))
	}
	return nil
}
