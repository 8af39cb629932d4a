package build

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/console"
	"github.com/mcptasks/mcptasks/test/localcluster/internal/lock"
)

// tailLines is how much of a build's output is shown when it fails.
const tailLines = 20

// Ensure builds those of the programs that the cache doesn't have, one after another, and returns a directory with all of
// them. It waits for another process that builds into the same cache.
func (b *Builder) Ensure(ctx context.Context, programs []Binary, out *console.Printer) (string, error) {
	keys := make(map[string]string, len(programs))
	for _, p := range programs {
		key, err := b.key(ctx, p)
		if err != nil {
			return "", err
		}
		keys[p.Name] = key
	}
	if len(b.missing(programs, keys)) > 0 {
		if err := b.buildMissing(ctx, programs, keys, out); err != nil {
			return "", err
		}
	}
	return b.view(programs, keys)
}

func (b *Builder) missing(programs []Binary, keys map[string]string) []Binary {
	var missing []Binary
	for _, p := range programs {
		if !b.have(keys[p.Name]) {
			missing = append(missing, p)
		}
	}
	return missing
}

func (b *Builder) buildMissing(ctx context.Context, programs []Binary, keys map[string]string, out *console.Printer) error {
	l, err := lock.Wait(ctx, filepath.Join(b.Cache, "build.lock"), func() {
		out.Line("Another process is building the cluster's programs; waiting for it.")
	})
	if err != nil {
		return err
	}
	defer func() { _ = l.Release() }()

	missing := b.missing(programs, keys)
	if len(missing) == 0 {
		return nil
	}
	out.Line("Building %d of the cluster's programs into %s; later runs find them there.", len(missing), b.Cache)
	out.Line("A first build takes about %s on this machine.", console.Duration(estimate(missing)))
	for i, p := range missing {
		title := fmt.Sprintf("[%d/%d] build %s", i+1, len(missing), p.Name)
		if err := b.build(ctx, p, keys[p.Name], title, estimate(missing[i:]), out); err != nil {
			return err
		}
	}
	return nil
}

// estimate is how long building programs takes on this machine where nothing has been built before. More than eight cores
// don't help: the big packages are compiled one at a time.
func estimate(programs []Binary) time.Duration {
	var onTwoCores time.Duration
	for _, p := range programs {
		onTwoCores += p.FirstBuild
	}
	return onTwoCores * 2 / time.Duration(max(1, min(runtime.NumCPU(), 8)))
}

func (b *Builder) build(ctx context.Context, p Binary, key, title string, left time.Duration, out *console.Printer) error {
	target := b.path(key)
	logPath := filepath.Join(b.Cache, "logs", p.Name+".log")
	for _, dir := range []string{filepath.Dir(target), filepath.Dir(logPath)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	log, err := os.Create(logPath)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()

	draft := filepath.Join(filepath.Dir(target), "."+key)
	defer func() { _ = os.Remove(draft) }()
	// With -v the go command names each package it compiles, and is silent about those it has already.
	cmd := b.goCommand(ctx, p.Module, "build", "-v", "-tags="+p.Tags, "-ldflags=-s -w "+p.LDFlags, "-o", draft, p.Package)
	cmd.Stdout = log
	// Told to stop, the go command removes its temporary files.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	lines, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	var compiled atomic.Int64
	began := time.Now()
	step := out.Step(title, func() string {
		detail := fmt.Sprintf("%d packages compiled", compiled.Load())
		if rest := left - time.Since(began); rest > time.Minute {
			detail += fmt.Sprintf(", at most about %.0f min for all that's left", rest.Minutes())
		}
		return detail
	})
	if err := cmd.Start(); err != nil {
		step.Fail()
		return fmt.Errorf("build %s: %w", p.Name, err)
	}
	scanner := bufio.NewScanner(io.TeeReader(lines, log))
	for scanner.Scan() {
		compiled.Add(1)
	}
	err = cmd.Wait()
	if err == nil {
		err = os.Rename(draft, target)
	}
	if err != nil {
		step.Fail()
		text, _ := os.ReadFile(logPath)
		return fmt.Errorf("build %s: %w\nthe end of %s:\n%s\nIf a module could not be downloaded, check the network and GOPROXY; "+
			"if the disk is full, free about 8 GB; then run the same command again: it goes on where it stopped",
			p.Name, err, logPath, Tail(text, tailLines))
	}
	step.Done("")
	return nil
}
