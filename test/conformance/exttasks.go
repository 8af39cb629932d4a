//go:build unix

package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed tasks.mjs
var extTasksScript []byte

// extTasks has the official client of the Tasks extension drive the fixture tools (tasks.mjs).
func (b *bench) extTasks(ctx context.Context, r *report) error {
	home, err := b.home("ext-tasks")
	if err != nil {
		return err
	}
	// Packages are looked for beside the script.
	script := filepath.Join(home, "tasks.mjs")
	if err := errors.Join(
		os.WriteFile(script, extTasksScript, 0o600),
		os.Symlink(filepath.Join(b.clients.dir, "node_modules"), filepath.Join(home, "node_modules")),
	); err != nil {
		return err
	}
	r.say("ext-tasks, the official client of the Tasks extension:")
	var stderr bytes.Buffer
	cmd := b.clients.node(ctx, home, script)
	cmd.Env = append(cmd.Env, "ENDPOINT="+b.url(), "TOKEN="+b.token)
	cmd.Stderr = &stderr
	out, runErr := cmd.Output()
	messages, err := readVerdicts(string(out), r)
	if err = errors.Join(runErr, err); err != nil {
		return fmt.Errorf("run ext-tasks: %w\n%s", err, strings.TrimSpace(stderr.String()))
	}
	r.say("  all of %d messages were checked against the schemas", messages)
	return nil
}

// readVerdicts counts what tasks.mjs prints: a line of JSON for each check, and at the end how many messages it has seen.
func readVerdicts(out string, r *report) (messages int, err error) {
	for line := range strings.Lines(out) {
		var verdict struct {
			Check, What, Problem string
			Messages             int
		}
		if err := json.Unmarshal([]byte(line), &verdict); err != nil {
			return 0, fmt.Errorf("it printed %q: %w", line, err)
		}
		switch {
		case verdict.Check == "":
			messages = verdict.Messages
		case verdict.Problem != "":
			r.fail(verdict.Check, verdict.Problem)
		default:
			r.pass(verdict.Check, verdict.What)
		}
	}
	if messages == 0 {
		return 0, errors.New("it ended before its last check, or saw no message")
	}
	return messages, nil
}
