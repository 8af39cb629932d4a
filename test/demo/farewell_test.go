//go:build unix

package main

import (
	"os/exec"
	"testing"
)

// TestShellWords lets a shell read what the reader is told to paste.
func TestShellWords(t *testing.T) {
	for _, word := range []string{"plain", "", "two words", `{"a":"$HOME"}`, "it's", "*", `back\slash`, "~", "a;b"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+shellWords([]string{word})).Output()
		if err != nil || string(out) != word {
			t.Errorf("the shell reads %q as %q (%v)", word, out, err)
		}
	}
}
