//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// The protocol eras that the Inspector can be told to speak. In the legacy one, which begins with a handshake, there are no
// tasks: all calls are waited for.
const (
	modern = "modern"
	auto   = "auto"
	legacy = "legacy"
)

// inspection is one call of the Inspector's CLI and what has to come of it.
type inspection struct {
	name, what string
	eras       []string
	method     []string
	code       int      // exit code
	want       []string // all in its output
}

// The arguments of the Inspector's CLI for its methods.
var (
	initialize = []string{"--method", "initialize"}
	// strict makes a schema that some clients could not use an error.
	listTools = []string{"--method", "tools/list", "--strict"}
)

func callTool(tool, arguments string) []string {
	return []string{"--method", "tools/call", "--tool-name", tool, "--tool-args-json", arguments}
}

var inspections = []inspection{
	{
		name: "initialize", what: "the newest revision is spoken", eras: []string{modern, auto},
		method: initialize, want: []string{`"protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/tasks":{}`},
	},
	{
		name: "initialize", what: "the newest revision with a handshake is spoken, without tasks", eras: []string{legacy},
		method: initialize, want: []string{`"protocolVersion":"2025-11-25"`, `"capabilities":{"resources":{},"tools":{}}`},
	},
	{
		name: "tools-list", what: "the tenant's tools are listed, with schemas for all clients", eras: []string{modern, auto, legacy},
		method: listTools, want: []string{`"greet"`, `"slow_compute"`, `"failing_job"`, `"protocol_error_job"`},
	},
	{
		name: "call-forbidden", what: "a tool that is never a task answers", eras: []string{modern, auto, legacy},
		method: callTool("greet", `{"name":"Inspector"}`), want: []string{"Hello, Inspector!"},
	},
	{
		name: "call-optional", what: "a task is followed to its result", eras: []string{modern, auto},
		method: callTool("slow_compute", `{"seconds":1,"label":"inspected"}`), want: []string{"inspected: done"},
	},
	{
		name: "call-optional", what: "a call is waited for", eras: []string{legacy},
		method: callTool("slow_compute", `{"seconds":1,"label":"inspected"}`), want: []string{"inspected: done"},
	},
	{
		name: "tool-error", what: "a tool's failure is a tool error", eras: []string{modern, auto, legacy},
		method: callTool("test_error_handling", `{}`),
		code:   toolIsError, want: []string{"exited with code 1", "This tool intentionally returns an error for testing"},
	},
	{
		name: "call-required", what: "a task that fails is a tool error", eras: []string{modern, auto},
		method: callTool("failing_job", `{}`), code: toolIsError, want: []string{"The disk is full."},
	},
	{
		name: "call-required", what: "a tool that is always a task is refused in words", eras: []string{legacy},
		method: callTool("failing_job", `{}`),
		code:   1, want: []string{"nothing was started", "MCP 2026-07-28 with the Tasks extension"},
	},
	{
		name: "task-failed", what: "a call that cannot be carried out is an error in words", eras: []string{modern, auto},
		method: callTool("protocol_error_job", `{}`), code: 1, want: []string{"The pod is refused"},
	},
	{
		name: "question", what: "a client that cannot be asked is told what it lacks", eras: []string{modern, auto},
		method: callTool("confirm_delete", `{"filename":"a.txt"}`), code: 1, want: []string{"declare elicitation"},
	},
	{
		name: "question", what: "a tool that asks is refused in words", eras: []string{legacy},
		method: callTool("confirm_delete", `{"filename":"a.txt"}`), code: 1, want: []string{"nothing was started"},
	},
}

// inspector runs the Inspector's CLI with a token of its own against the endpoint, in each era.
func (b *bench) inspector(ctx context.Context, r *report) error {
	home, err := b.home("inspector")
	if err != nil {
		return err
	}
	for _, era := range []string{modern, auto, legacy} {
		r.say("Inspector CLI, protocol era %s:", era)
		for _, i := range inspections {
			if !slices.Contains(i.eras, era) {
				continue
			}
			args := append([]string{"--cli", b.url(), "--transport", "http", "--protocol-era", era, "--format", "json",
				"--header", "Authorization: Bearer " + b.token}, i.method...)
			cmd := b.clients.node(ctx, home, b.clients.script(".bin/mcp-inspector"), args...)
			out, err := cmd.CombinedOutput()
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				return fmt.Errorf("run the Inspector: %w", err)
			}
			name := "inspector-" + era + "-" + i.name
			if why := i.judge(cmd.ProcessState.ExitCode(), string(out)); why != "" {
				r.fail(name, why)
			} else {
				r.pass(name, i.what)
			}
		}
	}
	return nil
}

// judge says what is wrong with an exit code and an output, if anything is.
func (i inspection) judge(code int, out string) string {
	var missing []string
	for _, want := range i.want {
		if !strings.Contains(out, want) {
			missing = append(missing, want)
		}
	}
	if code == i.code && len(missing) == 0 {
		return ""
	}
	return fmt.Sprintf("exit code %d, want %d; missing %q; it printed %.600q", code, i.code, missing, strings.TrimSpace(out))
}
