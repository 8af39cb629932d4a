//go:build unix

package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func newReport() *report { return &report{out: io.Discard} }

// counts are those of a report.
type counts struct{ passed, failed, known int }

func (r *report) counts() counts { return counts{r.passed, r.failed, r.known} }

func TestParseScenarios(t *testing.T) {
	const list = `Server scenarios (test against a server):
  - server-initialize [2025-06-18,2025-11-25]
  - server-stateless [2026-07-28]
  - tools-list [2025-06-18,2025-11-25,2026-07-28]
  - ancient [2025-03-26]
  - tasks-lifecycle [extension]
`
	all, err := parseScenarios(list)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range all {
		names = append(names, s.String())
	}
	const want = "server-initialize@2025-11-25 server-stateless@2026-07-28 tools-list@2026-07-28 tools-list@2025-11-25 " +
		"tasks-lifecycle"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := parseScenarios("error: unknown command\n"); err == nil {
		t.Error("something else than a list is taken for one")
	}

	chosen, err := choose(all, []string{"tools-list", "server-stateless@2026-07-28"})
	if err != nil || len(chosen) != 3 {
		t.Errorf("chose %v (%v)", chosen, err)
	}
	if _, err := choose(all, []string{"tools-lists"}); err == nil {
		t.Error("a scenario that does not exist is chosen")
	}
}

func TestJudgeScenario(t *testing.T) {
	const file = `
- why: It has none.
  checks:
    some: [known]
    some@2025-11-25: [old]
    all: ["*"]
`
	known, err := readBaseline([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	const good, bad = "SUCCESS", "FAILURE"
	failed := errors.New("exit status 1")
	for name, test := range map[string]struct {
		scenario scenario
		checks   []check
		exit     error
		want     counts
	}{
		"all is well": {scenario{name: "other"}, []check{{ID: "a", Status: good}}, nil, counts{passed: 1}},
		"a failure":   {scenario{name: "other"}, []check{{ID: "a", Status: good}, {ID: "b", Status: bad}}, failed, counts{1, 1, 0}},
		"a warning, which does not make the suite fail": {
			scenario{name: "other"}, []check{{ID: "a", Status: good}, {ID: "b", Status: "WARNING"}}, nil, counts{1, 1, 0}},
		"one that was left out": {
			scenario{name: "other"}, []check{{ID: "a", Status: good}, {ID: "b", Status: "SKIPPED"}}, nil, counts{1, 1, 0}},
		"what is only told": {
			scenario{name: "other"}, []check{{ID: "a", Status: good}, {ID: "b", Status: "INFO"}}, nil, counts{passed: 1}},
		"nothing but what is told": {scenario{name: "other"}, []check{{ID: "b", Status: "INFO"}}, nil, counts{failed: 1}},
		"nothing but the schema": {
			scenario{name: "other"}, []check{{ID: wireSchema, Status: good}}, nil, counts{passed: 1, failed: 1}},
		"the suite fails by itself": {
			scenario{name: "other"}, []check{{ID: "a", Status: good}}, failed, counts{1, 1, 0}},
		"known": {
			scenario{"some", current}, []check{{ID: "a", Status: good}, {ID: "known", Status: bad}}, failed, counts{1, 0, 1}},
		"known, and several of one name": {
			scenario{"some", current}, []check{{ID: "known", Status: good}, {ID: "known", Status: bad}}, failed, counts{1, 0, 1}},
		"known, but it passes": {scenario{"some", current}, []check{{ID: "known", Status: good}}, nil, counts{passed: 1, failed: 1}},
		"known, but it is gone": {
			scenario{"some", current}, []check{{ID: "a", Status: good}}, nil, counts{passed: 1, failed: 1}},
		"known at one revision only": {
			scenario{"some", current}, []check{{ID: "known", Status: bad}, {ID: "old", Status: bad}}, failed, counts{failed: 1, known: 1}},
		"known at this revision": {
			scenario{"some", previous}, []check{{ID: "known", Status: bad}, {ID: "old", Status: bad}}, failed, counts{known: 2}},
		"all known": {
			scenario{name: "all"}, []check{{ID: "a", Status: bad}, {ID: "b", Status: "SKIPPED"}, {ID: wireSchema, Status: good}},
			failed, counts{passed: 1, known: 2}},
		"all known, but one passes": {
			scenario{name: "all"}, []check{{ID: "a", Status: bad}, {ID: "b", Status: good}}, failed, counts{1, 1, 1}},
		"all known, but not what breaks the schema": {
			scenario{name: "all"}, []check{{ID: "a", Status: bad}, {ID: wireSchema, Status: bad}}, failed, counts{0, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReport()
			judge(test.scenario, test.checks, test.exit, known, r)
			if got := r.counts(); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
	if got := known.unknown([]scenario{{"some", current}, {name: "all"}}); len(got) != 1 || got[0] != "some@2025-11-25" {
		t.Errorf("scenarios that do not exist: %v", got)
	}
}

// TestBaseline reads the real file, and some that would hide a mistake.
func TestBaseline(t *testing.T) {
	if _, err := readBaseline(baselineFile); err != nil {
		t.Error(err)
	}
	for name, file := range map[string]string{
		"no reason":      `[{checks: {a: [b]}}]`,
		"no checks":      `[{why: Because.}]`,
		"twice":          `[{why: Because., checks: {a: [b]}}, {why: Or so., checks: {a: [b]}}]`,
		"another member": `[{why: Because., check: {a: [b]}}]`,
	} {
		if _, err := readBaseline([]byte(file)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestJudgeInspection(t *testing.T) {
	i := inspection{code: 5, want: []string{"disk"}}
	tests := []struct {
		code int
		out  string
		good bool
	}{
		{5, "The disk is full.", true},
		{0, "The disk is full.", false},
		{5, "All is well.", false},
	}
	for _, test := range tests {
		if why := i.judge(test.code, test.out); (why == "") != test.good {
			t.Errorf("exit code %d with %q is judged %q", test.code, test.out, why)
		}
	}
}

func TestReadVerdicts(t *testing.T) {
	const (
		good = `{"check":"a","what":"b"}` + "\n"
		bad  = `{"check":"c","what":"d","problem":"e"}` + "\n"
		end  = `{"messages":7}` + "\n"
	)
	for out, want := range map[string]struct {
		counts   counts
		messages int
	}{
		good + bad + end: {counts{1, 1, 0}, 7},
		good:             {counts{passed: 1}, 0}, // it ended early
		"oops\n" + end:   {counts{}, 0},
	} {
		r := newReport()
		messages, err := readVerdicts(out, r)
		if r.counts() != want.counts || messages != want.messages || (err == nil) != (messages > 0) {
			t.Errorf("%q: got %+v and %d messages (%v), want %+v", out, r.counts(), messages, err, want)
		}
	}
}

// TestReport keeps what others say from looking like lines of the report, whose last line test/run reads.
func TestReport(t *testing.T) {
	var out strings.Builder
	r := &report{out: &out}
	err := r.count("part", func() error {
		r.pass("a", "b")
		r.fail("c", "one\n  skip  two")
		r.inapplicable("d", "e")
		return nil
	})
	if code := r.summarize(); err != nil || code != 1 {
		t.Errorf("exit code %d (%v)", code, err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	const want = "conformance (part 1): 1 checks cannot apply, see baseline.yaml: 1 passed, 1 failed, 0 skipped"
	if len(lines) != 4 || lines[3] != want {
		t.Errorf("it says %q", lines)
	}
}
