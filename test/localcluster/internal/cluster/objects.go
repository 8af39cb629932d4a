//go:build unix

package cluster

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed manifests/*.yaml
var manifestFiles embed.FS

var manifests = template.Must(template.ParseFS(manifestFiles, "manifests/*.yaml"))

// applyObjects makes the objects that a full cluster begins with: cluster DNS and storage.
func (c *Cluster) applyObjects(ctx context.Context) error {
	var all bytes.Buffer
	if err := c.renderObjects(&all); err != nil {
		return err
	}
	return c.kubectl(ctx, &all, "apply", "--server-side", "--force-conflicts", "--filename", "-")
}

func (c *Cluster) renderObjects(out io.Writer) error {
	data := map[string]any{
		"Node":       c.Name,
		"DNSImage":   c.systemImage(coredns),
		"DNSAddress": c.spec.Network.DNS(),
		"Domain":     clusterDomain,
		"Volumes":    volumes(),
	}
	for _, t := range manifests.Templates() {
		if err := t.Execute(out, data); err != nil {
			return err
		}
		if _, err := io.WriteString(out, "\n---\n"); err != nil {
			return err
		}
	}
	return nil
}

// kubectl runs kubectl as the cluster's administrator.
func (c *Cluster) kubectl(ctx context.Context, input *bytes.Buffer, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(c.spec.Programs, "kubectl"), append(args, "--kubeconfig", c.Kubeconfig())...)
	if input != nil {
		cmd.Stdin = input
	}
	var problems bytes.Buffer
	cmd.Stderr = &problems
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("kubectl %s: %w: %s", args[0], err, strings.TrimSpace(problems.String()))
	}
	return nil
}
