// Package build makes the programs that a cluster consists of, from Go modules pinned in the directory binaries, into a
// per-user cache. It knows nothing of how they are run.
package build

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Binary says how one program is built.
type Binary struct {
	// Name is the file it is built into.
	Name string
	// Module is the directory of its module, relative to test/localcluster.
	Module string
	// Package is the import path of its main package, or a path relative to Module.
	Package string
	// Tags are build tags.
	Tags string
	// LDFlags are set beside -s -w.
	LDFlags string
	// FirstBuild is about how long the build takes on two cores when those before it in the catalog have been built and
	// nothing else has.
	FirstBuild time.Duration
}

const (
	kubernetesModule = "binaries/kubernetes"
	containerdModule = "binaries/containerd"
	// kubernetesVersion is what the programs tell their clients; it has to be the version of binaries/kubernetes/go.mod.
	kubernetesVersion = "v1.37.2"
	// containerdVersion has to be the version of binaries/containerd/go.mod.
	containerdVersion = "v2.4.2"
	// Storage that a cluster for tests does without, and that would want C libraries.
	containerdTags = "no_btrfs,no_devmapper,no_zfs"
)

func kubernetes(name string, first time.Duration) Binary {
	const p = "k8s.io/component-base/version."
	part := strings.SplitN(strings.TrimPrefix(kubernetesVersion, "v"), ".", 3)
	return Binary{
		Name: name, Module: kubernetesModule, Package: "k8s.io/kubernetes/cmd/" + name, FirstBuild: first,
		LDFlags: fmt.Sprintf("-X %sgitVersion=%s -X %sgitMajor=%s -X %sgitMinor=%s", p, kubernetesVersion, p, part[0], p, part[1]),
	}
}

func containerd(name string, first time.Duration) Binary {
	return Binary{
		Name: name, Module: containerdModule, Package: "github.com/containerd/containerd/v2/cmd/" + name, Tags: containerdTags,
		LDFlags: "-X github.com/containerd/containerd/v2/version.Version=" + containerdVersion, FirstBuild: first,
	}
}

// Catalog lists all programs in the order in which they are built: what a control plane needs first, and what shares compiled
// packages together.
func Catalog() []Binary {
	return []Binary{
		{Name: "etcd", Module: "binaries/etcd", Package: "go.etcd.io/etcd/server/v3", FirstBuild: time.Minute},
		kubernetes("kube-apiserver", 6*time.Minute),
		kubernetes("kube-controller-manager", 90*time.Second),
		kubernetes("kubectl", 70*time.Second),
		kubernetes("kube-scheduler", 15*time.Second),
		kubernetes("kubelet", 50*time.Second),
		kubernetes("kube-proxy", 30*time.Second),
		containerd("containerd", 50*time.Second),
		containerd("containerd-shim-runc-v2", 2*time.Second),
		containerd("ctr", 4*time.Second),
		{Name: "coredns", Module: "binaries/coredns", Package: ".", FirstBuild: 20 * time.Second},
		{Name: "pause", Module: "binaries/pause", Package: ".", FirstBuild: time.Second},
		{Name: "helm", Module: "binaries/helm", Package: "helm.sh/helm/v4/cmd/helm", FirstBuild: 40 * time.Second},
	}
}

// ControlPlane names the programs that a control plane without a node needs.
func ControlPlane() []string {
	return []string{"etcd", "kube-apiserver", "kube-controller-manager", "kubectl"}
}

// Select returns the programs with the given names in the catalog's order, or all of them if there are none.
func Select(names ...string) ([]Binary, error) {
	all := Catalog()
	if len(names) == 0 {
		return all, nil
	}
	known := make([]string, len(all))
	for i, b := range all {
		known[i] = b.Name
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("no program %q; there are %s", n, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(all, func(b Binary) bool { return !slices.Contains(names, b.Name) }), nil
}
