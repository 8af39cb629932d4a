package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// nodeInterface is the name of the link to the machine inside the cluster's network.
const nodeInterface = "eth0"

// isolate makes a process the first of its own namespaces.
func isolate(attr *syscall.SysProcAttr) {
	attr.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET
}

func launchHint(mode Mode, err error) string {
	if mode == Full && errors.Is(err, syscall.EPERM) {
		return " (this root may not make namespaces: in a container it needs to be privileged)"
	}
	return ""
}

// kernelSettings are those that a kubelet sets on its machine. It finds them set, so the machine's own are left alone.
var kernelSettings = map[string]string{
	"vm/overcommit_memory":     "1",
	"vm/panic_on_oom":          "0",
	"kernel/panic":             "10",
	"kernel/panic_on_oops":     "1",
	"kernel/keys/root_maxkeys": "1000000",
	// 25 bytes for each key.
	"kernel/keys/root_maxbytes": "25000000",
}

// enterNode gives the calling process, the first of new namespaces, and all it will start, the node's own view of the machine.
func enterNode(ctx context.Context, l Layout, spec Spec) error {
	if err := mountNode(l); err != nil {
		return fmt.Errorf("prepare the node's file system: %w", err)
	}
	if err := configureLink(ctx, spec.Network); err != nil {
		return fmt.Errorf("prepare the node's network: %w", err)
	}
	return nil
}

// mountNode replaces those directories that components and pods change and that aren't configurable. The machine's own don't
// see any of it.
func mountNode(l Layout) error {
	// Nothing that is mounted from here on is seen outside, but what one component or pod mounts is seen by the others.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("/run: %w", err)
	}
	const home = "/run/localcluster"
	for _, dir := range []string{home, "/run/lock"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := bind(l.Home, home); err != nil {
		return err
	}
	// What the kubelet, CNI, and volumes of type hostPath have there goes with the cluster.
	for _, target := range coveredDirs {
		if err := bind(l.cover(target), target); err != nil {
			return err
		}
	}
	// The user's cache may be below one of them.
	if _, err := os.Stat(l.specFile()); errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(l.Home, 0o755); err != nil {
			return err
		}
		if err := bind(home, l.Home); err != nil {
			return err
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	if err := coverKernelSettings("/run/kernel-settings"); err != nil {
		return err
	}
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "")
}

func bind(source, target string) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s to %s: %w", source, target, err)
	}
	return nil
}

func coverKernelSettings(dir string) error {
	for name, value := range kernelSettings {
		cover := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(cover), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(cover, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		err := bind(cover, filepath.Join("/proc/sys", name))
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return nil
}

func configureLink(ctx context.Context, n Network) error {
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		{"address", "add", netip.PrefixFrom(n.Node, n.link().Bits()).String(), "dev", nodeInterface},
		{"link", "set", nodeInterface, "up"},
	} {
		if err := run(ctx, "ip", args...); err != nil {
			return err
		}
	}
	// Of this network only: pods are reached through the node.
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
}
