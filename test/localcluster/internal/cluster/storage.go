//go:build unix

package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
)

//go:embed manifests/storage.yaml
var storageManifest string

// applyStorage makes the default storage class.
func (c *Cluster) applyStorage(ctx context.Context) error {
	if err := c.apply(ctx, strings.NewReader(storageManifest)); err != nil {
		return fmt.Errorf("apply the storage class: %w", err)
	}
	return nil
}
