//go:build unix

package env

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	imageName = "mcptasks"
	imageTag  = "dev"
	// installTimeout is how long the release's pods may take to become ready.
	installTimeout = "3m"
)

// Image builds the project's image and gives the path of its archive.
func (e *Env) Image(ctx context.Context) (string, error) {
	if err := e.run(ctx, "make", "--no-print-directory", "--silent", "image", "IMAGE="+imageName+":"+imageTag); err != nil {
		return "", fmt.Errorf("build the image: %w", err)
	}
	return filepath.Join(e.Root, "dist", "mcptasks.tar"), nil
}

// InstallChart installs the chart, or upgrades it, and waits until all its pods are ready. values are added to the chart's own;
// the image is the one of archive, which the cluster must have been given.
func (e *Env) InstallChart(ctx context.Context, kubeconfig, archive string, values map[string]any) error {
	helm, err := e.Binary(ctx, "helm")
	if err != nil {
		return err
	}
	digest, err := fileDigest(archive)
	if err != nil {
		return err
	}
	// The tag stays the same; the annotation makes an upgrade replace the pods of an older image.
	component := func() map[string]any {
		return map[string]any{"podAnnotations": map[string]any{"mcptasks.dev/image-archive": digest}}
	}
	all := merge(map[string]any{
		"image":      map[string]any{"repository": imageName, "tag": imageTag},
		"controller": component(),
		"endpoint":   component(),
	}, values)
	document, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("values of the chart: %w", err)
	}
	cmd := e.Command(ctx, helm, "upgrade", "--install", Namespace, filepath.Join(e.Root, "charts/mcptasks"),
		"--kubeconfig", kubeconfig, "--namespace", Namespace, "--create-namespace",
		"--wait", "--timeout", installTimeout, "--hide-notes", "--values", "-")
	cmd.Stdin = strings.NewReader(string(document))
	if err := cmd.Run(); err != nil {
		e.describe(ctx, kubeconfig)
		return fmt.Errorf("helm could not install the chart: %w", err)
	}
	return nil
}

// describe shows what is known of the release's pods, for a person who has to find out why they are not ready.
func (e *Env) describe(ctx context.Context, kubeconfig string) {
	kubectl, err := e.Binary(ctx, "kubectl")
	if err != nil {
		fmt.Fprintln(e.Out, err)
		return
	}
	for _, args := range [][]string{
		{"get", "pods", "-o", "wide"},
		{"events", "--types=Warning"},
		{"logs", "-l", "app.kubernetes.io/name=mcptasks", "--prefix", "--tail=20"},
	} {
		args = append(args, "--kubeconfig", kubeconfig, "--namespace", Namespace)
		if err := e.run(ctx, kubectl, args...); err != nil {
			fmt.Fprintln(e.Out, err)
		}
	}
}

// merge lays over on top of base; where both have a map, the maps are merged.
func merge(base, over map[string]any) map[string]any {
	for key, value := range over {
		below, isMap := base[key].(map[string]any)
		above, isMapToo := value.(map[string]any)
		if isMap && isMapToo {
			value = merge(below, above)
		}
		base[key] = value
	}
	return base
}

func fileDigest(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
