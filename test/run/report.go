//go:build unix

package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// heartbeat is how often a long step says that it is still going on.
const heartbeat = 30 * time.Second

// tally counts outcomes.
type tally struct{ passed, failed, skipped int }

func (t tally) minus(o tally) tally {
	return tally{t.passed - o.passed, t.failed - o.failed, t.skipped - o.skipped}
}

func (t tally) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.passed, t.failed, t.skipped)
}

// outcome is what a person has to know of a test that did not pass.
type outcome struct{ part, name, why string }

// report tells what is going on, counts, and repeats at the end what did not pass.
type report struct {
	mu    sync.Mutex
	out   io.Writer
	now   func() time.Time
	tally tally

	part            string
	partBegan       time.Time
	beforePart      tally
	failed, skipped []outcome
}

func newReport(out io.Writer) *report { return &report{out: out, now: time.Now} }

func (r *report) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, format+"\n", args...)
}

func (r *report) begin(p part) {
	r.part, r.partBegan, r.beforePart = p.name, r.now(), r.tally
	r.say("\n== %s: %s", p.name, p.what)
}

func (r *report) end(p part) {
	r.say("== %s: %s, after %s", p.name, r.tally.minus(r.beforePart), r.now().Sub(r.partBegan).Round(time.Second))
}

func (r *report) pass(name string) {
	r.tally.passed++
	r.say("   ok    %s", name)
}

func (r *report) fail(name, why string) {
	r.tally.failed++
	r.failed = append(r.failed, outcome{r.part, name, why})
	r.say("   FAIL  %s\n%s", name, indent(why))
}

func (r *report) skip(name, why string) {
	r.tally.skipped++
	r.skipped = append(r.skipped, outcome{r.part, name, why})
	r.say("   skip  %s: %s", name, why)
}

// add counts outcomes that somebody else has printed.
func (r *report) add(t tally) {
	r.tally.passed += t.passed
	r.tally.failed += t.failed
	r.tally.skipped += t.skipped
}

// working says every half minute what is going on, until the function it returns is called.
func (r *report) working(what func() string) (done func()) {
	began := r.now()
	ticker := time.NewTicker(heartbeat)
	stop := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
				r.say("   ...   %s: %s", r.now().Sub(began).Round(time.Second), what())
			}
		}
	})
	return func() { close(stop); ended.Wait() }
}

// summarize repeats what did not pass, prints the counts as the last line, and gives the exit code.
func (r *report) summarize() int {
	if len(r.skipped) > 0 {
		r.say("\nSkipped:")
		for _, o := range r.skipped {
			r.say("  %s: %s: %s", o.part, o.name, o.why)
		}
	}
	if len(r.failed) > 0 {
		r.say("\nFailed:")
		for _, o := range r.failed {
			r.say("  %s: %s\n%s", o.part, o.name, indent(o.why))
		}
	}
	r.say("\n%s", r.tally)
	if r.tally.failed > 0 || r.tally.passed == 0 {
		return 1
	}
	return 0
}

func indent(s string) string {
	return "         " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n         ")
}
