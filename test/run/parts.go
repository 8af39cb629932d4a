//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcptasks/mcptasks/test/env"
	"github.com/mcptasks/mcptasks/test/images"
)

// part is a part of the tests.
type part struct {
	name, what string
	run        func(ctx context.Context, s *session) error
}

// parts are all parts, the quick ones first. A part that fails does not keep the next from running.
var parts = []part{
	{"check", "formatting, go vet, generated files, what tests must prove", check},
	{"unit", "tests that need nothing but Go", unit},
	{"fuzz", "the fuzz targets, for three minutes together", fuzz},
	{"integration", "tests on a real API server", integration},
	{"cluster", "tests of the local cluster itself: two at a time, killed and started again", localCluster},
	{"e2e", "tests on a real cluster with the chart installed", endToEnd},
	{"conformance", "the official conformance suite and clients, on the same cluster", conformance},
}

// The environment variables that tell tests where their cluster and programs are.
const (
	integrationKubeconfig = "MCPTASKS_INTEGRATION_KUBECONFIG"
	integrationCluster    = "MCPTASKS_INTEGRATION_CLUSTER"
	e2eKubeconfig         = "MCPTASKS_E2E_KUBECONFIG"
	kubectlPath           = "MCPTASKS_KUBECTL"
	helmPath              = "MCPTASKS_HELM"
)

// downTimeout is how long ending a cluster may take.
const downTimeout = 2 * time.Minute

// session is one run of parts. It remembers what has to be ended.
type session struct {
	*env.Env
	report *report
	filter string
	// fuzzTime is how long all fuzz targets together are run.
	fuzzTime time.Duration
	// clusterName is the name of the cluster with pods, and begins those of the others.
	clusterName string

	// installed is the cluster with the chart installed, once somebody has asked for it.
	installed *installation
	// clusters are those that were started, or may have been.
	clusters []*env.Cluster
}

func (s *session) runPart(ctx context.Context, p part) {
	s.report.begin(p)
	before := s.report.tally
	err := p.run(ctx, s)
	var missing *missingError
	switch {
	case ctx.Err() != nil:
		s.report.fail(p.name, "interrupted")
	case errors.As(err, &missing):
		s.report.skip(p.name, missing.what)
	case err != nil:
		s.report.fail(p.name, err.Error())
	case s.report.tally.passed == before.passed && s.report.tally.failed == before.failed:
		s.report.fail(p.name, "ran nothing that could pass or fail")
	}
	s.report.end(p)
}

// close ends all clusters.
func (s *session) close(ctx context.Context) {
	for len(s.clusters) > 0 {
		last := len(s.clusters) - 1
		s.down(ctx, s.clusters[last])
		s.clusters = s.clusters[:last]
	}
}

func (s *session) down(ctx context.Context, c *env.Cluster) {
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	if err := c.Down(ctx); err != nil {
		s.report.fail("down", err.Error())
	}
}

// missingError says what the machine lacks for a part.
type missingError struct{ what string }

func (e *missingError) Error() string { return e.what }

func check(ctx context.Context, s *session) error {
	if out, err := s.capture(ctx, "gofmt", "-l", "."); err != nil || out != "" {
		s.report.fail("gofmt", strings.TrimSpace("these files are not formatted; run gofmt -w on them:\n"+out))
	} else {
		s.report.pass("gofmt")
	}
	for _, step := range []struct {
		name string
		args []string
	}{
		{"go vet", []string{"go", "vet", "./..."}},
		{"generated files", []string{"make", "--no-print-directory", "verify-generated"}},
		{"rules and cases have their tests", []string{"go", "run", "./hack/traceability", "--check"}},
	} {
		done := s.report.working(func() string { return step.name })
		out, err := s.capture(ctx, step.args[0], step.args[1:]...)
		done()
		if err != nil {
			s.report.fail(step.name, strings.TrimSpace(out))
		} else {
			s.report.pass(step.name)
		}
	}
	return nil
}

// clusterPackage is the package whose tests start clusters; those below it do not.
const clusterPackage = "/test/localcluster"

// isOtherPart reports whether a package's tests belong to another part than unit.
func isOtherPart(importPath string) bool {
	return strings.HasSuffix(importPath, clusterPackage) ||
		strings.Contains(importPath, "/test/integration") || strings.Contains(importPath, "/test/e2e")
}

func unit(ctx context.Context, s *session) error {
	nested, err := nestedModules(s.Root)
	if err != nil {
		return err
	}
	for _, module := range append([]string{s.Root}, nested...) {
		packages, listErr := s.packages(ctx, module)
		if listErr != nil {
			err = errors.Join(err, listErr)
			continue
		}
		if packages = slices.DeleteFunc(packages, isOtherPart); len(packages) > 0 {
			err = errors.Join(err, s.goTest(ctx, module, nil, packages...))
		}
	}
	return err
}

// packages lists the packages of the module in a directory.
func (s *session) packages(ctx context.Context, module string) ([]string, error) {
	var list, notes strings.Builder
	cmd := s.Command(ctx, "go", "-C", module, "list", "./...")
	// With a new module cache the go command tells on stderr what it downloads.
	cmd.Stdout, cmd.Stderr = &list, &notes
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("list the packages of %s: %w\n%s", module, err, strings.TrimSpace(notes.String()))
	}
	return strings.Fields(list.String()), nil
}

