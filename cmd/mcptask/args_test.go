package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestArgs(t *testing.T) {
	const arguments = `{"text":"a \"b\" $(c) \u00e4","empty":"","count":9007199254740993,"price":1.50,"list":[1, "x"],` +
		`"no":null,"on":true}`
	for _, tc := range []struct {
		name string
		args []string
		want string
		err  string
	}{
		{name: "all of them, byte for byte", want: arguments},
		{name: "a string without quotes", args: []string{"text"}, want: `a "b" $(c) ä`},
		{name: "an empty string", args: []string{"empty", "--default", "x"}, want: ""},
		{name: "a number that no float holds", args: []string{"count"}, want: "9007199254740993"},
		{name: "a number as written", args: []string{"price"}, want: "1.50"},
		{name: "a boolean", args: []string{"on"}, want: "true"},
		{name: "a list as written", args: []string{"list"}, want: `[1, "x"]`},
		{name: "missing", args: []string{"other"}, err: `argument "other": the caller did not give it`},
		{name: "null", args: []string{"no"}, err: `argument "no": the caller did not give it`},
		{name: "missing with a default", args: []string{"other", "--default", "7"}, want: "7"},
		{name: "missing with an empty default", args: []string{"other", "--default="}, want: ""},
		{name: "null with a default", args: []string{"no", "--default", "7"}, want: "7"},
		{name: "two names", args: []string{"on", "no"}, err: "at most 1 arg"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "arguments.json")
			if err := os.WriteFile(file, []byte(arguments), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := runArgs(append(tc.args, "--file", file)...)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || got != "" {
					t.Errorf("output %q, error %v; want none and an error with %q", got, err, tc.err)
				}
				return
			}
			if err != nil || got != tc.want+"\n" {
				t.Errorf("output %q, error %v; want %q", got, err, tc.want+"\n")
			}
		})
	}
}

func TestArgsWithoutUsableFile(t *testing.T) {
	if _, err := runArgs("--file", filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing file must be an error")
	}
	file := filepath.Join(t.TempDir(), "arguments.json")
	if err := os.WriteFile(file, []byte(`["a"]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := runArgs("a", "--default", "x", "--file", file); err == nil || !strings.Contains(err.Error(), "not a JSON object") {
		t.Errorf("error %v; arguments that are no object must be an error, also with a default", err)
	}
}

func runArgs(args ...string) (string, error) {
	var out bytes.Buffer
	root := newRootCommand()
	root.SetArgs(append([]string{"args"}, args...))
	root.SetOut(&out)
	err := root.Execute()
	return out.String(), err
}
