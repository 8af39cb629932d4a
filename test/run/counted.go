//go:build unix

package main

import (
	"bufio"
	"errors"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// counts is the last line of a program that counts by itself.
var counts = regexp.MustCompile(`(\d+) passed, (\d+) failed, (\d+) skipped$`)

// runCounted runs a program that prints "  FAIL  name  why" and "  skip  name  why" lines and ends with its counts, and takes
// those over.
func runCounted(cmd *exec.Cmd, r *report) error {
	cmd.Stdout = nil
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var last string
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		r.say("%s", line)
		if strings.TrimSpace(line) != "" {
			last = line
		}
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, why, _ := strings.Cut(strings.TrimSpace(rest), " ")
		o := outcome{r.part, name, strings.TrimSpace(why)}
		switch kind {
		case "FAIL":
			r.failed = append(r.failed, o)
		case "skip":
			r.skipped = append(r.skipped, o)
		}
	}
	err = errors.Join(lines.Err(), cmd.Wait())
	match := counts.FindStringSubmatch(last)
	if match == nil {
		return errors.Join(errors.New("it ended without saying how many checks passed"), err)
	}
	var n tally
	for i, count := range []*int{&n.passed, &n.failed, &n.skipped} {
		var notANumber error
		*count, notANumber = strconv.Atoi(match[i+1])
		err = errors.Join(err, notANumber)
	}
	r.add(n)
	if n.failed > 0 {
		return nil // it has been said which checks failed
	}
	return err
}
