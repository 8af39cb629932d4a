// Command traceability holds two lists and the tests together: the rules of the protocol that bind a server, and the ways in
// which tools, Jobs and clients are known to go wrong. A test proves an entry by naming its id; the pages that this command
// writes show which one does.
//
//	traceability --out docs            write docs/reference/contract.md and docs/cases.md; called by make generate
//	traceability --check --out docs    fail if they are stale, or if an entry has no test where it must have one
//
// It knows the lists, and the names of tests as they are in the source. It does not know whether a test is any good.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// data is where the lists are, below the root of the repository.
const data = "hack/traceability"

func main() {
	root := flag.String("root", ".", "root of the repository")
	out := flag.String("out", "docs", "directory of the pages")
	verify := flag.Bool("check", false, "write nothing; fail if a page is stale or an entry lacks its test")
	flag.Parse()
	if err := run(*root, *out, *verify); err != nil {
		fmt.Fprintln(os.Stderr, "traceability:", err)
		os.Exit(1)
	}
}

func run(root, out string, verify bool) error {
	rules, err := readList(filepath.Join(root, data, "contract.yaml"))
	if err != nil {
		return err
	}
	cases, err := readList(filepath.Join(root, data, "cases.yaml"))
	if err != nil {
		return err
	}
	tests, err := scan(root)
	if err != nil {
		return err
	}
	pages := map[string][]byte{
		filepath.Join("reference", "contract.md"): contractPage(rules, tests),
		"cases.md": casesPage(cases, tests),
	}
	if !verify {
		return write(out, pages)
	}
	return errors.Join(append(check(tests, rules, cases), compare(out, pages)...)...)
}

func write(out string, pages map[string][]byte) error {
	for name, page := range pages {
		file := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, page, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func compare(out string, pages map[string][]byte) []error {
	var problems []error
	for name, page := range pages {
		file := filepath.Join(out, name)
		switch got, err := os.ReadFile(file); {
		case err != nil:
			problems = append(problems, err)
		case !bytes.Equal(got, page):
			problems = append(problems, fmt.Errorf("%s is stale: run make generate and commit the result", file))
		}
	}
	return problems
}
