package kube

import (
	"context"
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// InstallCRDs installs the project's CRDs from the repository at root, and waits until they are served.
func (c *Cluster) InstallCRDs(ctx context.Context, root string) error {
	dir := filepath.Join(root, "config", "crd")
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	crds, err := ReadManifests(files...)
	if err != nil {
		return err
	}
	if len(crds) == 0 {
		return fmt.Errorf("there are no CRDs in %s", dir)
	}
	if err := c.ApplyManifests(ctx, crds...); err != nil {
		return err
	}
	for _, crd := range crds {
		if err := c.Wait(ctx, crd, Key(crd), func() bool { return established(crd) }); err != nil {
			return fmt.Errorf("the CRD %s is not served: %w", crd.GetName(), err)
		}
	}
	return nil
}

func established(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Established" {
			return c["status"] == "True"
		}
	}
	return false
}
