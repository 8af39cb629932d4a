//go:build unix

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A cluster has this many volumes of its default storage class "standard". They are made beforehand, as directories of the
// node, so that no provisioner is needed; unlike those of type hostPath they heed a pod's fsGroup.
const volumeCount = 20

func volumes() []string {
	names := make([]string, volumeCount)
	for i := range names {
		names[i] = fmt.Sprintf("local-%02d", i+1)
	}
	return names
}

// volumeDir is the directory of a volume, which the node sees as /var/lib/volumes/NAME.
func (l Layout) volumeDir(name string) string {
	return filepath.Join(l.cover("/var/lib"), "volumes", name)
}

func (l Layout) createVolumes() error {
	for _, name := range volumes() {
		dir := l.volumeDir(name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		// Whoever a container runs as may write, as with the provisioners of other clusters for tests.
		if err := os.Chmod(dir, 0o777); err != nil {
			return err
		}
	}
	return nil
}

// renewVolumes empties volumes whose claim is gone and makes them available again.
func (c *Cluster) renewVolumes(ctx context.Context, api *api) error {
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct{ Phase string }
		}
	}
	if err := api.get(ctx, "/api/v1/persistentvolumes", &list); err != nil {
		return err
	}
	ours := map[string]bool{}
	for _, name := range volumes() {
		ours[name] = true
	}
	renewed := false
	for _, v := range list.Items {
		if !ours[v.Metadata.Name] || v.Status.Phase != "Released" {
			continue
		}
		if err := c.kubectl(ctx, nil, "delete", "persistentvolume", v.Metadata.Name); err != nil {
			return err
		}
		if err := os.RemoveAll(c.volumeDir(v.Metadata.Name)); err != nil {
			return err
		}
		renewed = true
	}
	if !renewed {
		return nil
	}
	return errors.Join(c.createVolumes(), c.applyObjects(ctx))
}
