//go:build unix

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/image"
)

// imageNamespace is where containerd keeps the images of Kubernetes.
const imageNamespace = "k8s.io"

// Programs that run in pods, and so in images made of nothing else.
const (
	pause   = "pause"
	coredns = "coredns"
)

func (c *Cluster) pauseImage() string { return c.systemImage(pause) }

// systemImage is the name of the image of one of our programs. Its tag names what was built, so a new build is a new image.
func (c *Cluster) systemImage(program string) string {
	tag := "unknown"
	if target, err := os.Readlink(filepath.Join(c.spec.Programs, program)); err == nil {
		tag = strings.TrimPrefix(filepath.Base(target), program+"-")
	}
	return "localcluster.mcptasks.dev/" + program + ":" + tag
}

// loadSystemImages gives the node the images that it needs itself, unless it has them.
func (c *Cluster) loadSystemImages(ctx context.Context) error {
	present, err := c.ctr(ctx, "images", "list", "--quiet")
	if err != nil {
		return err
	}
	for _, program := range []string{pause, coredns} {
		ref := c.systemImage(program)
		if strings.Contains(string(present), ref) {
			continue
		}
		step := c.out.Step("load image "+program, nil)
		file := c.path("run", program+".tar")
		err := image.WriteProgram(file, ref, filepath.Join(c.spec.Programs, program))
		if err == nil {
			_, err = c.ctr(ctx, "images", "import", file)
		}
		if err = errors.Join(err, os.Remove(file)); err != nil {
			step.Fail()
			return fmt.Errorf("load image %s: %w", ref, err)
		}
		step.Done("")
	}
	return nil
}

// LoadImages gives the node the images in files as docker save, crane and skopeo write them.
func (c *Cluster) LoadImages(ctx context.Context, files ...string) error {
	if c.spec.Mode != Full {
		return fmt.Errorf("cluster %q has no node to load images into", c.Name)
	}
	for _, file := range files {
		step := c.out.Step("load "+file, nil)
		if _, err := c.ctr(ctx, "images", "import", file); err != nil {
			step.Fail()
			return fmt.Errorf("load images from %s: %w", file, err)
		}
		step.Done("")
	}
	return nil
}

// ctr runs containerd's command line tool in the machine's own namespaces, where the caller's files are.
func (c *Cluster) ctr(ctx context.Context, args ...string) ([]byte, error) {
	pid, running, err := c.supervisor()
	if err != nil {
		return nil, err
	}
	if !running {
		return nil, ErrNotRunning
	}
	socket := fmt.Sprintf("/proc/%d/root%s", pid, containerdSocket)
	args = append([]string{"--address", socket, "--namespace", imageNamespace}, args...)
	out, err := exec.CommandContext(ctx, filepath.Join(c.spec.Programs, "ctr"), args...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return out, nil
}
