package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// suite runs one scenario of the conformance suite against an endpoint; each of its checks counts. dir is for the suite's files.
func (c *clients) suite(ctx context.Context, url, scenario, dir string, r *report) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	r.say("Conformance suite, scenario %s:", scenario)
	// The suite's own limit for a scenario, 30 s, is meant for servers that do the work in memory; its limits per step stay.
	cmd := c.node(ctx, dir, "@modelcontextprotocol/conformance/dist/index.js", "server",
		"--url", url, "--scenario", scenario, "--timeout", "120000", "--output-dir", dir)
	out, runErr := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); runErr != nil && !errors.As(runErr, &exit) {
		return fmt.Errorf("run the conformance suite: %w", runErr)
	}
	checks, err := readChecks(dir)
	if err != nil {
		return fmt.Errorf("the conformance suite left no results for %s: %w\n%s", scenario, err, bytes.TrimSpace(out))
	}
	failed := r.failed
	for _, check := range checks {
		switch check.Status {
		case "SUCCESS", "INFO":
			r.pass(check.ID, check.Description)
		case "SKIPPED":
			r.skip(check.ID, check.ErrorMessage)
		default: // FAILURE; a WARNING is something we want to hear of too
			r.fail(check.ID, check.ErrorMessage)
		}
	}
	if runErr != nil && r.failed == failed {
		r.fail(scenario, "the suite says that it failed: "+runErr.Error())
	}
	return nil
}

// check is one entry of the suite's checks.json.
type check struct {
	ID           string `json:"id"`
	Description  string `json:"description"`
	Status       string `json:"status"`
	ErrorMessage string `json:"errorMessage"`
}

func readChecks(dir string) ([]check, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, fmt.Errorf("%d files of results, want one", len(files))
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		return nil, err
	}
	var checks []check
	if err := json.Unmarshal(content, &checks); err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	if len(checks) == 0 {
		return nil, errors.New("no check was made")
	}
	return checks, nil
}
