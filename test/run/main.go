//go:build unix

// Command run runs the project's tests, sets up what they need, and ends all of it again. Without arguments it runs every part;
// with the names of parts, only those. Its last line is "N passed, N failed, N skipped" over all parts, and its exit code is
// not 0 unless something passed and nothing failed.
//
// It knows which parts there are, what each needs and how each says what it found; what is tested is theirs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcptasks/mcptasks/test/env"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string) int {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	filter := flags.String("run", "", "regular expression: only these fuzz targets, integration and end-to-end tests")
	fuzzTime := flags.Duration("fuzztime", 3*time.Minute, "how long all fuzz targets together are run")
	name := flags.String("cluster", "test", "name of the clusters, so that several checkouts can test at once")
	keep := flags.Bool("keep", false, "leave the clusters running, so that the next run finds them (localcluster down ends one)")
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "usage: run [--run REGEX] [--fuzztime DURATION] [--cluster NAME] [--keep] [PART...]\n"+
			"parts, in this order:\n")
		for _, p := range parts {
			fmt.Fprintf(flags.Output(), "  %-12s %s\n", p.name, p.what)
		}
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	selected, err := choose(flags.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	report := newReport(os.Stdout)
	e, err := env.New(ctx, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s := &session{Env: e, report: report, filter: *filter, fuzzTime: *fuzzTime, clusterName: *name}
	closeAll := func() {
		if !*keep {
			s.close(context.WithoutCancel(ctx))
		}
	}
	// What was started is ended also when ctx is over.
	defer closeAll()
	for _, p := range selected {
		if ctx.Err() != nil {
			report.fail(p.name, "interrupted before it ran")
			continue
		}
		s.runPart(ctx, p)
	}
	closeAll()
	return report.summarize()
}

// choose gives the named parts in their order; all of them where none is named.
func choose(names []string) ([]part, error) {
	if len(names) == 0 {
		return parts, nil
	}
	var chosen []part
	for _, p := range parts {
		if slices.Contains(names, p.name) {
			chosen = append(chosen, p)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			all := make([]string, 0, len(parts))
			for _, p := range parts {
				all = append(all, p.name)
			}
			return nil, fmt.Errorf("there is no part %q; the parts are %s", name, strings.Join(all, ", "))
		}
	}
	return chosen, nil
}
