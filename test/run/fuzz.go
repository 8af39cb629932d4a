//go:build unix

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// minFuzzTime is the least that a fuzz target is given.
const minFuzzTime = time.Second

// fuzzTarget is a fuzz test: a function of a package, which go test fuzzes one at a time.
type fuzzTarget struct{ pkg, name string }

// fuzz gives every fuzz target of the main module its share of the time. A target passes if it ran and found nothing; what one
// finds, go test leaves in the package's testdata, where it is a test from then on.
func fuzz(ctx context.Context, s *session) error {
	filter, err := regexp.Compile(s.filter)
	if err != nil {
		return fmt.Errorf("--run: %w", err)
	}
	targets, err := fuzzTargets(s.Root)
	if err != nil {
		return fmt.Errorf("find the fuzz targets: %w", err)
	}
	targets = slices.DeleteFunc(targets, func(t fuzzTarget) bool { return !filter.MatchString(t.name) })
	if len(targets) == 0 {
		return errors.New("there are no such fuzz targets")
	}
	share := max(s.fuzzTime/time.Duration(len(targets)), minFuzzTime).Round(time.Millisecond)
	for _, target := range targets {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.fuzzOne(ctx, target, share)
	}
	return nil
}

func (s *session) fuzzOne(ctx context.Context, target fuzzTarget, share time.Duration) {
	name := strings.TrimPrefix(target.pkg, "./") + " " + target.name
	done := s.report.working(func() string { return name + ", compiling it first" })
	out, err := s.capture(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+target.name+"$", "-fuzztime", share.String(),
		// Else it may spend a minute on making one input shorter.
		"-fuzzminimizetime", "1s", target.pkg)
	done()
	executions := executed(out)
	switch {
	case err != nil:
		s.report.fail(name, words(out))
	case executions == "":
		s.report.fail(name, "it did not say that it executed anything\n"+words(out))
	default:
		s.report.pass(fmt.Sprintf("%-52s %9s executions in %s", name, executions, share))
	}
}

var progress = regexp.MustCompile(`(?m)^fuzz: elapsed: .*, execs: ([0-9]+) `)

// executed is how many inputs go test says that it tried; empty if it says nothing, or none.
func executed(output string) string {
	lines := progress.FindAllStringSubmatch(output, -1)
	if len(lines) == 0 || lines[len(lines)-1][1] == "0" {
		return ""
	}
	return lines[len(lines)-1][1]
}

// fuzzTargets finds the fuzz targets of the module at root, by package and name.
func fuzzTargets(root string) ([]fuzzTarget, error) {
	var targets []fuzzTarget
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (ignored(d.Name()) || isModule(path)):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
				targets = append(targets, fuzzTarget{"./" + filepath.ToSlash(dir), f.Name.Name})
			}
		}
		return nil
	})
	slices.SortFunc(targets, func(a, b fuzzTarget) int {
		return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.name, b.name))
	})
	return targets, err
}
