package console

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLogOfAShortStepIsOneLine(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	p := New(f)
	p.Step("first", func() string { return "half" }).Done("42 things")
	p.Step("second", nil).Fail()
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "first: done in ") || !strings.HasSuffix(lines[0], ", 42 things") ||
		!strings.HasPrefix(lines[1], "second: failed after ") {
		t.Errorf("the log is %q", lines)
	}
	if strings.Contains(string(text), "\x1b") {
		t.Error("there are a terminal's control characters in a log")
	}
}

func TestProgress(t *testing.T) {
	p := &Printer{}
	for want, s := range map[string]*Step{
		"build … 12s":                  {p: p, name: "build"},
		"build … 12s, 7 packages":      {p: p, name: "build", detail: func() string { return "7 packages" }},
		"build … 12s (nothing to say)": {p: p, name: "build", detail: func() string { return "" }},
	} {
		s.began = time.Now().Add(-12 * time.Second)
		if got := s.progress(); got != strings.TrimSuffix(want, " (nothing to say)") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		40 * time.Millisecond:           "0.0s",
		1234 * time.Millisecond:         "1.2s",
		12 * time.Second:                "12s",
		3*time.Minute + 5*time.Second:   "3m05s",
		61*time.Minute + 59*time.Second: "61m59s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%v is printed as %s, want %s", d, got, want)
		}
	}
}
