//go:build unix

// Command demo shows what the project is for, in front of the reader: it brings up a cluster, installs mcptasks with Helm, offers
// a database migration as a tool, and then is the agent that calls it, through the MCP endpoint. Nothing of it is staged: the
// cluster, the Jobs, the SQL and the database are real.
//
// "demo" runs it, as often as one likes; "demo down" removes all that it made. CLUSTER=current uses the cluster of the current
// kubeconfig in place of a local one.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/mcptasks/mcptasks/test/env"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	s := newScreen(os.Stdout)
	err := run(ctx, s, os.Args[1:])
	stop()
	if err != nil {
		s.failure(err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s *screen, args []string) error {
	e, err := env.New(ctx, os.Stdout)
	if err != nil {
		return err
	}
	p, err := newPlace(e)
	if err != nil {
		return err
	}
	switch {
	case len(args) == 0:
		return demo(ctx, s, p)
	case len(args) == 1 && args[0] == "down":
		return p.down(ctx, s)
	default:
		return errors.New("usage: demo [down]")
	}
}

func demo(ctx context.Context, s *screen, p *place) error {
	if err := p.up(ctx, s); err != nil {
		return err
	}
	if err := install(ctx, s, p); err != nil {
		return err
	}
	a, err := newAgent(ctx, s, p)
	if err != nil {
		return err
	}
	if err := a.work(ctx); err != nil {
		return err
	}
	return farewell(ctx, s, p)
}

// advised is an error together with what the reader can do about it.
type advised struct {
	error
	advice string
}

func advise(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return advised{err, fmt.Sprintf(format, args...)}
}

func (a advised) Unwrap() error { return a.error }
