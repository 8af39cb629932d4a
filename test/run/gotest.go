//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// goTest runs go test in a directory and reports each test. The error is one of running it, not a failed test.
func (s *session) goTest(ctx context.Context, dir string, environment []string, args ...string) error {
	cmd := s.Command(ctx, "go", append([]string{"-C", dir, "test", "-json"}, args...)...)
	cmd.Env = append(cmd.Env, environment...)
	var stderr strings.Builder
	cmd.Stderr, cmd.Stdout = &stderr, nil
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	tests := newTests(s.report)
	done := s.report.working(tests.waitingFor)
	readErr := tests.read(stdout)
	done()
	err = cmd.Wait()
	tests.close()
	var exit *exec.ExitError
	if errors.As(err, &exit) && tests.failed > 0 {
		err = nil // it has been said which tests failed
	}
	if err = errors.Join(readErr, err); err != nil {
		return fmt.Errorf("go test %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return nil
}

// read takes the events of go test -json.
func (t *tests) read(r io.Reader) error {
	decoder := json.NewDecoder(r)
	for {
		var e event
		switch err := decoder.Decode(&e); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the events of go test: %w", err)
		}
		t.take(e)
	}
}
