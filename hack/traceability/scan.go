package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// level is what a test runs on.
type level string

// The levels.
const (
	unit        level = "unit"
	integration level = "integration"
	cluster     level = "cluster"
)

// levels are all levels; each proves what the ones before it prove.
var levels = []level{unit, integration, cluster}

func (l level) atLeast(other level) bool {
	return slices.Index(levels, l) >= slices.Index(levels, other)
}

// test is a test or a subtest that names ids.
type test struct {
	// file is the path below the root of the repository.
	file string
	// function is the test's function; empty for a table that stands outside of one.
	function string
	// subtest is the name in the source, which is only the constant part where the rest is computed. Empty for the whole test.
	subtest string
	ids     []string
}

func (t test) level() level {
	switch {
	case strings.HasPrefix(t.file, "test/e2e/"):
		return cluster
	case strings.HasPrefix(t.file, "test/integration/"):
		return integration
	default:
		return unit
	}
}

func (t test) name() string {
	return strings.Trim(t.function+" / "+t.subtest, " /")
}

// scan finds the tests that name ids, in all modules of the repository, ordered by level, file and place.
func scan(root string) ([]test, error) {
	var tests []test
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && ignored(d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		tests = append(tests, scanFile(filepath.ToSlash(name), file)...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the tests: %w", err)
	}
	slices.SortStableFunc(tests, func(a, b test) int {
		return cmp.Compare(slices.Index(levels, a.level()), slices.Index(levels, b.level()))
	})
	return tests, nil
}

// ignored are directories that the go command does not look into either, and what npm installs.
func ignored(name string) bool {
	return name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func scanFile(name string, file *ast.File) []test {
	var tests []test
	for _, decl := range file.Decls {
		function := ""
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && isTest(f.Name.Name) {
			function = f.Name.Name
			if ids := idsOfFunction(function); len(ids) > 0 {
				tests = append(tests, test{file: name, function: function, ids: ids})
			}
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			for _, subtest := range subtestNames(n) {
				if ids := idsOfText(subtest); len(ids) > 0 {
					tests = append(tests, test{file: name, function: function, subtest: subtest, ids: ids})
				}
			}
			return true
		})
	}
	return tests
}

func isTest(function string) bool {
	return strings.HasPrefix(function, "Test") || strings.HasPrefix(function, "Fuzz")
}

// subtestNames gives the names that a node has for subtests: the first argument of Run, or a row of a table, where the name is
// the key of a map, the field that is called name, or the first field.
func subtestNames(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Run" && len(n.Args) == 2 {
			return texts(n.Args[0])
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "name" {
			return texts(n.Value)
		}
		return text(n.Key)
	case *ast.CompositeLit:
		if _, isList := n.Type.(*ast.ArrayType); !isList && len(n.Elts) > 1 {
			return text(n.Elts[0])
		}
	}
	return nil
}

// texts are the constant parts of an expression that makes a name.
func texts(e ast.Expr) []string {
	var all []string
	ast.Inspect(e, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			all = append(all, text(e)...)
		}
		return true
	})
	return all
}

// text is the value of a string literal.
func text(e ast.Expr) []string {
	if literal, ok := e.(*ast.BasicLit); ok && literal.Kind == token.STRING {
		if value, err := strconv.Unquote(literal.Value); err == nil {
			return []string{value}
		}
	}
	return nil
}

var (
	idInText     = regexp.MustCompile(`\b([ABC]\d{2}|[ST]-\d{1,3})\b`)
	idInFunction = regexp.MustCompile(`^(?:([ABC]\d{2})|([ST])(\d{1,3}))$`)
)

func idsOfText(s string) []string { return idInText.FindAllString(s, -1) }

// idsOfFunction reads the parts of a name between its underscores. A name can't have the dash of S-21, it is S21 there.
func idsOfFunction(name string) []string {
	var ids []string
	for part := range strings.SplitSeq(name, "_") {
		switch m := idInFunction.FindStringSubmatch(part); {
		case m == nil:
		case m[1] != "":
			ids = append(ids, m[1])
		default:
			ids = append(ids, m[2]+"-"+m[3])
		}
	}
	return ids
}
