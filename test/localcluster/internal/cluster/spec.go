//go:build unix

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
)

// Mode says how much of a cluster there is.
type Mode string

const (
	// Full is a cluster that runs pods. It needs Linux and root.
	Full Mode = "full"
	// ControlPlane is etcd, the API server and the controller manager, with no node.
	ControlPlane Mode = "control-plane"
)

// Options are what the caller of Up chooses.
type Options struct {
	Mode Mode `json:"mode"`
	// UnsafeNoFsync makes etcd quicker and lets it lose writes when the machine crashes.
	UnsafeNoFsync bool `json:"unsafeNoFsync,omitempty"`
	// ExtraArgs are added to the arguments of components, by component name.
	ExtraArgs map[string][]string `json:"extraArgs,omitempty"`
}

// Spec is all that a cluster was started with.
type Spec struct {
	Options
	// Programs is the directory of the cluster's programs.
	Programs string  `json:"programs"`
	Network  Network `json:"network"`
}

func (s Spec) equal(o Spec) bool { return reflect.DeepEqual(s, o) }

// readSpec returns the cluster's spec; false if there is no such cluster.
func readSpec(l Layout) (Spec, bool, error) {
	var s Spec
	text, err := os.ReadFile(l.specFile())
	if errors.Is(err, os.ErrNotExist) {
		return s, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, true, fmt.Errorf("read what is known of cluster %q: %w; remove it with down", l.Name, err)
	}
	return s, true, nil
}

func writeSpec(l Layout, s Spec) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	draft := l.specFile() + ".new"
	if err := os.WriteFile(draft, text, 0o600); err != nil {
		return err
	}
	return os.Rename(draft, l.specFile())
}

// otherSpecs returns the specs of the user's other clusters. Broken ones are left out.
func otherSpecs(l Layout) []Spec {
	files, _ := filepath.Glob(filepath.Join(l.Home, "clusters", "*", filepath.Base(l.specFile())))
	var specs []Spec
	for _, f := range files {
		other := Layout{Home: l.Home, Name: filepath.Base(filepath.Dir(f))}
		if other.Name == l.Name {
			continue
		}
		if s, ok, err := readSpec(other); ok && err == nil {
			specs = append(specs, s)
		}
	}
	return specs
}
