package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMigrate runs the commands of one environment's life in order, on a real database.
func TestMigrate(t *testing.T) {
	tests := []struct {
		name  string
		steps []step
	}{
		{"all at once, then nothing", []step{
			{args: "up --environment staging", out: "Applied 3 migrations to staging: it is at version 3, nothing is pending."},
			{args: "up --environment staging", out: "Nothing to do: staging is at version 3."},
		}},
		{"step by step", []step{
			{args: "status --environment staging", out: `"version":0,"pending":["00001_create_customers.sql"`},
			{args: "up --environment staging --steps=2", out: "Applied 2 migrations to staging: it is at version 2, 1 migration pending."},
			{args: "up --environment staging --steps=", out: "Applied 1 migration to staging: it is at version 3"},
			{args: "status --environment staging", out: `{"environment":"staging","version":3,"pending":[]}`},
		}},
		{"bad SQL is undone, and what came before it stays", []step{
			{args: "up --environment preview", err: `00004_add_order_currency.sql failed and was undone: SQL logic error: near "order"`},
			{args: "up --environment preview", err: "preview stays at version 3, 1 migration pending"},
			{args: "status --environment preview", out: `"version":3,"pending":["00004_add_order_currency.sql"]`},
		}},
		{"wrong use", []step{
			{args: "", err: "usage: "},
			{args: "down --environment staging", err: `unknown command "down"`},
			{args: "up", err: "--environment is missing"},
			{args: "up --environment ../staging", err: "is no name of an environment"},
			{args: "up --environment moon", err: "there are no migrations for the environment moon"},
			{args: "up --environment staging --steps 0", err: "must be a number from 1"},
			{args: "up --environment staging now", err: `unexpected argument "now"`},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dirs := layOut(t)
			for _, s := range test.steps {
				s.run(t, dirs)
			}
		})
	}
}

// TestStopped ends a run in the middle of its longest migration.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := writerFunc(func(line string) {
		if strings.HasPrefix(line, "00003") {
			cancel()
		}
	})
	dirs := layOut(t)
	err := run(ctx, append([]string{"up", "--environment", "production"}, dirs...), out)
	if err == nil || !strings.Contains(err.Error(), "stopped as asked") {
		t.Errorf("error %v, want one that says that it was stopped", err)
	}
	step{args: "status --environment production", out: `"version":3`}.run(t, dirs)
}

func TestOneAtATime(t *testing.T) {
	dirs := layOut(t)
	unlock, err := environment{name: "staging", data: dirs[3]}.lock()
	if err != nil {
		t.Fatal(err)
	}
	step{args: "up --environment staging", err: "another migration is running"}.run(t, dirs)
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	step{args: "up --environment staging", out: "Applied 3 migrations"}.run(t, dirs)
}

type step struct{ args, out, err string }

func (s step) run(t *testing.T, dirs []string) {
	t.Helper()
	args := strings.Fields(s.args)
	if len(args) > 0 {
		args = append(args[:1:1], append(append([]string{}, dirs...), args[1:]...)...)
	}
	var out strings.Builder
	err := run(t.Context(), args, &out)
	if s.err == "" && err != nil {
		t.Fatalf("migrate %s: %v", s.args, err)
	}
	if s.err != "" && (err == nil || !strings.Contains(err.Error(), s.err)) {
		t.Fatalf("migrate %s: error %v, want one with %q", s.args, err, s.err)
	}
	if !strings.Contains(out.String(), s.out) {
		t.Fatalf("migrate %s: printed %q, want %q in it", s.args, out.String(), s.out)
	}
}

// layOut lays the SQL files out as the image does and returns the flags that name the directories.
func layOut(t *testing.T) []string {
	t.Helper()
	migrations := t.TempDir()
	for _, environment := range []string{"staging", "preview", "production"} {
		to := filepath.Join(migrations, environment)
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{"migrations", environment} {
			files, err := filepath.Glob(filepath.Join(from, "*.sql"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				content, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return []string{"--migrations", migrations, "--data", t.TempDir()}
}

type writerFunc func(string)

func (f writerFunc) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}
