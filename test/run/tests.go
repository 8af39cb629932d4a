//go:build unix

package main

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// event is one line of go test -json (see "go doc test2json").
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
	Elapsed    float64 // seconds
	// FailedBuild is the import path that could not be built.
	FailedBuild string
}

// tests follows one run of go test and reports each package when it ends. What is counted are the leaves: tests, or their
// subtests where they have any.
type tests struct {
	report *report
	failed int

	mu       sync.Mutex
	packages map[string]*pkg
	builds   map[string]string // what the compiler said, by import path
}

// pkg is a package whose tests run.
type pkg struct {
	output excerpt
	tests  map[string]*test
}

type test struct {
	action string
	output excerpt
}

func newTests(r *report) *tests {
	return &tests{report: r, packages: map[string]*pkg{}, builds: map[string]string{}}
}

// take takes one event.
func (t *tests) take(e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Action == "build-output" {
		t.builds[e.ImportPath] += e.Output
		return
	}
	if e.Package == "" {
		return
	}
	p := t.packages[e.Package]
	if p == nil {
		p = &pkg{tests: map[string]*test{}}
		t.packages[e.Package] = p
	}
	if e.Test == "" {
		switch e.Action {
		case "output":
			p.output.add(e.Output)
		case "pass", "fail", "skip":
			t.end(e, p)
		}
		return
	}
	one := p.tests[e.Test]
	if one == nil {
		one = &test{}
		p.tests[e.Test] = one
	}
	switch e.Action {
	case "output":
		one.output.add(e.Output)
	case "pass", "fail", "skip":
		one.action = e.Action
	}
}

// end reports a package that has ended.
func (t *tests) end(e event, p *pkg) {
	delete(t.packages, e.Package)
	name := short(e.Package)
	passed, failed := 0, 0
	for _, testName := range slices.Sorted(maps.Keys(p.tests)) {
		one := p.tests[testName]
		children, childFailed := p.below(testName)
		switch {
		case one.action == "":
			// Only the innermost of those that were still running says why.
			if !children {
				failed++
				t.report.fail(name+" "+testName, "did not finish\n"+p.said(testName)+words(p.output.String()))
			}
		case one.action == "fail" && !childFailed:
			failed++
			t.report.fail(name+" "+testName, p.said(testName))
		case children:
		case one.action == "skip":
			t.report.skip(name+" "+testName, words(one.output.String()))
		default:
			passed++
		}
	}
	if e.Action == "fail" && failed == 0 {
		failed++
		t.report.fail(name, strings.TrimSpace(t.builds[e.FailedBuild]+words(p.output.String())))
	}
	t.failed += failed
	t.report.add(tally{passed: passed})
	if passed+failed > 0 {
		elapsed := time.Duration(e.Elapsed * float64(time.Second)).Round(100 * time.Millisecond)
		t.report.say("   %-4s  %-42s %4d passed, %s", map[bool]string{true: "ok", false: "FAIL"}[failed == 0], name, passed, elapsed)
	}
}

// below reports whether a test has subtests, and whether one of them failed or did not finish.
func (p *pkg) below(name string) (exist, failed bool) {
	for other, one := range p.tests {
		if strings.HasPrefix(other, name+"/") {
			exist = true
			failed = failed || one.action == "fail" || one.action == ""
		}
	}
	return exist, failed
}

// said is what a test printed, and the tests around it: a panic of a subtest is printed by them.
func (p *pkg) said(name string) string {
	var all strings.Builder
	for {
		if one := p.tests[name]; one != nil {
			if said := words(one.output.String()); said != "" {
				all.WriteString(said + "\n")
			}
		}
		parent := strings.LastIndexByte(name, '/')
		if parent < 0 {
			return all.String()
		}
		name = name[:parent]
	}
}

// close reports the packages whose end was never seen: go test itself was ended.
func (t *tests) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(t.packages)) {
		t.end(event{Package: name, Action: "fail"}, t.packages[name])
	}
}

// waitingFor says which packages' tests run now.
func (t *tests) waitingFor() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := make([]string, 0, len(t.packages))
	for name := range t.packages {
		names = append(names, short(name))
	}
	if len(names) == 0 {
		return "compiling"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func short(importPath string) string {
	return strings.TrimPrefix(importPath, "github.com/mcptasks/mcptasks/")
}

// words drops go test's own framing from a test's output.
func words(output string) string {
	lines := slices.DeleteFunc(strings.Split(output, "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return line == "" || line == "FAIL" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ")
	})
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "    ")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
