package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// inspection is one call of the Inspector's CLI and what has to come of it.
type inspection struct {
	name, what      string
	tool, arguments string   // called; without a tool, the tools are listed
	code            int      // exit code; 5 is "the tool reports an error"
	want            []string // all in its output
}

var inspections = []inspection{
	{
		name: "inspector-tools-list", what: "the tools of the tenant are listed",
		want: []string{`"greet"`, `"slow_compute"`, `"failing_job"`, `"protocol_error_job"`},
	},
	{
		name: "inspector-call-blocking", what: "a tool that is no task answers",
		tool: "greet", arguments: `{"name":"Inspector"}`,
		want: []string{"Hello, Inspector!"},
	},
	{
		name: "inspector-call-task", what: "a task is followed to its result",
		tool: "slow_compute", arguments: `{"seconds":1,"label":"inspected"}`,
		want: []string{"inspected: done"},
	},
	{
		name: "inspector-tool-error", what: "a tool's failure is a tool error",
		tool: "failing_job", arguments: `{}`,
		code: 5, want: []string{"The disk is full."},
	},
	{
		name: "inspector-task-failed", what: "a call that cannot be carried out is an error",
		tool: "protocol_error_job", arguments: `{}`,
		code: 1,
	},
}

// inspector runs the Inspector's CLI with the modern protocol and a token of its own against the endpoint.
func (b *bench) inspector(ctx context.Context, r *report) error {
	home, err := b.home("inspector")
	if err != nil {
		return err
	}
	r.say("Inspector CLI, protocol era modern:")
	for _, i := range inspections {
		args := append([]string{"--cli", b.url(), "--transport", "http", "--protocol-era", "modern", "--format", "json",
			"--header", "Authorization: Bearer " + b.token}, i.method()...)
		cmd := b.clients.node(ctx, home, ".bin/mcp-inspector", args...)
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			return fmt.Errorf("run the Inspector: %w", err)
		}
		if why := i.judge(cmd.ProcessState.ExitCode(), string(out)); why != "" {
			r.fail(i.name, why)
		} else {
			r.pass(i.name, i.what)
		}
	}
	return nil
}

func (i inspection) method() []string {
	if i.tool == "" {
		return []string{"--method", "tools/list"}
	}
	return []string{"--method", "tools/call", "--tool-name", i.tool, "--tool-args-json", i.arguments}
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
	quoted, err := json.Marshal(strings.TrimSpace(out))
	if err != nil {
		quoted = []byte(err.Error())
	}
	return fmt.Sprintf("exit code %d, want %d; missing %q; it printed %.600s", code, i.code, missing, quoted)
}
