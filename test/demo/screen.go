//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// screen writes for a reader: headings, sentences, commands and what they print. Colours are for terminals only, and not for
// those who set NO_COLOR.
type screen struct {
	out      io.Writer
	terminal bool
	colour   bool
	n        int // headings so far
}

func newScreen(f *os.File) *screen {
	terminal := term.IsTerminal(int(f.Fd()))
	return &screen{out: f, terminal: terminal, colour: terminal && os.Getenv("NO_COLOR") == ""}
}

// The styles, as ANSI attributes.
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (s *screen) style(attribute, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + attribute + "m" + text + "\x1b[0m"
}

// heading begins a part.
func (s *screen) heading(text string) {
	s.n++
	fmt.Fprintf(s.out, "\n%s\n\n", s.style(bold, fmt.Sprintf("%d. %s", s.n, text)))
}

// say writes a sentence.
func (s *screen) say(format string, args ...any) {
	fmt.Fprintf(s.out, format+"\n", args...)
}

// command shows a command that is about to be run, or that the reader can run.
func (s *screen) command(text string) {
	fmt.Fprintln(s.out, s.style(cyan, "$ "+text))
}

// request shows a request that the agent sends.
func (s *screen) request(method, detail string) {
	fmt.Fprintf(s.out, "%s %s\n", s.style(cyan, "→ "+method), detail)
}

// state shows a task's state as it has just been seen.
func (s *screen) state(at time.Time, task *mcpclient.Task) {
	word := fmt.Sprintf("%-14s", task.Status)
	switch {
	case task.Status == "failed", task.Result != nil && task.Result.IsError:
		word = s.style(red, word)
	case task.Status == "completed":
		word = s.style(green, word)
	case task.Status == "cancelled":
		word = s.style(yellow, word)
	}
	fmt.Fprintf(s.out, "  %s  %s %s\n", s.style(faint, at.Format("15:04:05.000")), word, task.StatusMessage)
}

// quote shows a text that came back, line by line.
func (s *screen) quote(text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		fmt.Fprintf(s.out, "  %s %s\n", s.style(faint, "│"), strings.TrimRight(line, "\n"))
	}
}

// step does something that may take a while, and shows that it goes on: on a terminal every second, elsewhere every half minute.
func (s *screen) step(what string, do func() error) error {
	interval, again := 30*time.Second, "%s … %s\n"
	if s.terminal {
		interval, again = time.Second, "\r\x1b[K%s … %s"
	} else {
		s.say("%s …", what)
	}
	began := time.Now()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	done := make(chan error, 1)
	go func() { done <- do() }()
	for {
		select {
		case <-ticker.C:
			fmt.Fprintf(s.out, again, what, time.Since(began).Round(time.Second))
		case err := <-done:
			if s.terminal {
				fmt.Fprintf(s.out, "\r\x1b[K")
			}
			if err == nil {
				s.say("%s: done in %s", what, time.Since(began).Round(100*time.Millisecond))
			}
			return err
		}
	}
}

// gap is an empty line.
func (s *screen) gap() { fmt.Fprintln(s.out) }

// failure says why the demo ends early, and what to do about it.
func (s *screen) failure(err error) {
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(s.out, "\nStopped. What has been set up is still there: make demo goes on, make demo-down removes it.\n")
		return
	}
	fmt.Fprintf(s.out, "\n%s %v\n", s.style(red, "The demo stopped:"), err)
	if advice := (advised{}); errors.As(err, &advice) {
		fmt.Fprintf(s.out, "%s %s\n", s.style(bold, "What to do:"), advice.advice)
	}
}
