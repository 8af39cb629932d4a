//go:build unix

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
	"regexp"
	"slices"
	"strings"
)

// suiteScript is the suite's program among the installed packages.
const suiteScript = "@modelcontextprotocol/conformance/dist/index.js"

// The revisions of the protocol that scenarios are run at, where they are about a revision. Those before 2026-07-28 begin with a
// handshake; the suite has nearly all their scenarios for the newest of them, too, so the others would show nothing more.
const (
	current  = "2026-07-28"
	previous = "2025-11-25"
)

// scenario is one scenario of the suite at one revision.
type scenario struct {
	name     string
	revision string // empty for those of extensions
}

// String names the scenario and its revision.
func (s scenario) String() string {
	if s.revision == "" {
		return s.name
	}
	return s.name + "@" + s.revision
}

// scenarios asks the suite for its scenarios.
func (c *clients) scenarios(ctx context.Context, home string) ([]scenario, error) {
	cmd := c.node(ctx, home, c.script(suiteScript), "list", "--server")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the scenarios of the conformance suite: %w", err)
	}
	return parseScenarios(string(out))
}

// listed is a line like "  - tools-list [2025-11-25,2026-07-28]".
var listed = regexp.MustCompile(`^\s+- (\S+) \[([^\]]+)\]$`)

func parseScenarios(list string) ([]scenario, error) {
	var all []scenario
	for line := range strings.Lines(list) {
		match := listed.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if match == nil {
			continue // the heading
		}
		revisions := strings.Split(match[2], ",")
		for _, revision := range []string{current, previous} {
			if slices.Contains(revisions, revision) {
				all = append(all, scenario{match[1], revision})
			}
		}
		if slices.Contains(revisions, "extension") {
			all = append(all, scenario{name: match[1]})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the conformance suite lists no scenarios, but says %q", list)
	}
	return all, nil
}

// choose keeps the scenarios of the given names, or all where none is given.
func choose(all []scenario, names []string) ([]scenario, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []scenario
	for _, name := range names {
		before := len(chosen)
		for _, s := range all {
			if s.name == name || s.String() == name {
				chosen = append(chosen, s)
			}
		}
		if len(chosen) == before {
			return nil, fmt.Errorf("the conformance suite has no scenario %q", name)
		}
	}
	return chosen, nil
}

// suite runs the conformance suite, all its scenarios or only those of the given names, one by one: of several at once it would
// report failures in some only. It goes through a gateway, since it cannot send tokens.
func (b *bench) suite(ctx context.Context, only []string, known *baseline, r *report) error {
	home, err := b.home("suite")
	if err != nil {
		return err
	}
	all, err := b.clients.scenarios(ctx, home)
	if err != nil {
		return err
	}
	for _, name := range known.unknown(all) {
		r.fail(name, "it is in the baseline, but the suite has no such scenario")
	}
	chosen, err := choose(all, only)
	if err != nil {
		return err
	}
	gateway, err := gateway{endpoint: b.address, token: b.token, before: b.unsteady.before}.open(ctx)
	if err != nil {
		return err
	}
	for _, s := range chosen {
		if err := b.clients.scenario(ctx, "http://"+gateway+"/mcp", s, filepath.Join(home, s.String()), known, r); err != nil {
			return err
		}
		if err := b.unsteady.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// scenario runs one scenario against an endpoint; each of its checks counts. dir is for the suite's files.
func (c *clients) scenario(ctx context.Context, url string, s scenario, dir string, known *baseline, r *report) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	r.say("Conformance suite, scenario %s:", s)
	// The suite's own limit for a scenario, 30 s, is meant for servers that do the work in memory; its limits per step stay.
	args := []string{"server", "--url", url, "--scenario", s.name, "--timeout", "120000", "--output-dir", dir}
	if s.revision != "" {
		args = append(args, "--spec-version", s.revision)
	}
	cmd := c.node(ctx, dir, c.script(suiteScript), args...)
	out, runErr := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); runErr != nil && !errors.As(runErr, &exit) {
		return fmt.Errorf("run the conformance suite: %w", runErr)
	}
	checks, err := readChecks(dir)
	if err != nil {
		return fmt.Errorf("the conformance suite left no results for %s: %w\n%s", s, err, bytes.TrimSpace(out))
	}
	judge(s, checks, runErr, known, r)
	return nil
}

// wireSchema is the check that the suite adds to each scenario: whether all messages of the server fit the protocol's schema.
const wireSchema = "wire-schema-valid"

// judge counts the checks of a scenario. Each that did not pass, also one that the suite only warns of or left out, has to be in
// the baseline, and each of the baseline must not pass. exit is the error that the suite ended with.
func judge(s scenario, checks []check, exit error, known *baseline, r *report) {
	explained := known.of(s)
	held, passed, failed, before := map[string]bool{}, 0, false, r.failed
	for _, check := range checks {
		entry, why := explained.find(check.ID)
		failed = failed || check.Status == "FAILURE"
		switch {
		case check.Status == "SUCCESS":
			r.pass(check.ID, check.Description)
			if check.ID != wireSchema {
				passed++
			}
		case entry != "":
			held[entry] = true
			r.inapplicable(check.ID, why)
		case check.Status == "INFO":
			r.say("  info  %-42s %s", check.ID, oneLine(check.Description))
		default:
			r.fail(check.ID, check.Status+": "+check.ErrorMessage)
		}
	}
	for entry := range explained {
		if !held[entry] || entry == everything && passed > 0 {
			r.fail(entry, fmt.Sprintf("The baseline says of %s that it cannot pass, which is no longer so; remove it there", s))
		}
	}
	if passed == 0 && len(explained) == 0 && r.failed == before {
		r.fail(s.String(), "none of its checks passed, and the baseline does not say why")
	}
	if exit != nil && !failed {
		r.fail(s.String(), "the suite says that it failed: "+exit.Error())
	}
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