// nestedModules lists the directories of the modules below root that have tests.
func nestedModules(root string) ([]string, error) {
	var modules []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && ignored(d.Name()) {
			return filepath.SkipDir
		}
		if d.Name() != "go.mod" || filepath.Dir(path) == root {
			return nil
		}
		dir := filepath.Dir(path)
		tests, err := hasTests(dir)
		if tests {
			modules = append(modules, dir)
		}
		return err
	})
	return modules, err
}

// isModule reports whether a directory is the root of a module.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// ignored are directories that the go command does not look into either, and what npm installs.
func ignored(name string) bool {
	return name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func hasTests(dir string) (found bool, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(d.Name(), "_test.go") {
			found, err = true, filepath.SkipAll
		}
		return err
	})
	return found, err
}

func integration(ctx context.Context, s *session) error {
	cluster := s.ControlPlane(s.clusterName + "-integration")
	s.clusters = append(s.clusters, cluster)
	kubeconfig, err := cluster.Up(ctx)
	if err != nil {
		return err
	}
	environment, err := s.programs(ctx)
	if err != nil {
		return err
	}
	environment = append(environment, integrationKubeconfig+"="+kubeconfig, integrationCluster+"="+cluster.Name)
	// The packages share one API server: one at a time. What a cluster did earlier is no result for this one: -count=1.
	return s.goTest(ctx, ".", environment, "-count", "1", "-p", "1", "-timeout", "40m", "-run", s.filter, "./test/integration/...")
}

func localCluster(ctx context.Context, s *session) error {
	// With all programs built, which may take long and says how far it is, the tests take minutes.
	if env.NoPods() == "" {
		if err := s.BuildCluster(ctx); err != nil {
			return err
		}
	}
	dir, environment := filepath.Join(s.Root, clusterPackage), []string{"LOCALCLUSTER_TEST=1"}
	return s.goTest(ctx, dir, environment, "-count", "1", "-timeout", "20m", ".")
}

func (s *session) programs(ctx context.Context) ([]string, error) {
	kubectl, err := s.Binary(ctx, "kubectl")
	if err != nil {
		return nil, err
	}
	helm, err := s.Binary(ctx, "helm")
	if err != nil {
		return nil, err
	}
	return []string{kubectlPath + "=" + kubectl, helmPath + "=" + helm}, nil
}

// installation is what became of the cluster that several parts share.
type installation struct {
	kubeconfig string
	err        error
}

// install brings up the cluster with images and chart, once for all parts that need it, and gives its kubeconfig.
func (s *session) install(ctx context.Context) (string, error) {
	if why := env.NoPods(); why != "" {
		return "", &missingError{why}
	}
	if s.installed == nil {
		kubeconfig, err := s.installOnce(ctx)
		s.installed = &installation{kubeconfig, err}
	}
	return s.installed.kubeconfig, s.installed.err
}

func (s *session) installOnce(ctx context.Context) (string, error) {
	cluster := s.Cluster(s.clusterName)
	s.clusters = append(s.clusters, cluster)
	kubeconfig, err := cluster.Up(ctx)
	if err != nil {
		return "", err
	}
	product, err := s.Image(ctx)
	if err != nil {
		return "", err
	}
	archives := []string{product}
	dist := filepath.Join(s.Root, "dist")
	for _, image := range images.All {
		if why := image.Missing(); why != "" {
			s.report.skip(image.Tag, why) // and so do its tests
			continue
		}
		archive, err := image.Archive(ctx, s.Root, dist)
		if err != nil {
			return "", err
		}
		archives = append(archives, archive)
	}
	if err := cluster.LoadImages(ctx, archives...); err != nil {
		return "", err
	}
	return kubeconfig, s.InstallChart(ctx, kubeconfig, product, nil)
}

func endToEnd(ctx context.Context, s *session) error {
	kubeconfig, err := s.install(ctx)
	if err != nil {
		return err
	}
	environment, err := s.programs(ctx)
	if err != nil {
		return err
	}
	environment = append(environment, e2eKubeconfig+"="+kubeconfig)
	return s.goTest(ctx, ".", environment, "-count", "1", "-timeout", "40m", "-run", s.filter, "./test/e2e/...")
}

func conformance(ctx context.Context, s *session) error {
	if err := s.npm(ctx); err != nil {
		return err
	}
	kubeconfig, err := s.install(ctx)
	if err != nil {
		return err
	}
	cmd := s.Command(ctx, "go", "run", "./test/conformance")
	cmd.Env = append(cmd.Env, e2eKubeconfig+"="+kubeconfig)
	return runCounted(cmd, s.report)
}

// npm sees to it that npm is there: the clients come from its registry.
func (s *session) npm(ctx context.Context) error {
	if _, err := exec.LookPath("npm"); err == nil {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return &missingError{"there is no npm to install the clients with"}
	}
	for _, args := range [][]string{
		{"update", "-q"}, {"install", "-q", "-y", "--no-install-recommends", "npm"},
	} {
		cmd := s.Command(ctx, "apt-get", args...)
		cmd.Env = append(cmd.Env, "DEBIAN_FRONTEND=noninteractive")
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("install npm: apt-get %s: %w", args[0], err)
		}
	}
	return nil
}

// capture runs a program and gives all that it printed.
func (s *session) capture(ctx context.Context, name string, args ...string) (string, error) {
	var out strings.Builder
	cmd := s.Command(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}
