package build

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/console"
)

// workshop is a Builder with one module of its own, "hello".
type workshop struct {
	*testing.T
	Builder
	programs []Binary
}

func newWorkshop(t *testing.T) *workshop {
	w := &workshop{T: t, Builder: Builder{Source: t.TempDir(), Cache: t.TempDir()}}
	w.programs = []Binary{{Name: "hello", Module: "hello", Package: ".", LDFlags: "-X main.version=v7"}}
	w.write("hello/go.mod", "module example.org/hello\n\ngo 1.26.0\n")
	w.greet("hello")
	return w
}

func (w *workshop) write(name, text string) {
	w.Helper()
	file := filepath.Join(w.Source, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

// greet makes the program say something, and its version.
func (w *workshop) greet(text string) {
	w.Helper()
	w.write("hello/main.go", "package main\n\nvar version string\n\nfunc main() { println(\""+text+"\", version) }\n")
}

func (w *workshop) ensure() (string, error) {
	out, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	return w.Ensure(w.Context(), w.programs, console.New(out))
}

func (w *workshop) mustEnsure() string {
	w.Helper()
	dir, err := w.ensure()
	if err != nil {
		w.Fatal(err)
	}
	return dir
}

func (w *workshop) output(dir string) string {
	w.Helper()
	out, err := exec.Command(filepath.Join(dir, "hello")).CombinedOutput()
	if err != nil {
		w.Fatal(err)
	}
	return string(out)
}

func TestEnsureBuildsOnce(t *testing.T) {
	w := newWorkshop(t)
	dir := w.mustEnsure()
	if got := w.output(dir); got != "hello v7\n" {
		t.Errorf("the program says %q", got)
	}
	built, err := os.Stat(filepath.Join(dir, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	if again := w.mustEnsure(); again != dir {
		t.Errorf("the same programs are in %s and %s", dir, again)
	}
	after, err := os.Stat(filepath.Join(dir, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(built, after) {
		t.Error("it was built again")
	}
}

func TestEnsureBuildsWhatChanged(t *testing.T) {
	w := newWorkshop(t)
	before := w.mustEnsure()
	w.greet("good morning")
	after := w.mustEnsure()
	// Another checkout goes on using the old one.
	if got := w.output(before); got != "hello v7\n" {
		t.Errorf("the old program now says %q", got)
	}
	if got := w.output(after); got != "good morning v7\n" {
		t.Errorf("the new program says %q", got)
	}
}

func TestFailedBuildSaysWhy(t *testing.T) {
	w := newWorkshop(t)
	w.write("hello/main.go", "package main\n\nfunc main() { nonsense() }\n")
	_, err := w.ensure()
	if err == nil {
		t.Fatal("it was built")
	}
	log := filepath.Join(w.Cache, "logs", "hello.log")
	for _, want := range []string{"build hello", "undefined: nonsense", log, "run the same command again"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error doesn't have %q: %v", want, err)
		}
	}
	w.greet("hello")
	w.mustEnsure()
}

func TestSelect(t *testing.T) {
	some, err := Select("helm", "etcd")
	if err != nil || len(some) != 2 || some[0].Name != "etcd" || some[1].Name != "helm" {
		t.Errorf("two programs in the catalog's order: %v, %v", some, err)
	}
	all, err := Select()
	if err != nil || len(all) != len(Catalog()) {
		t.Errorf("no names: %d programs, %v; want all", len(all), err)
	}
	if _, err := Select("etcd", "docker"); err == nil || !strings.Contains(err.Error(), "docker") {
		t.Errorf("an unknown name: %v", err)
	}
}

// The versions that programs tell their clients have to be those that are built.
func TestCatalogVersions(t *testing.T) {
	for module, want := range map[string]string{
		kubernetesModule: "k8s.io/kubernetes " + kubernetesVersion,
		containerdModule: "github.com/containerd/containerd/v2 " + containerdVersion,
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", module, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want+" ") && !strings.Contains(string(text), want+"\n") {
			t.Errorf("%s/go.mod doesn't require %s", module, want)
		}
	}
}

func TestFindSource(t *testing.T) {
	here, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{here, filepath.Join(here, "internal", "build"), filepath.Join(here, "..", "..")} {
		if got, err := FindSource(from); got != here || err != nil {
			t.Errorf("from %s: %s, %v", from, got, err)
		}
	}
	if _, err := FindSource(t.TempDir()); err == nil {
		t.Error("outside a checkout one was found")
	}
}
