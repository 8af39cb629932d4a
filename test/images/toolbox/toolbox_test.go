package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCommands(t *testing.T) {
	tests := []struct {
		name           string
		args           []string
		file           string
		code           int
		stdout, stderr string
	}{
		{name: "greet by flag", args: []string{"greet", "--name=World"}, stdout: "Hello, World!\n"},
		{name: "greet by file", args: []string{"greet"}, file: `{"name":"\"Ada\""}`, stdout: "Hello, \"Ada\"!\n"},
		{name: "a flag wins over the file", args: []string{"greet", "--name=Grace"}, file: `{"name":"Ada"}`, stdout: "Hello, Grace!\n"},
		{name: "sleep", args: []string{"sleep", "--seconds=0", "--label=x"}, stdout: "x: started, takes 0s\nx: done\n"},
		{name: "sleep by file", args: []string{"sleep"}, file: `{"seconds":0.001,"label":"y"}`,
			stdout: "y: started, takes 1ms\ny: done\n"},
		{name: "sleep for ever", args: []string{"sleep", "--seconds=-1"}, code: 2,
			stderr: "toolbox: seconds must be a number of seconds from 0 to 86400, not \"-1\"\n"},
		{name: "exit", args: []string{"exit", "--code=3", "--stdout=a", "--stderr=b"}, code: 3, stdout: "a", stderr: "b"},
		{name: "spew", args: []string{"spew", "--bytes=7", "--pattern=abc"}, stdout: "abcabca"},
		{name: "spew to stderr", args: []string{"spew", "--bytes=2", "--pattern=abc", "--channel=stderr"}, stderr: "ab"},
		{name: "an argument that is no flag", args: []string{"greet", "World"}, code: 2,
			stderr: "toolbox: \"World\" is not of the form --name=value\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "arguments.json")
			if test.file != "" {
				if err := os.WriteFile(file, []byte(test.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var stdout, stderr strings.Builder
			code := run(t.Context(), test.args, file, &stdout, &stderr)
			if code != test.code || stdout.String() != test.stdout || stderr.String() != test.stderr {
				t.Errorf("exit %d, stdout %q, stderr %q; want %d, %q, %q",
					code, stdout.String(), stderr.String(), test.code, test.stdout, test.stderr)
			}
		})
	}
}

func TestEchoArgs(t *testing.T) {
	const raw = `{"text": "<&> \u00e9 $(X)", "n": 9007199254740993}`
	file := filepath.Join(t.TempDir(), "arguments.json")
	if err := os.WriteFile(file, []byte(raw), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MCP_ARG_TEXT", "<&> é $(X)")
	var stdout, stderr strings.Builder
	if code := run(t.Context(), []string{"echo-args", "--a=b c"}, file, &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	var got received
	if err := json.Unmarshal([]byte(stdout.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.File != raw || got.Environment["MCP_ARG_TEXT"] != "<&> é $(X)" || len(got.Argv) != 1 || got.Argv[0] != "--a=b c" {
		t.Errorf("got %+v", got)
	}
}

func TestDigestArgs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "arguments.json")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MCP_ARG_TEXT", "")
	var stdout, stderr strings.Builder
	if code := run(t.Context(), []string{"digest-args", "--a=abc"}, file, &stdout, &stderr); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	var got received
	if err := json.Unmarshal([]byte(stdout.String()), &got); err != nil {
		t.Fatal(err)
	}
	const (
		empty  = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
		braces = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	)
	if got.File != braces || got.Environment["MCP_ARG_TEXT"] != empty || len(got.Argv) != 1 || got.Argv[0] == "--a=abc" {
		t.Errorf("got %s", stdout.String())
	}
}

func TestCount(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []string{"count 1", "count 2", "marks 2", "count 3"} {
		command, n, _ := strings.Cut(want, " ")
		var stdout, stderr strings.Builder
		if code := run(t.Context(), []string{command, "--dir=" + dir}, "", &stdout, &stderr); code != 0 {
			t.Fatalf("exit %d: %s", code, stderr.String())
		}
		if stdout.String() != n+"\n" {
			t.Errorf("%s printed %q, want %s", command, stdout.String(), n)
		}
	}
}

func TestIndexed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "arguments.json")
	if err := os.WriteFile(file, []byte(`{"items":["foo","bär","baz"],"fail":[0],"flaky":[1]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		index          string
		code           int
		stdout, stderr string
	}{
		{"0", 7, "", "toolbox: cannot turn \"foo\"\n"},
		{"1", 1, "", "toolbox: this is the first time\n"},
		{"1", 0, "räb\n", ""},
		{"2", 0, "zab\n", ""},
		{"3", 2, "", "toolbox: there is no item 3\n"},
		{"", 2, "", "toolbox: JOB_COMPLETION_INDEX: strconv.Atoi: parsing \"\": invalid syntax\n"},
	} {
		t.Setenv("JOB_COMPLETION_INDEX", test.index)
		var stdout, stderr strings.Builder
		code := run(t.Context(), []string{"indexed", "--code=7", "--dir=" + dir}, file, &stdout, &stderr)
		if code != test.code || stdout.String() != test.stdout || stderr.String() != test.stderr {
			t.Errorf("index %s: exit %d, stdout %q, stderr %q", test.index, code, stdout.String(), stderr.String())
		}
	}
}

// TestTerminated runs the commands that take a while with SIGTERM already there.
func TestTerminated(t *testing.T) {
	tests := map[string]struct {
		args []string
		code int
	}{
		"sleep":               {[]string{"sleep", "--seconds=3600"}, terminated},
		"exit":                {[]string{"exit", "--sleep=3600", "--code=5"}, terminated},
		"exit, trapped":       {[]string{"exit", "--sleep=3600", "--code=5", "--trap=0"}, 0},
		"exit, that is quick": {[]string{"exit", "--code=5", "--trap=ignore", "--sleep=0.001"}, 5},
		"spew":                {[]string{"spew", "--bytes=1000000000"}, terminated},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			start := time.Now()
			var stdout, stderr strings.Builder
			if code := run(ctx, test.args, "", &stdout, &stderr); code != test.code {
				t.Errorf("exit %d, want %d; %s", code, test.code, stderr.String())
			}
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("took %s", d)
			}
		})
	}
}
