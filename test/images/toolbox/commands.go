package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func greet(_ context.Context, c call) (int, error) {
	_, err := fmt.Fprintf(c.stdout, "Hello, %s!\n", c.str("name", "world"))
	return 0, err
}

// received is what a container got to see of a call.
type received struct {
	Argv        []string          `json:"argv"`
	Environment map[string]string `json:"environment"`
	File        string            `json:"file"`
}

func echoArgs(_ context.Context, c call) (int, error) {
	r := received{Argv: c.argv, Environment: map[string]string{}, File: c.file}
	for _, kv := range os.Environ() {
		if name, value, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "MCP_ARG_") {
			r.Environment[name] = value
		}
	}
	e := json.NewEncoder(c.stdout)
	e.SetEscapeHTML(false)
	return 0, e.Encode(r)
}

// digestArgs says what it received without showing it: SHA-256 of the file and of each variable, in hexadecimal.
func digestArgs(_ context.Context, c call) (int, error) {
	digest := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	r := received{Environment: map[string]string{}, File: digest(c.file)}
	for _, arg := range c.argv {
		r.Argv = append(r.Argv, digest(arg))
	}
	for _, kv := range os.Environ() {
		if name, value, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "MCP_ARG_") {
			r.Environment[name] = digest(value)
		}
	}
	return 0, json.NewEncoder(c.stdout).Encode(r)
}

func sleep(ctx context.Context, c call) (int, error) {
	d, err := c.seconds("seconds")
	if err != nil {
		return 2, err
	}
	label := c.str("label", "slow computation")
	fmt.Fprintf(c.stdout, "%s: started, takes %s\n", label, d)
	if !wait(ctx, d) {
		fmt.Fprintf(c.stdout, "%s: stopped as asked\n", label)
		return terminated, nil
	}
	_, err = fmt.Fprintf(c.stdout, "%s: done\n", label)
	return 0, err
}

func exit(ctx context.Context, c call) (int, error) {
	code, err := c.integer("code", 0)
	if err != nil {
		return 2, err
	}
	d, err := c.seconds("sleep")
	if err != nil {
		return 2, err
	}
	stopped := terminated
	switch trap := c.str("trap", ""); trap {
	case "":
	case "ignore":
		signal.Ignore(syscall.SIGTERM)
		ctx = context.WithoutCancel(ctx)
	default:
		if stopped, err = strconv.Atoi(trap); err != nil {
			return 2, fmt.Errorf("trap must be ignore or an exit code, not %q", trap)
		}
	}
	_, errOut := io.WriteString(c.stdout, c.str("stdout", ""))
	_, errErr := io.WriteString(c.stderr, c.str("stderr", ""))
	if err := errors.Join(errOut, errErr); err != nil {
		return 1, err
	}
	if !wait(ctx, d) {
		return stopped, nil
	}
	return code, nil
}

func spew(ctx context.Context, c call) (int, error) {
	n, err := c.integer("bytes", 1<<20)
	if err != nil {
		return 2, err
	}
	d, err := c.seconds("seconds")
	if err != nil {
		return 2, err
	}
	out := c.stdout
	switch channel := c.str("channel", "stdout"); channel {
	case "stdout":
	case "stderr":
		out = c.stderr
	default:
		file, err := os.OpenFile(channel, os.O_WRONLY, 0)
		if err != nil {
			return 1, err
		}
		defer func() { _ = file.Close() }()
		out = file
	}
	code, err := c.integer("code", 0)
	if err != nil {
		return 2, err
	}
	pattern := c.str("pattern", "The quick brown fox jumps over the lazy dog.\n")
	if digits := c.str("hex", ""); digits != "" {
		raw, err := hex.DecodeString(digits)
		if err != nil {
			return 2, err
		}
		pattern = string(raw)
	}
	if _, err := io.WriteString(c.stderr, c.str("first", "")); err != nil {
		return 1, err
	}
	chunk := strings.Repeat(pattern, max(1, 32<<10/len(pattern)))
	pause := time.Duration(0)
	if n > 0 {
		pause = d / time.Duration((n+len(chunk)-1)/len(chunk))
	}
	for n > 0 {
		if !wait(ctx, pause) {
			return terminated, nil
		}
		part := chunk[:min(n, len(chunk))]
		if _, err := io.WriteString(out, part); err != nil {
			return 1, err
		}
		n -= len(part)
	}
	_, err = io.WriteString(c.stdout, c.str("last", ""))
	return code, err
}

// count leaves exactly one mark for each time it is run, before it does anything else.
func count(ctx context.Context, c call) (int, error) {
	d, err := c.seconds("sleep")
	if err != nil {
		return 2, err
	}
	mark, err := os.CreateTemp(c.str("dir", "."), "mark-*")
	if err != nil {
		return 1, fmt.Errorf("leave a mark: %w", err)
	}
	if err := errors.Join(mark.Sync(), mark.Close()); err != nil {
		return 1, fmt.Errorf("leave a mark: %w", err)
	}
	if !wait(ctx, d) {
		return terminated, nil
	}
	return marks(ctx, c)
}

// indexed does one share of a list, as the pods of an Indexed Job do.
func indexed(_ context.Context, c call) (int, error) {
	index, err := strconv.Atoi(os.Getenv("JOB_COMPLETION_INDEX"))
	if err != nil {
		return 2, fmt.Errorf("JOB_COMPLETION_INDEX: %w", err)
	}
	var items []string
	var fail, flaky []int
	if err := errors.Join(c.list("items", &items), c.list("fail", &fail), c.list("flaky", &flaky)); err != nil {
		return 2, err
	}
	code, err := c.integer("code", 1)
	if err != nil {
		return 2, err
	}
	first := false
	if slices.Contains(flaky, index) {
		if first, err = leaveMark(filepath.Join(c.str("dir", "."), fmt.Sprintf("mark-%d", index))); err != nil {
			return 1, err
		}
	}
	switch {
	case index >= len(items):
		return 2, fmt.Errorf("there is no item %d", index)
	case slices.Contains(fail, index):
		return code, fmt.Errorf("cannot turn %q", items[index])
	case first:
		return 1, errors.New("this is the first time")
	}
	letters := []rune(items[index])
	slices.Reverse(letters)
	_, err = fmt.Fprintln(c.stdout, string(letters))
	return 0, err
}

// leaveMark makes a file and reports whether it was not there yet.
func leaveMark(path string) (first bool, err error) {
	mark, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case err == nil:
		return true, mark.Close()
	case errors.Is(err, fs.ErrExist):
		return false, nil
	default:
		return false, fmt.Errorf("leave a mark: %w", err)
	}
}

func marks(_ context.Context, c call) (int, error) {
	entries, err := os.ReadDir(c.str("dir", "."))
	if err != nil {
		return 1, fmt.Errorf("count the marks: %w", err)
	}
	n := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "mark-") {
			n++
		}
	}
	_, err = fmt.Fprintln(c.stdout, n)
	return 0, err
}

// wait reports whether d passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil || d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
