//go:build unix

package main

import (
	"fmt"
	"io"
	"strings"
)

// report prints one line per check and counts them.
type report struct {
	out                     io.Writer
	passed, failed, skipped int
	// known counts the checks that the baseline says cannot pass.
	known int
	// parts are the clients, with the counts of each at its end.
	parts []part
}

// part is what one client found.
type part struct {
	name          string
	passed, known int
}

func (r *report) pass(name, what string) {
	r.passed++
	fmt.Fprintf(r.out, "  pass  %-42s %s\n", name, what)
}

func (r *report) fail(name, why string) {
	r.failed++
	fmt.Fprintf(r.out, "  FAIL  %-42s %s\n", name, oneLine(why))
}

// check counts a check that went well unless there is an error.
func (r *report) check(name, what string, err error) {
	if err != nil {
		r.fail(name, err.Error())
	} else {
		r.pass(name, what)
	}
}

func (r *report) skip(name, why string) {
	r.skipped++
	fmt.Fprintf(r.out, "  skip  %-42s %s\n", name, oneLine(why))
}

// inapplicable notes a check that did not pass, as was known.
func (r *report) inapplicable(name, why string) {
	r.known++
	fmt.Fprintf(r.out, "  n/a   %-42s %s\n", name, oneLine(why))
}

func (r *report) say(format string, args ...any) {
	fmt.Fprintf(r.out, format+"\n", args...)
}

// oneLine keeps what others say from looking like lines of the report.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// count runs a part and keeps its counts for the summary.
func (r *report) count(name string, run func() error) error {
	passed, known := r.passed, r.known
	err := run()
	r.parts = append(r.parts, part{name, r.passed - passed, r.known - known})
	return err
}

// summarize prints the counts and returns the exit code.
func (r *report) summarize() int {
	var parts []string
	for _, p := range r.parts {
		parts = append(parts, fmt.Sprintf("%s %d", p.name, p.passed))
	}
	what := "conformance"
	if len(parts) > 0 {
		what += " (" + strings.Join(parts, ", ") + ")"
	}
	if r.known > 0 {
		what += fmt.Sprintf(": %d checks cannot apply, see baseline.yaml", r.known)
	}
	r.say("%s: %d passed, %d failed, %d skipped", what, r.passed, r.failed, r.skipped)
	if r.failed > 0 {
		return 1
	}
	return 0
}
