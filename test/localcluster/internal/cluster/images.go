//go:build unix

package cluster

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
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
		err := writeProgramImage(file, ref, filepath.Join(c.spec.Programs, program))
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

// LoadImages gives the node images from files as docker save and crane write them, and returns their names.
func (c *Cluster) LoadImages(ctx context.Context, files ...string) ([]string, error) {
	if c.spec.Mode != Full {
		return nil, fmt.Errorf("cluster %q has no node to load images into", c.Name)
	}
	var names []string
	for _, file := range files {
		step := c.out.Step("load "+file, nil)
		out, err := c.ctr(ctx, "images", "import", file)
		if err != nil {
			step.Fail()
			return names, fmt.Errorf("load images from %s: %w", file, err)
		}
		step.Done("")
		refs, err := imageNames(file)
		if err != nil {
			return names, fmt.Errorf("%s is loaded, but which images are in it can't be told: %w\n%s", file, err, out)
		}
		names = append(names, refs...)
	}
	return names, nil
}

// imageNames returns the names in an image file; one in the OCI layout has none that tarball knows of.
func imageNames(file string) ([]string, error) {
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(file) })
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range manifest {
		names = append(names, m.RepoTags...)
	}
	return names, nil
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

// writeProgramImage writes an image of one static program to a file.
func writeProgramImage(file, ref, program string) error {
	tag, err := name.NewTag(ref)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	entry := "/" + filepath.Base(program)
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		header := &tar.Header{Name: strings.TrimPrefix(entry, "/"), Mode: 0o755, Size: int64(len(content))}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
		return io.NopCloser(&b), w.Close()
	})
	if err != nil {
		return err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{Entrypoint: []string{entry}, WorkingDir: "/", User: "65535:65535"}
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(file, tag, image)
}
