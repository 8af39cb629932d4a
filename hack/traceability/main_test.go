package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// place writes files below a new directory.
func place(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestScan(t *testing.T) {
	root := place(t, map[string]string{
		"internal/a/a_test.go": `package a
			func TestPlain(t *testing.T) {}
			func TestOne_S21(t *testing.T) {}
			func TestSeveral_B04_T5_AreTold(t *testing.T) {}
			func FuzzInput_A26(f *testing.F) {}
			func TestCasesB04AreNotNamed_A1_S1234_b05(t *testing.T) {}
			func helper_A30() {}
			func (s *suite) TestMethod_A31() {}`,
		"internal/a/names_test.go": `package a
			func TestNames(t *testing.T) {
				t.Run("S-1: a literal", f)
				t.Run("S-2: "+row.name, f)
				t.Run(fmt.Sprintf("S-3: %d", i), f)
				other.Do("S-4: no subtest", f)
				_ = map[string]row{"S-5, A05: key of a map": {}}
				_ = []row{{name: "S-6: field called name", want: "S-7: no name"}}
				_ = []row{{"S-8: first field", "S-9: second field"}}
				_ = []string{"S-10: a list", "of texts"}
				log("S-11: only a text")
			}
			// S-12: only a comment.
			func table() []row { return []row{{"S-13: outside of a test", 1}} }
			var rows = map[string]row{"S-14: outside of a function": {}}`,
		"test/e2e/a_test.go":              "package e2e\nfunc TestJob_B04_Memory(t *testing.T) {}",
		"test/integration/api/a_test.go":  "package api\nfunc TestTask_B04(t *testing.T) {}",
		"internal/a/a.go":                 "package a\nfunc TestNoTestFile_B04(t *testing.T) {}",
		"test/run/testdata/a/a_test.go":   "package a\nfunc TestData_B04(t *testing.T) {}",
		"test/x/node_modules/y/a_test.go": "this is no Go",
	})
	tests, err := scan(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, test := range tests {
		got = append(got, strings.Join([]string{string(test.level()), test.file, test.name(), strings.Join(test.ids, " ")}, " | "))
	}
	want := []string{
		"unit | internal/a/a_test.go | TestOne_S21 | S-21",
		"unit | internal/a/a_test.go | TestSeveral_B04_T5_AreTold | B04 T-5",
		"unit | internal/a/a_test.go | FuzzInput_A26 | A26",
		"unit | internal/a/names_test.go | TestNames / S-1: a literal | S-1",
		"unit | internal/a/names_test.go | TestNames / S-2: | S-2",
		"unit | internal/a/names_test.go | TestNames / S-3: %d | S-3",
		"unit | internal/a/names_test.go | TestNames / S-5, A05: key of a map | S-5 A05",
		"unit | internal/a/names_test.go | TestNames / S-6: field called name | S-6",
		"unit | internal/a/names_test.go | TestNames / S-8: first field | S-8",
		"unit | internal/a/names_test.go | S-13: outside of a test | S-13",
		"unit | internal/a/names_test.go | S-14: outside of a function | S-14",
		"integration | test/integration/api/a_test.go | TestTask_B04 | B04",
		"cluster | test/e2e/a_test.go | TestJob_B04_Memory | B04",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestScanOfWhatDoesNotCompile(t *testing.T) {
	root := place(t, map[string]string{"a_test.go": "package a\nfunc {"})
	if _, err := scan(root); err == nil || !strings.Contains(err.Error(), "a_test.go") {
		t.Errorf("error %v; a file that cannot be read must not count as one without ids", err)
	}
}

func TestParseListRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ entries, want string }{
		"what is no id":              {`{id: B4, text: x}`, "B4: not an id"},
		"a case without words":       {`{id: B04}`, "B04: no text"},
		"a level that there is not":  {`{id: B04, text: x, level: envtest}`, `level "envtest"`},
		"an id twice":                {`{id: B04, text: x}, {id: B04, text: y}`, "B04: listed twice"},
		"an exception to another":    {`{id: B04, text: x, waits: y, open: z}`, "only one of"},
		"a field that there is not":  {`{id: B04, text: x, wait: y}`, `"wait"`},
		"all that is wrong together": {`{id: B4, text: x}, {id: B05}`, "B05: no text"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseList([]byte("sections: [{title: s, entries: [" + tc.entries + "]}]"))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	ofUnit := test{file: "internal/a/a_test.go", function: "TestA", ids: []string{"B04"}}
	ofCluster := test{file: "test/e2e/a_test.go", function: "TestB", ids: []string{"B04"}}
	other := test{file: "test/e2e/a_test.go", function: "TestC", subtest: "B40", ids: []string{"B40"}}
	for name, tc := range map[string]struct {
		entry string
		tests []test
		want  string // no problem where it is empty
	}{
		"proved":                    {`level: unit`, []test{ofUnit}, ""},
		"proved above its level":    {`level: integration`, []test{ofCluster}, ""},
		"proved below its level":    {`level: cluster`, []test{ofUnit}, `B04: no test names it at the level "cluster" or above`},
		"not proved":                {`level: unit`, nil, "B04: no test names it"},
		"open":                      {`open: later`, nil, ""},
		"open, but proved":          {`open: later`, []test{ofUnit}, "B04: has its test, and is no longer open"},
		"open, proved below":        {`level: cluster, open: later`, []test{ofUnit}, ""},
		"waits":                     {`waits: for something`, nil, ""},
		"waits, but has a test":     {`waits: for something`, []test{ofUnit}, ""},
		"unbound":                   {`unbound: it is the client's`, nil, ""},
		"unbound, but named":        {`unbound: it is the client's`, []test{ofUnit}, "internal/a/a_test.go: TestA names it"},
		"named, but nowhere listed": {`level: unit`, []test{ofUnit, other}, "test/e2e/a_test.go: TestC / B40: no list has the id B40"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := parseList([]byte(`sections: [{title: s, entries: [{id: B04, text: x, ` + tc.entry + `}]}]`))
			if err != nil {
				t.Fatal(err)
			}
			got := errors.Join(check(tc.tests, l)...)
			if tc.want == "" && got != nil || tc.want != "" && (got == nil || !strings.Contains(got.Error(), tc.want)) {
				t.Errorf("problems %v, want %q", got, tc.want)
			}
		})
	}
}

func TestPages(t *testing.T) {
	root := place(t, map[string]string{
		"hack/traceability/contract.yaml": `sections: [{title: Paths, entries: [
			{id: S-1, strength: MUST, text: One | two},
			{id: S-2, strength: MAY, text: Else, unbound: it is the client's}]}]`,
		"hack/traceability/cases.yaml": `sections: [{title: Jobs, entries: [
			{id: B04, text: Wrong, seen: Right, level: cluster, open: nobody came to it}]}]`,
		"internal/a/a_test.go": `package a
			func TestA_S1(t *testing.T) { t.Run("S-1: once", f); t.Run("S-1: again", f) }
			func TestB_B04(t *testing.T) {}`,
		"test/e2e/b_test.go": "package e2e\nfunc TestC_S1(t *testing.T) {}",
	})
	out := filepath.Join(root, "docs")
	if err := run(root, out, true); err == nil || !strings.Contains(err.Error(), "cases.md") {
		t.Errorf("error %v; pages that are not there must not pass", err)
	}
	if err := run(root, out, false); err != nil {
		t.Fatal(err)
	}
	for page, rows := range map[string][]string{
		"reference/contract.md": {
			"## Paths",
			`| S-1 | MUST | One \| two | unit: [TestA_S1](../../internal/a/a_test.go)<br>cluster: [TestC_S1](../../test/e2e/b_test.go) |`,
			"| S-2 | MAY | Else | asks nothing of this server: it is the client's |",
		},
		"cases.md": {
			"## Jobs",
			"| B04 | Wrong | Right | cluster | **open**: nobody came to it<br>unit: [TestB_B04](../internal/a/a_test.go) |",
		},
	} {
		content, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(page)))
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if !strings.Contains(string(content), "\n"+row+"\n") {
				t.Errorf("%s has no line %s; it is:\n%s", page, row, content)
			}
		}
	}
	if err := run(root, out, true); err != nil {
		t.Errorf("pages just written are said to be wrong: %v", err)
	}
	late := filepath.Join(root, "test", "e2e", "late_test.go")
	if err := os.WriteFile(late, []byte("package e2e\nfunc TestD_S1(t *testing.T) {}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(root, out, true); err == nil || !strings.Contains(err.Error(), "contract.md is stale") {
		t.Errorf("error %v; a page that lacks a test is stale", err)
	}
}
