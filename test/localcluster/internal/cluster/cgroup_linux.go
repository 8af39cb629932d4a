package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const cgroupMount = "/sys/fs/cgroup"

// cgroupHierarchies returns the roots of all hierarchies, and whether there is only one, of version 2.
func cgroupHierarchies() (roots []string, v2 bool, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(cgroupMount, &s); err != nil {
		return nil, false, fmt.Errorf("%s, where control groups should be mounted: %w", cgroupMount, err)
	}
	if s.Type == unix.CGROUP2_SUPER_MAGIC {
		return []string{cgroupMount}, true, nil
	}
	entries, err := os.ReadDir(cgroupMount)
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		// Links are second names of hierarchies with several controllers.
		if e.IsDir() {
			roots = append(roots, filepath.Join(cgroupMount, e.Name()))
		}
	}
	if len(roots) == 0 {
		return nil, false, fmt.Errorf("no control groups are mounted below %s: a full cluster needs them", cgroupMount)
	}
	return roots, false, nil
}

// createControlGroups makes a group in all hierarchies.
func createControlGroups(group string) error {
	roots, v2, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	for _, root := range roots {
		if err := os.MkdirAll(filepath.Join(root, group), 0o755); err != nil {
			return fmt.Errorf("make a control group (a container needs to be privileged for that): %w", err)
		}
	}
	if !v2 {
		return nil
	}
	for _, dir := range []string{cgroupMount, filepath.Join(cgroupMount, group)} {
		if err := delegateControllers(dir); err != nil {
			return err
		}
	}
	return nil
}

// delegateControllers makes all controllers that a version 2 group has available to the groups below it.
func delegateControllers(dir string) error {
	read := func(name string) ([]string, error) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		return strings.Fields(string(text)), err
	}
	available, err := read("cgroup.controllers")
	if err != nil {
		return err
	}
	delegated, err := read("cgroup.subtree_control")
	if err != nil {
		return err
	}
	for _, controller := range available {
		if slices.Contains(delegated, controller) {
			continue
		}
		err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0)
		if errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("controller %s can't be delegated: processes run directly in the control group %s, which in a "+
				"container is its root: move them into a group below it first", controller, dir)
		}
		if err != nil {
			return fmt.Errorf("delegate controller %s: %w", controller, err)
		}
	}
	return nil
}

// removeControlGroups removes a group and all below it. Processes that were in them have been killed, but the kernel may not
// have buried all of them yet.
func removeControlGroups(group string) error {
	roots, _, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	var last error
	removed := waitFor(stopDeadline, func() bool {
		last = nil
		for _, root := range roots {
			last = errors.Join(last, removeTree(filepath.Join(root, group)))
		}
		return last == nil
	})
	if !removed {
		return fmt.Errorf("remove control groups: %w", last)
	}
	return nil
}

// removeTree removes directories from the leaves up; the files in them are the kernel's and go with them.
func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}
