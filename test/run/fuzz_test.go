//go:build unix

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFuzzTargets(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	targets, err := fuzzTargets(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []fuzzTarget{
		{"./internal/mcp/wire", "FuzzParse"}, {"./internal/mcp/wire", "FuzzDecodeHeaderValue"}, {"./internal/task", "FuzzWire"},
	} {
		if !slices.Contains(targets, want) {
			t.Errorf("%v is not among %v", want, targets)
		}
	}
	for _, target := range targets {
		if strings.Contains(target.pkg, "testdata") || strings.Contains(target.name, "_") {
			t.Errorf("%v is listed", target)
		}
	}
}

// A target passes if it executed something and found nothing.
func TestFuzz(t *testing.T) {
	s, out := newSession(t)
	s.fuzzTime = 3 * time.Second
	if err := fuzz(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if want := (tally{passed: 1, failed: 2}); s.report.tally != want {
		t.Errorf("%v, want %v:\n%s", s.report.tally, want, out)
	}
	if !strings.Contains(out.String(), "fuzzy FuzzGood") || !strings.Contains(out.String(), "executions in 1s") {
		t.Errorf("it is not said what was executed:\n%s", out)
	}
	got := s.report.reasons()
	if !strings.Contains(got["fuzzy FuzzBad"], `found "x"`) || got["fuzzy FuzzNothing"] == "" {
		t.Errorf("reasons %q", got)
	}
}

func TestFuzzOnlySome(t *testing.T) {
	s, _ := newSession(t)
	s.filter = "^FuzzNone$"
	if err := fuzz(t.Context(), s); err == nil {
		t.Error("no error, though nothing was fuzzed")
	}
	s.filter = "("
	if err := fuzz(t.Context(), s); err == nil {
		t.Error("no error, though the filter makes no sense")
	}
}
