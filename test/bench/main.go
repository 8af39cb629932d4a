//go:build unix

// Command bench measures the endpoint on a real API server and prints each figure as a ratio to a floor: what the same machine
// does in the same run for somebody who does nothing but the unavoidable. Ratios can be compared between machines and days; the
// figures that they are made of cannot.
//
// It knows how to measure, not what makes anything fast. Its exit code says whether it could measure; a budget that is missed is
// said in the table, since a machine that is busy with other things misses some.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mcptasks/mcptasks/test/env"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are what a person can choose.
type options struct {
	// share is how long each side of a comparison is measured.
	share time.Duration
	// workers is how many requests are in flight.
	workers int
	// streams is how many listeners are opened.
	streams int
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) == 2 && args[0] == floorCommand {
		return serveFloor(args[1], os.Stdin)
	}
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	name := flags.String("cluster", "bench", "name of the local cluster")
	keep := flags.Bool("keep", false, "leave the cluster running, so that the next run finds it")
	flags.DurationVar(&o.share, "time", 10*time.Second, "how long each side of a comparison is measured")
	flags.IntVar(&o.workers, "workers", 16, "how many requests are in flight")
	flags.IntVar(&o.streams, "streams", 1000, "how many listeners are opened")
	if err := flags.Parse(args); err != nil {
		return err
	}
	e, err := env.New(ctx, os.Stderr)
	if err != nil {
		return err
	}
	cluster := e.ControlPlane(*name)
	if !*keep {
		defer func() { err = errors.Join(err, cluster.Down(context.WithoutCancel(ctx))) }()
	}
	kubeconfig, err := cluster.Up(ctx)
	if err != nil {
		return err
	}
	w, err := newWorld(ctx, e, kubeconfig)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close(context.WithoutCancel(ctx))) }()
	fmt.Printf("%-28s %12s %12s   %-22s %s\n", "path", "ours", "floor", "measured", "budget")
	for _, measure := range []func(context.Context, *world, options) error{getTask, createTask, listeners} {
		if err := measure(ctx, w, o); err != nil {
			return err
		}
	}
	return nil
}

// row prints one line of the table.
func row(path, ours, floor, measured, budget string, kept bool) {
	verdict := "ok"
	if !kept {
		verdict = "MISSED"
	}
	fmt.Printf("%-28s %12s %12s   %-22s %s: %s\n", path, ours, floor, measured, budget, verdict)
}
