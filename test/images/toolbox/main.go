// Command toolbox is the program in the image of the tests' and the samples' tools: one static binary with one small behaviour
// per command. It stands for the programs that people put behind a tool, so it knows nothing of MCPTasks or the endpoint: it
// takes its values from flags and, where a flag is missing, from the caller's arguments in /mcp/arguments.json.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// call is one run of the program: its values and where it writes.
type call struct {
	values
	stdout, stderr io.Writer
}

// command is one behaviour. It returns the exit code; an error is printed and means 1. ctx ends with SIGTERM, which a command
// obeys at once unless it says otherwise.
type command struct {
	name, does string
	run        func(context.Context, call) (int, error)
}

var commands = []command{
	{"greet", "print a greeting: --name", greet},
	{"echo-args", "print argv, MCP_ARG_ variables and the arguments file as JSON", echoArgs},
	{"digest-args", "print SHA-256 of argv, MCP_ARG_ variables and the arguments file as JSON", digestArgs},
	{"sleep", "take a while: --seconds, --label", sleep},
	{"exit", "print and exit: --code, --stdout, --stderr, --sleep (seconds), --trap (SIGTERM: exit code, or ignore)", exit},
	{"spew", "print much: --bytes, --pattern or --hex (of it), --channel (stdout, stderr, or a file), --seconds (it takes), " +
		"--first (on stderr), --last (on stdout), --code", spew},
	{"count", "leave a mark in --dir and print how many there are: --sleep (seconds before the end)", count},
	{"indexed", "do what JOB_COMPLETION_INDEX says: print that one of --items backwards; --fail (indexes that exit with --code), " +
		"--flaky (indexes that fail the first time, by a mark in --dir)", indexed},
	{"marks", "print how many marks there are in --dir", marks},
}

// terminated is the exit code of a program that SIGTERM has ended.
const terminated = 128 + int(syscall.SIGTERM)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := run(ctx, os.Args[1:], argumentsFile, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, file string, stdout, stderr io.Writer) int {
	code, err := dispatch(ctx, args, file, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "toolbox:", err)
		return max(code, 1)
	}
	return code
}

func dispatch(ctx context.Context, args []string, file string, stdout, stderr io.Writer) (int, error) {
	if len(args) == 0 {
		return 2, usage()
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == args[0] })
	if i < 0 {
		return 2, usage()
	}
	v, err := readValues(args[1:], file)
	if err != nil {
		return 2, err
	}
	return commands[i].run(ctx, call{values: v, stdout: stdout, stderr: stderr})
}

func usage() error {
	var b strings.Builder
	b.WriteString("usage: toolbox COMMAND [--NAME=VALUE...]")
	for _, c := range commands {
		fmt.Fprintf(&b, "\n  %-11s %s", c.name, c.does)
	}
	return errors.New(b.String())
}
