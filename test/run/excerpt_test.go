//go:build unix

package main

import (
	"strings"
	"testing"
)

func TestExcerpt(t *testing.T) {
	var short excerpt
	for range 3 {
		short.add("a line\n")
	}
	if got, want := short.String(), strings.Repeat("a line\n", 3); got != want {
		t.Errorf("%q, want all: %q", got, want)
	}

	line := strings.Repeat("x", 99) + "\n"
	for name, size := range map[string]int{"line by line": 1, "at once": 1000} {
		t.Run(name, func(t *testing.T) {
			var long excerpt
			long.add("what the test says\n")
			for range 1000 / size {
				long.add(strings.Repeat(line, size))
			}
			long.add("why the program ended\n")
			got := long.String()
			if !strings.HasPrefix(got, "what the test says\n") || !strings.HasSuffix(got, "why the program ended\n") {
				t.Errorf("its beginning or its end is missing: %q … %q", got[:30], got[len(got)-30:])
			}
			if !strings.Contains(got, "[... 67273 bytes ...]") || len(got) > maxHead+maxTail+100 {
				t.Errorf("%d bytes are kept", len(got))
			}
		})
	}
}
