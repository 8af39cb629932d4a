// Package console tells a reader, on a terminal or in a CI log, what a long step is doing and for how long. It knows nothing
// of what the steps are.
package console

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	terminalInterval = time.Second
	// In a log the first word about a step comes when it isn't over at once, and then seldom.
	logDelay    = 2 * time.Second
	logInterval = 30 * time.Second
)

// Printer writes progress. On a terminal the current step's line is rewritten each second; elsewhere a step is one line when
// it ends and, if that takes longer, one every thirty seconds before.
type Printer struct {
	out      io.Writer
	terminal bool
	mu       sync.Mutex
}

// New returns a Printer that writes to f.
func New(f *os.File) *Printer {
	return &Printer{out: f, terminal: term.IsTerminal(int(f.Fd()))}
}

// Line prints one line.
func (p *Printer) Line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format+"\n", args...)
}

// Step is a piece of work in progress.
type Step struct {
	p      *Printer
	name   string
	began  time.Time
	detail func() string
	done   chan struct{}
	ended  sync.WaitGroup
}

// Step begins a step. detail, which may be nil, says how far it is; it is called from another goroutine. Exactly one of Done
// and Fail must follow.
func (p *Printer) Step(name string, detail func() string) *Step {
	s := &Step{p: p, name: name, began: time.Now(), detail: detail, done: make(chan struct{})}
	s.ended.Add(1)
	go s.report()
	return s
}

func (s *Step) report() {
	defer s.ended.Done()
	wait, interval := time.Duration(0), terminalInterval
	if !s.p.terminal {
		wait, interval = logDelay, logInterval
	}
	for {
		select {
		case <-s.done:
			return
		case <-time.After(wait):
			s.write(s.progress(), s.p.terminal)
			wait = interval
		}
	}
}

func (s *Step) progress() string {
	line := fmt.Sprintf("%s … %s", s.name, Duration(time.Since(s.began)))
	if s.detail != nil {
		if d := s.detail(); d != "" {
			line += ", " + d
		}
	}
	return line
}

// Done ends the step well; result is added to its line and may be empty.
func (s *Step) Done(result string) {
	if result != "" {
		result = ", " + result
	}
	s.end(fmt.Sprintf("%s: done in %s%s", s.name, Duration(time.Since(s.began)), result))
}

// Fail ends the step badly. The reason is the caller's to tell.
func (s *Step) Fail() {
	s.end(fmt.Sprintf("%s: failed after %s", s.name, Duration(time.Since(s.began))))
}

func (s *Step) end(line string) {
	close(s.done)
	s.ended.Wait()
	s.write(line, false)
}

// write prints a line, in place of the one before it on a terminal; transient leaves it to be replaced.
func (s *Step) write(line string, transient bool) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if !s.p.terminal {
		fmt.Fprintln(s.p.out, line)
		return
	}
	_, _ = fmt.Fprint(s.p.out, "\r\x1b[K"+line)
	if !transient {
		fmt.Fprintln(s.p.out)
	}
}

// Duration prints d as people say it: 0.4s, 12s, 3m05s.
func Duration(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	default:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
}
