// Command migrate brings one environment's database up to date. It is the program in the image of the sample tool run-migration:
// SQL files are applied by goose to a SQLite database, both in pure Go, so that one static binary is all that the image
// needs. It knows nothing of Kubernetes or MCP, as the programs that people put behind a tool mostly don't.
//
// The migrations of an environment are the files of <migrations>/<environment>, its database is <data>/<environment>.db. What
// happened is told in plain words on stdout; the exit code is 0 only when all that was asked for is done.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		// On stdout, as part of what the run has to say.
		_, _ = fmt.Fprintln(os.Stdout, err)
		os.Exit(1)
	}
}

const usage = "usage: migrate up|status --environment NAME [--steps N] [--migrations DIR] [--data DIR]"

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	var e environment
	var steps int
	flags := flag.NewFlagSet("migrate", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&e.name, "environment", "", "environment to work on")
	flags.StringVar(&e.migrations, "migrations", "/migrations", "directory with one directory of SQL files per environment")
	flags.StringVar(&e.data, "data", "/data", "directory with the databases")
	flags.Func("steps", "apply at most this many migrations (default, also when empty: all)", func(v string) (err error) {
		if v == "" {
			return nil
		}
		if steps, err = strconv.Atoi(v); err != nil || steps < 1 {
			return errors.New("must be a number from 1")
		}
		return nil
	})
	command := args[0]
	if err := flags.Parse(args[1:]); err != nil {
		return fmt.Errorf("%w\n%s", err, usage)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q\n%s", flags.Arg(0), usage)
	}
	if err := e.check(); err != nil {
		return err
	}
	switch command {
	case "up":
		return up(ctx, e, steps, out)
	case "status":
		return status(ctx, e, out)
	default:
		return fmt.Errorf("unknown command %q\n%s", command, usage)
	}
}
