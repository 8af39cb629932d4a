//go:build unix

package main

import (
	"fmt"
	"strings"
)

// maxHead and maxTail are how much of the beginning and of the end of an output is kept, in bytes. A test says what it wants
// before it prints the log of a program, and a program says last why it ended.
const (
	maxHead = 16 << 10
	maxTail = 16 << 10
)

// excerpt is an output of any length, without its middle where it is long.
type excerpt struct {
	head, tail string
	left       int // bytes between them
}

func (e *excerpt) add(output string) {
	n := min(len(output), maxHead-len(e.head))
	e.head += output[:n]
	e.tail += output[n:]
	if cut := len(e.tail) - maxTail; cut > 0 {
		e.tail = e.tail[cut:]
		e.left += cut
	}
}

func (e *excerpt) String() string {
	if e.left == 0 {
		return e.head + e.tail
	}
	return strings.TrimSuffix(e.head, "\n") + fmt.Sprintf("\n[... %d bytes ...]\n", e.left) + e.tail
}
