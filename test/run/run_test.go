//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcptasks/mcptasks/test/env"
)

func newSession(t *testing.T) (*session, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	r := newReport(&out)
	r.begin(part{name: "sample"})
	root, err := filepath.Abs("testdata/sample")
	if err != nil {
		t.Fatal(err)
	}
	return &session{Env: &env.Env{Root: root, Out: &out}, report: r}, &out
}

func (r *report) reasons() map[string]string {
	m := map[string]string{}
	for _, o := range slices.Concat(r.failed, r.skipped) {
		m[o.name] = o.why
	}
	return m
}

func TestGoTestCountsLeaves(t *testing.T) {
	s, _ := newSession(t)
	if err := s.goTest(t.Context(), ".", nil, "./mixed"); err != nil {
		t.Fatal(err)
	}
	// TestPasses, TestParent/good, TestParentFailsByItself/good; the parents TestParent itself does not count.
	if want := (tally{passed: 3, failed: 3, skipped: 1}); s.report.tally != want {
		t.Errorf("%v, want %v", s.report.tally, want)
	}
	got := s.report.reasons()
	for name, why := range map[string]string{
		"example.org/sample/mixed TestSkips":               "no moon",
		"example.org/sample/mixed TestFails":               "two is not three",
		"example.org/sample/mixed TestParent/bad":          "deep reason",
		"example.org/sample/mixed TestParentFailsByItself": "after the subtests",
	} {
		if !strings.Contains(got[name], why) || strings.Contains(got[name], "---") {
			t.Errorf("%s: %q, want the reason %q and none of go test's framing", name, got[name], why)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("also reported: %q", got)
	}
	if code := s.report.summarize(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
}

func TestGoTestSaysWhatDidNotFinish(t *testing.T) {
	s, out := newSession(t)
	if err := s.goTest(t.Context(), ".", nil, "./crash"); err != nil {
		t.Fatal(err)
	}
	if want := (tally{passed: 1, failed: 1}); s.report.tally != want {
		t.Errorf("%v, want %v", s.report.tally, want)
	}
	if !strings.Contains(out.String(), "TestPanics/inner") || !strings.Contains(out.String(), "lost my mind") {
		t.Errorf("the output names neither the test nor the panic:\n%s", out)
	}
}

func TestGoTestSaysWhatDoesNotCompile(t *testing.T) {
	s, _ := newSession(t)
	if err := s.goTest(t.Context(), ".", nil, "./broken", "./empty"); err != nil {
		t.Fatal(err)
	}
	if want := (tally{failed: 1}); s.report.tally != want {
		t.Errorf("%v, want %v", s.report.tally, want)
	}
	if why := s.report.reasons()["example.org/sample/broken"]; !strings.Contains(why, "declared and not used") {
		t.Errorf("reason %q, want the compiler's", why)
	}
}

func TestGoTestThatCannotRun(t *testing.T) {
	s, _ := newSession(t)
	if err := s.goTest(t.Context(), "none", nil, "./..."); err == nil {
		t.Error("no error, though the directory does not exist")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.goTest(ctx, ".", nil, "./..."); err == nil {
		t.Error("no error, though the run was over before it began")
	}
}

func TestRunPart(t *testing.T) {
	for name, tc := range map[string]struct {
		run  func(context.Context, *session) error
		want tally
		code int
	}{
		"passes":         {func(_ context.Context, s *session) error { s.report.pass("x"); return nil }, tally{passed: 1}, 0},
		"misses a thing": {func(context.Context, *session) error { return &missingError{"no root"} }, tally{skipped: 1}, 1},
		"breaks":         {func(context.Context, *session) error { return errors.New("boom") }, tally{failed: 1}, 1},
		"runs nothing":   {func(context.Context, *session) error { return nil }, tally{failed: 1}, 1},
		"only skips": {
			func(_ context.Context, s *session) error { s.report.skip("x", "y"); return nil }, tally{failed: 1, skipped: 1}, 1,
		},
		"fails and knows": {func(_ context.Context, s *session) error { s.report.fail("x", "y"); return nil }, tally{failed: 1}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, out := newSession(t)
			s.runPart(t.Context(), part{name: "p", run: tc.run})
			if s.report.tally != tc.want {
				t.Errorf("%v, want %v", s.report.tally, tc.want)
			}
			if code := s.report.summarize(); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if last := lines[len(lines)-1]; last != tc.want.String() {
				t.Errorf("last line %q, want %q", last, tc.want)
			}
		})
	}
}

func TestRunPartInterrupted(t *testing.T) {
	s, _ := newSession(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.runPart(ctx, part{name: "p", run: func(_ context.Context, s *session) error {
		s.report.pass("x")
		cancel()
		return nil
	}})
	if want := (tally{passed: 1, failed: 1}); s.report.tally != want {
		t.Errorf("%v, want %v: what did not run to its end must not pass", s.report.tally, want)
	}
}

func TestRunCounted(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		want   tally
		err    string
	}{
		"counts": {
			"echo '  pass  a  fine'; echo '  FAIL  b  it is broken'; echo '  skip  c  no c';" +
				"echo 'x: 5 passed, 1 failed, 1 skipped'; exit 1",
			tally{5, 1, 1}, "",
		},
		"no counts":            {"echo hello", tally{}, "without saying"},
		"fails without a word": {"echo '3 passed, 0 failed, 0 skipped'; exit 7", tally{passed: 3}, "exit status 7"},
	} {
		t.Run(name, func(t *testing.T) {
			s, out := newSession(t)
			err := runCounted(exec.Command("sh", "-c", tc.script), s.report)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			if s.report.tally != tc.want {
				t.Errorf("%v, want %v", s.report.tally, tc.want)
			}
			if name == "counts" {
				if got := s.report.reasons(); got["b"] != "it is broken" || got["c"] != "no c" {
					t.Errorf("reasons %q", got)
				}
				if !strings.Contains(out.String(), "a  fine") {
					t.Error("the program's output was swallowed")
				}
			}
		})
	}
}

func TestChoose(t *testing.T) {
	all, err := choose(nil)
	if err != nil || len(all) != len(parts) {
		t.Errorf("%d parts, error %v; want all", len(all), err)
	}
	some, err := choose([]string{"e2e", "unit"})
	if err != nil || len(some) != 2 || some[0].name != "unit" || some[1].name != "e2e" {
		t.Errorf("%v, error %v; want unit and e2e in the order of the parts", some, err)
	}
	if _, err := choose([]string{"unit", "lunch"}); err == nil || !strings.Contains(err.Error(), "conformance") {
		t.Errorf("error %v, want one that lists the parts", err)
	}
}

func TestNestedModules(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	modules, err := nestedModules(root)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(modules, filepath.Join(root, "hack/image")) {
		t.Errorf("%q lack hack/image", modules)
	}
	for _, m := range modules {
		if m == root || strings.Contains(m, "testdata") || strings.Contains(m, "/tools/") {
			t.Errorf("%s is listed", m)
		}
	}
}

// TestPackagesLeavesNotesOut lets the go command say something beside the list, as it also does while it downloads modules.
func TestPackagesLeavesNotesOut(t *testing.T) {
	s, _ := newSession(t)
	module := t.TempDir()
	if err := os.WriteFile(filepath.Join(module, "go.mod"), []byte("module sample\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	packages, err := s.packages(t.Context(), module)
	if err != nil || len(packages) > 0 {
		t.Errorf("packages %q and error %v of a module without any", packages, err)
	}
}

func TestPackagesOfNoModule(t *testing.T) {
	s, _ := newSession(t)
	if _, err := s.packages(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "main module") {
		t.Errorf("error %v, want what the go command says", err)
	}
}
