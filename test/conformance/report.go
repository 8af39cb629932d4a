package main

import (
	"fmt"
	"io"
)

// report prints one line per check and counts them.
type report struct {
	out                     io.Writer
	passed, failed, skipped int
}

func (r *report) pass(name, what string) {
	r.passed++
	fmt.Fprintf(r.out, "  pass  %-42s %s\n", name, what)
}

func (r *report) fail(name, why string) {
	r.failed++
	fmt.Fprintf(r.out, "  FAIL  %-42s %s\n", name, why)
}

func (r *report) skip(name, why string) {
	r.skipped++
	fmt.Fprintf(r.out, "  skip  %-42s %s\n", name, why)
}

func (r *report) say(format string, args ...any) {
	fmt.Fprintf(r.out, format+"\n", args...)
}

// summarize prints the counts and returns the exit code.
func (r *report) summarize() int {
	r.say("conformance: %d passed, %d failed, %d skipped", r.passed, r.failed, r.skipped)
	if r.failed > 0 {
		return 1
	}
	return 0
}
