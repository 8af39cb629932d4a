//go:build unix

// Package cluster brings up, watches and removes Kubernetes clusters of one node, or of a control plane alone, on this machine.
//
// A whole cluster lives in namespaces of its own (processes, mounts, network), below one supervisor that is their first
// process. When that ends, however it ends, the kernel ends everything else in them, and the mounts and the network go
// with them; so nothing of a cluster can be left behind but files and empty control groups, and two clusters can't meet.
// A control plane alone is a few ordinary processes on the loopback interface.
package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/pki"
)

// Names are used for directories, node names and control groups.
var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// Layout says where the files of a cluster are.
type Layout struct {
	// Home has the clusters and the programs of all checkouts of a user.
	Home string
	Name string
}

// NewLayout returns the layout of the cluster with a name, in the user's cache directory.
func NewLayout(name string) (Layout, error) {
	if !validName.MatchString(name) {
		return Layout{}, fmt.Errorf("%q can't be a cluster's name: use up to 32 lower-case letters, digits and dashes", name)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return Layout{}, fmt.Errorf("find a directory for caches (set HOME or XDG_CACHE_HOME): %w", err)
	}
	return Layout{Home: filepath.Join(cache, "mcptasks", "localcluster"), Name: name}, nil
}

// Dir is the cluster's own directory.
func (l Layout) Dir() string { return filepath.Join(l.Home, "clusters", l.Name) }

func (l Layout) path(parts ...string) string {
	return filepath.Join(append([]string{l.Dir()}, parts...)...)
}

// Kubeconfig is the administrator's.
func (l Layout) Kubeconfig() string { return l.path("kubeconfig") }

// commandLock is held by a command that changes the cluster.
func (l Layout) commandLock() string { return filepath.Join(l.Home, "clusters", l.Name+".lock") }

// supervisorLock is held by the cluster's supervisor as long as it lives, and has its process id.
func (l Layout) supervisorLock() string { return l.path("run", "supervisor.lock") }
func (l Layout) supervisorLog() string  { return l.log("supervisor") }

func (l Layout) componentLock(name string) string  { return l.path("run", name+".lock") }
func (l Layout) log(component string) string       { return l.path("logs", component+".log") }
func (l Layout) config(name string) string         { return l.path("config", name) }
func (l Layout) pair(name string) pki.Pair         { return pki.InDir(l.path("pki"), name) }
func (l Layout) kubeconfigOf(client string) string { return l.config(client + ".kubeconfig") }
func (l Layout) specFile() string                  { return l.path("cluster.json") }
func (l Layout) planFile() string                  { return l.config("plan.json") }
func (l Layout) stateFile() string                 { return l.path("run", "state.json") }
func (l Layout) holdDir() string                   { return l.path("run", "hold") }

// id tells the cluster from all others of the machine, also those of other users, in what is shared: it is short enough for
// a network interface with a prefix.
func (l Layout) id() string {
	sum := sha256.Sum256([]byte(l.Dir()))
	return hex.EncodeToString(sum[:])[:8]
}

// hostInterface is the machine's end of the link to the cluster's network.
func (l Layout) hostInterface() string { return "mcpt" + l.id() }

// controlGroup is the parent of all pods' control groups.
func (l Layout) controlGroup() string { return "/mcptasks-" + l.Name + "-" + l.id() }

// coveredDirs are directories of the machine in whose place a full cluster has its own.
var coveredDirs = []string{"/var/lib", "/var/log", "/tmp"}

// cover is the directory that a full cluster has in place of one of coveredDirs.
func (l Layout) cover(dir string) string { return l.path("root", dir) }

// dataDirs hold what a cluster keeps when it is started again.
func (l Layout) dataDirs() []string {
	return []string{l.path("etcd"), l.path("containerd"), l.path("kubelet"), l.path("root")}
}

func (l Layout) create() error {
	dirs := append(l.dataDirs(), l.path("run"), l.path("logs"), l.path("config"), l.path("pki"))
	for _, d := range coveredDirs {
		dirs = append(dirs, l.cover(d))
	}
	for _, d := range dirs {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(l.cover("/tmp"), 0o777|os.ModeSticky); err != nil {
		return err
	}
	// Keys of the cluster's authority are in here.
	return os.Chmod(l.Dir(), 0o700)
}
