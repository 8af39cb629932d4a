// Command manifests finishes what controller-gen has generated: it drops the descriptions of Kubernetes' own fields from the
// CRDs, which would otherwise be too large for "kubectl apply", and puts copies of CRDs and roles into the Helm chart.
//
// It changes nothing else: what the API server enforces is controller-gen's work. Called by make generate:
//
//	manifests --crds config/crd --roles config/rbac --chart charts/mcptasks
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// maxApplied is what "kubectl apply" can keep in its last-applied-configuration annotation, in bytes of JSON: the API
// server's limit for all annotations of an object.
const maxApplied = 262144

func main() {
	crds := flag.String("crds", "config/crd", "directory of the CRDs, trimmed in place")
	roles := flag.String("roles", "config/rbac", "directory of the roles")
	chart := flag.String("chart", "charts/mcptasks", "directory of the chart that gets the copies")
	flag.Parse()
	if err := run(*crds, *roles, *chart); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
}

func run(crds, roles, chart string) error {
	if err := each(crds, trimFile); err != nil {
		return err
	}
	if err := mirror(crds, filepath.Join(chart, "files", "crds")); err != nil {
		return err
	}
	return mirror(roles, filepath.Join(chart, "files", "rbac"))
}

// each calls do for every YAML file of dir, and fails if there is none.
func each(dir string, do func(file string) error) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no YAML files in %s", dir)
	}
	for _, file := range files {
		if err := do(file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func trimFile(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	trimmed, size, err := trim(data)
	if err != nil {
		return err
	}
	if size > maxApplied {
		return fmt.Errorf("%d bytes as JSON, but kubectl apply can carry only %d", size, maxApplied)
	}
	if bytes.Equal(data, trimmed) {
		return nil
	}
	return os.WriteFile(file, trimmed, 0o644)
}

// mirror makes dst hold the YAML files of src and no others.
func mirror(src, dst string) error {
	if err := os.RemoveAll(dst); err != nil {
		return err
	}
	if err := os.MkdirAll(dst, 0o755); err != nil {
		return err
	}
	return each(src, func(file string) error {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dst, filepath.Base(file)), data, 0o644)
	})
}
