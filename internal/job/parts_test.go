package job

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// ended is a part that exited with that code and left that log.
func ended(number int, code int32, log string) Part {
	return Part{Number: number, Attempts: 1, Succeeded: code == 0, Ending: &Ending{ExitCode: code}, Output: wholeLog(log)}
}

// indexes are the parts of an Indexed Job that succeeded if all of them did.
func indexes(parts ...Part) Parts {
	p := Parts{Indexed: true, Total: len(parts), Complete: true, List: parts}
	for _, part := range parts {
		if part.Succeeded {
			p.Succeeded++
		} else {
			p.Complete = false
		}
	}
	return p
}

func TestReadPartsText(t *testing.T) {
	oom := ended(1, 137, "")
	oom.Ending.OOMKilled = true
	childOOM := ended(1, 0, "fine")
	childOOM.Ending.OOMKilled = true
	retried := ended(1, 0, "second try")
	retried.Attempts = 2
	unread := ended(1, 0, "")
	unread.Output = Output{Unavailable: "its node did not hand out the log"}
	message := ended(1, 0, "noise")
	message.Ending.TerminationMessage = "the message"
	gone := Part{Number: 1, Succeeded: true, Fate: "succeeded; its pod is gone, and its output with it"}
	never := func(n int) Part { return Part{Number: n, Fate: "never started"} }
	policy := indexes(ended(0, 0, "leader"), ended(1, 3, "worker"))
	policy.Complete = true
	late := indexes(ended(0, 0, "a"), Part{Number: 1, Attempts: 1, Fate: "was stopped, as the Job was over"})
	late.Overdue = true
	pods := indexes(ended(1, 0, "a"), ended(2, 0, "b"))
	pods.Indexed, pods.Total = false, 0

	for _, tt := range []struct {
		name          string
		task          *taskBuilder
		parts         Parts
		reason        string
		message, text string
	}{
		{name: "all succeeded", parts: indexes(ended(0, 0, "oof\n"), ended(1, 0, "rab\n")),
			reason: "Succeeded", message: "All 2 indexes succeeded.",
			text: "\n\n=== index 0 exited with code 0 ===\noof\n\n=== index 1 exited with code 0 ===\nrab"},
		{name: "one of one", parts: indexes(ended(0, 0, "oof\n")),
			reason: "Succeeded", message: "The only index succeeded.", text: "\n\n=== index 0 exited with code 0 ===\noof"},
		{name: "nothing to do", parts: indexes(),
			reason: "Succeeded", message: "All 0 indexes succeeded.", text: " It wrote no output."},
		{name: "workers of a queue", parts: pods,
			reason: "Succeeded", message: "All 2 pods succeeded.",
			text: "\n\n=== pod 1 exited with code 0 ===\na\n\n=== pod 2 exited with code 0 ===\nb"},
		{name: "without output", parts: indexes(ended(0, 0, ""), ended(1, 0, ""), ended(2, 0, "x"), ended(3, 0, "")),
			reason: "Succeeded", message: "All 4 indexes succeeded.",
			text: "\n\n=== indexes 0-1 exited with code 0 without output ===\n\n=== index 2 exited with code 0 ===\nx\n\n" +
				"=== index 3 exited with code 0 without output ==="},
		{name: "second attempt", parts: indexes(ended(0, 0, "first try"), retried),
			reason: "Succeeded", message: "All 2 indexes succeeded.",
			text: "\n\n=== index 0 exited with code 0 ===\nfirst try\n\n=== index 1 exited with code 0 in attempt 2 ===\nsecond try"},
		{name: "a pod is gone", parts: indexes(ended(0, 0, "a"), gone),
			reason: "Succeeded", message: "All 2 indexes succeeded.",
			text: "\n\n=== index 0 exited with code 0 ===\na\n\n=== index 1 succeeded; its pod is gone, and its output with it ==="},
		{name: "a log cannot be read", parts: indexes(ended(0, 0, "a"), unread),
			reason: "Succeeded", message: "All 2 indexes succeeded.",
			text: "\n\n=== index 0 exited with code 0 ===\na\n\n" +
				"=== index 1 exited with code 0; its output could not be read: its node did not hand out the log ==="},
		{name: "by message", task: aTask().fromMessage(), parts: indexes(ended(0, 0, ""), message),
			reason: "Succeeded", message: "All 2 indexes succeeded.",
			text: "\n\n=== index 0 exited with code 0 without output ===\n\n=== index 1 exited with code 0 ===\nthe message"},
		{name: "enough succeeded", parts: policy,
			reason: "Succeeded", message: "1 of 2 indexes succeeded, and that is enough.",
			text: "\n\n=== index 0 exited with code 0 ===\nleader\n\n=== index 1 exited with code 3 ===\nworker"},
		{name: "cut, each by its share", task: aTask().limit(12),
			parts:  indexes(ended(0, 0, "0123456789"), ended(1, 0, "ab"), ended(2, 0, "0123456789")),
			reason: "Succeeded", message: "All 3 indexes succeeded.",
			text: "\n\n=== index 0 exited with code 0 ===\n[The first 5 of 10 bytes of the output are missing.]\n56789\n\n" +
				"=== index 1 exited with code 0 ===\nab\n\n" +
				"=== index 2 exited with code 0 ===\n[The first 5 of 10 bytes of the output are missing.]\n56789"},

		{name: "one failed", parts: indexes(ended(0, 0, "a"), ended(1, 42, "no such file"), never(2), never(3)),
			reason: "ToolError", message: "The tool failed: index 1 exited with code 42; 1 of 4 indexes succeeded.",
			text: "\n\n=== index 0 exited with code 0 ===\na\n\n=== index 1 exited with code 42 ===\nno such file\n\n" +
				"=== indexes 2-3 never started ==="},
		{name: "out of memory", parts: indexes(ended(0, 0, "a"), oom),
			reason:  "OOMKilled",
			message: "The tool failed: index 1 was killed because it ran out of memory; 1 of 2 indexes succeeded.",
			text: "\n\n=== index 0 exited with code 0 ===\na\n\n" +
				"=== index 1 was killed because it ran out of memory without output ==="},
		{name: "a child out of memory", parts: indexes(ended(0, 0, "a"), childOOM),
			reason: "OOMKilled", message: "The tool failed: index 1 exited with code 0, but a process of it was killed because memory " +
				"ran out; 2 of 2 indexes succeeded.",
			text: "\n\n=== index 0 exited with code 0 ===\na\n\n" +
				"=== index 1 exited with code 0, but a process of it was killed because memory ran out ===\nfine"},
		{name: "in different ways", parts: indexes(ended(0, 3, ""), oom),
			reason: "ToolError", message: "The tool failed: index 0 exited with code 3, index 1 was killed because it ran out of " +
				"memory; 0 of 2 indexes succeeded.",
			text: "\n\n=== index 0 exited with code 3 without output ===\n\n" +
				"=== index 1 was killed because it ran out of memory without output ==="},
		{name: "many failed", parts: indexes(ended(0, 3, ""), ended(1, 3, ""), ended(2, 3, ""), ended(3, 3, ""), ended(4, 3, "")),
			reason: "ToolError", message: "The tool failed: index 0 exited with code 3, index 1 exited with code 3, index 2 exited with " +
				"code 3, and 2 more went wrong; 0 of 5 indexes succeeded.",
			text: "\n\n=== indexes 0-4 exited with code 3 without output ==="},
		{name: "the whole took too long", parts: late,
			reason:  "DeadlineExceeded",
			message: "The tool was stopped because it ran longer than its deadline of 1h; 1 of 2 indexes succeeded.",
			text:    "\n\n=== index 0 exited with code 0 ===\na\n\n=== index 1 was stopped, as the Job was over ==="},
	} {
		t.Run(tt.name, func(t *testing.T) {
			task := aTask()
			if tt.task != nil {
				task = tt.task
			}
			r := ReadParts(task.obj(), nil, tt.parts)
			if r.Reason != tt.reason || r.Message != tt.message || r.IsError != (tt.reason != "Succeeded") {
				t.Errorf("%s, isError %t: %s\nwant %s: %s", r.Reason, r.IsError, r.Message, tt.reason, tt.message)
			}
			if got, want := parse(t, r).text(t), tt.message+tt.text; got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// What is a CallToolResult itself keeps its blocks, in its place.
func TestReadPartsReports(t *testing.T) {
	const picture = `{"content":[{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"text","text":"a picture"}]}`
	r := ReadParts(aTask().obj(), nil, indexes(ended(0, 0, "zero"), ended(1, 0, picture), ended(2, 0, "two")))
	p := parse(t, r)
	var got []string
	for _, block := range p.Content {
		got = append(got, fmt.Sprint(block["type"], ": ", block["text"]))
	}
	want := []string{
		"text: All 3 indexes succeeded.\n\n=== index 0 exited with code 0 ===\nzero\n\n=== index 1 exited with code 0 ===",
		"image: <nil>", "text: a picture", "text: === index 2 exited with code 0 ===\ntwo",
	}
	if !slices.Equal(got, want) || r.IsError {
		t.Errorf("got %q\nwant %q", got, want)
	}

	const no = `{"content":[{"type":"text","text":"no"}],"isError":true}`
	r = ReadParts(aTask().obj(), nil, indexes(ended(0, 0, "zero"), ended(1, 0, no)))
	if want := "The tool failed: index 1 reported an error; 2 of 2 indexes succeeded."; !parse(t, r).isError() ||
		r.Reason != "ToolError" || r.Message != want {
		t.Errorf("%s: %s, want %s", r.Reason, r.Message, want)
	}

	// Pictures for which there is no room are cut like text, and say so.
	large := `{"content":[{"type":"image","data":"` + strings.Repeat("aGkh", 80<<10) + `","mimeType":"image/png"}]}`
	r = ReadParts(aTask().limit(512<<10).obj(), nil, indexes(ended(0, 0, large), ended(1, 0, large), ended(2, 0, "two")))
	if text := parse(t, r).text(t); !strings.Contains(text, "bytes of the output are missing.]") || !strings.HasSuffix(text, "two") {
		t.Errorf("%d bytes of text: %.300s", len(text), text)
	}
}

func (p parsedResult) isError() bool { return p.IsError != nil && *p.IsError }

func TestReadPartsStructured(t *testing.T) {
	const (
		head   = `{"type":"object","required":["results"],"properties":{"results":{"type":"array","items":`
		items  = head + rowsSchema + `}}}`
		orNull = head + `{"anyOf":[{"type":"null"},` + rowsSchema + `]}}}}`
	)
	unread := ended(1, 0, "")
	unread.Output = Output{Unavailable: "its pod is gone"}
	policy := indexes(ended(0, 0, `{"rows":1}`), ended(1, 3, ""))
	policy.Complete = true
	pods := indexes(ended(1, 0, `{"rows":1}`), ended(2, 3, ""), ended(3, 0, `{"rows":3}`))
	pods.Indexed, pods.Complete = false, true

	for _, tt := range []struct {
		name, schema string
		parts        Parts
		reason, want string // the structured content, or words of the text
	}{
		{"all", items, indexes(ended(0, 0, "log\n{\"rows\":1}\n"), ended(1, 0, `{"rows":2}`)),
			"Succeeded", `{"results":[{"rows":1},{"rows":2}]}`},
		{"nothing to do", items, indexes(), "Succeeded", `{"results":[]}`},
		{"not needed", orNull, policy, "Succeeded", `{"results":[{"rows":1},null]}`},
		{"not needed, and the schema does not know", items, policy,
			"InvalidOutput", "does not fit the tool's outputSchema: /results/1"},
		{"without indexes", items, pods, "Succeeded", `{"results":[{"rows":1},{"rows":3}]}`},
		{"a CallToolResult of its own", items,
			indexes(ended(0, 0, `{"rows":1}`), ended(1, 0, `{"content":[],"structuredContent":{"rows":2}}`)),
			"Succeeded", `{"results":[{"rows":1},{"rows":2}]}`},
		{"no object", items, indexes(ended(0, 0, `{"rows":1}`), ended(1, 0, "two")),
			"InvalidOutput", "All 2 indexes succeeded, but there is no JSON object in the output of index 1"},
		{"misfit", items, indexes(ended(0, 0, `{"rows":1}`), ended(1, 0, `{"rows":"two"}`)),
			"InvalidOutput", "does not fit the tool's outputSchema: /results/1/rows"},
		{"unread", items, indexes(ended(0, 0, `{"rows":1}`), unread),
			"InvalidOutput", "the output of index 1 could not be read: its pod is gone"},
		{"failed", items, indexes(ended(0, 0, `{"rows":1}`), ended(1, 3, "")), "ToolError", "index 1 exited with code 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ReadParts(aTask().obj(), []byte(tt.schema), tt.parts)
			p := parse(t, r)
			text := p.text(t)
			switch {
			case r.Reason != tt.reason:
				t.Errorf("reason %s, want %s: %s", r.Reason, tt.reason, text)
			case tt.reason != "Succeeded" && (!r.IsError || p.StructuredContent != nil || !strings.Contains(text, tt.want)):
				t.Errorf("result %s, want an error about %s", r.JSON, tt.want)
			case tt.reason == "Succeeded" && (r.IsError || string(p.StructuredContent) != tt.want || text != tt.want):
				t.Errorf("result %s, want %s", r.JSON, tt.want)
			}
		})
	}
}

// Whatever a thousand pods print, the result is stored, and every one of them has its place in it.
func TestReadPartsFit(t *testing.T) {
	for name, unit := range map[string]string{
		"text": "The quick brown fox.\n", "quotes": `"\"\`, "controls": "\x01\x02", "binary": "\xff\xfe\x00", "wide": "日本語",
	} {
		t.Run(name, func(t *testing.T) {
			var parts []Part
			for i := range MaxPods {
				parts = append(parts, ended(i, int32(i%2), strings.Repeat(unit, 3000)))
			}
			p := indexes(parts...)
			r := ReadParts(aTask().limit(512<<10).obj(), nil, p)
			text := parse(t, r).text(t)
			if !utf8.ValidString(text) || r.Reason != v1alpha1.ReasonToolError {
				t.Errorf("reason %s: %.200s", r.Reason, text)
			}
			if n := strings.Count(text, "=== index"); n != MaxPods {
				t.Errorf("%d headings, want %d", n, MaxPods)
			}
			if !strings.Contains(text, "bytes of the output are missing.]") {
				t.Errorf("no mark of what is missing: %.500s", text)
			}
		})
	}
}

func TestShare(t *testing.T) {
	texts := []string{"0123456789", "ab", "0123456789abcdef", ""}
	var all []*Output
	for _, text := range texts {
		o := wholeLog(text)
		all = append(all, &o)
		Share(all, 12) // cutting on the way makes no difference
	}
	for i, want := range []string{"56789", "ab", "bcdef", ""} {
		if string(all[i].Data) != want || all[i].Total != int64(len(texts[i])) {
			t.Errorf("%d: %q of %d bytes, want %q of %d", i, all[i].Data, all[i].Total, want, len(texts[i]))
		}
	}
}

func TestLevel(t *testing.T) {
	for _, tt := range []struct {
		sizes []int
		room  int
		want  int
	}{
		{nil, 0, math.MaxInt}, {[]int{5}, 5, math.MaxInt}, {[]int{5}, 4, 4}, {[]int{5, 5}, 9, 4}, {[]int{1, 9, 9}, 11, 5},
		{[]int{3, 3}, 0, 0}, {[]int{3, 3}, -7, 0}, {[]int{0, 0}, 0, math.MaxInt},
	} {
		t.Run(fmt.Sprintf("%v in %d", tt.sizes, tt.room), func(t *testing.T) {
			if got := level(tt.sizes, tt.room); got != tt.want {
				t.Errorf("level = %d, want %d", got, tt.want)
			}
		})
	}
}
