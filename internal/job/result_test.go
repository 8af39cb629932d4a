package job

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

const rowsSchema = `{"type":"object","required":["rows"],"properties":{"rows":{"type":"integer"}}}`

// Results that are one block of text.
func TestReadResultText(t *testing.T) {
	const (
		good       = "The tool finished successfully."
		code3      = "The tool exited with code 3."
		noMemory   = "The tool was killed because it ran out of memory."
		lostMemory = "A process of the tool was killed because memory ran out, though the tool exited with code 0."
		late       = "The tool was stopped because it ran longer than its deadline of 1h."
		noObject   = "The tool exited with code 0, but there is no JSON object in its output, as its outputSchema asks for"
		misfit     = "The tool exited with code 0, but its output does not fit its outputSchema: "
		noSchema   = "The tool exited with code 0, but its outputSchema cannot be used: "
		output     = " Its output:\n\n"
		nothing    = " It wrote no output."
		unread     = " Its output could not be read: "
	)
	tests := []struct {
		name   string
		task   *taskBuilder // nil: aTask
		schema string
		ending Ending
		out    Output
		reason string
		// message is the Result's Message, and text what the caller reads.
		message, text string
	}{
		{name: "success", out: wholeLog("hello\nworld\n"),
			reason: "Succeeded", message: good, text: "hello\nworld"},
		{name: "success without output",
			reason: "Succeeded", message: good, text: good + nothing},
		{name: "success with line ends only", out: wholeLog("\n\n"),
			reason: "Succeeded", message: good, text: good + nothing},
		{name: "success, log gone", out: Output{Unavailable: "its pod is gone"},
			reason: "Succeeded", message: good, text: good + unread + "its pod is gone."},
		{name: "success, the kubelet's sentence for a log", out: wholeLog("unable to retrieve container logs for containerd://0af7"),
			reason: "Succeeded", message: good, text: good + unread + "the node no longer has it."},
		{name: "success, cut", task: aTask().limit(5), out: wholeLog("0123456789\n"),
			reason: "Succeeded", message: good, text: "[The first 5 of 10 bytes of the output are missing.]\n56789"},
		{name: "success by message", task: aTask().fromMessage(), ending: Ending{TerminationMessage: "done\n"}, out: wholeLog("noise"),
			reason: "Succeeded", message: good, text: "done"},
		{name: "success by message without one", task: aTask().fromMessage(), out: wholeLog("noise"),
			reason: "Succeeded", message: good, text: good + nothing},
		{name: "JSON without a schema is text", out: wholeLog(`{"rows":3}`),
			reason: "Succeeded", message: good, text: `{"rows":3}`},
		{name: "cut CallToolResult is text", task: aTask().limit(20),
			out:    wholeLog(`xxxxxxxxxxxxx{"content":[{"type":"text","text":"a"}]}`),
			reason: "Succeeded", message: good, text: "[The first 33 of 53 bytes of the output are missing.]\n" + `"text","text":"a"}]}`},

		{name: "failure", ending: Ending{ExitCode: 3}, out: wholeLog("trying\nno such table\n"),
			reason: "ToolError", message: code3, text: code3 + output + "trying\nno such table"},
		{name: "failure without output", ending: Ending{ExitCode: 3},
			reason: "ToolError", message: code3, text: code3 + nothing},
		{name: "failure, log gone", ending: Ending{ExitCode: 3}, out: Output{Unavailable: "its node is gone"},
			reason: "ToolError", message: code3, text: code3 + unread + "its node is gone."},
		{name: "failure, cut", task: aTask().limit(4), ending: Ending{ExitCode: 3}, out: wholeLog("0123456789"),
			reason: "ToolError", message: code3, text: code3 + output + "[The first 6 of 10 bytes of the output are missing.]\n6789"},
		{name: "failure, message helps out", ending: Ending{ExitCode: 3, TerminationMessage: "why"},
			reason: "ToolError", message: code3, text: code3 + output + "why"},
		{name: "failure, message for a log that is gone", ending: Ending{ExitCode: 3, TerminationMessage: "why"},
			out:    Output{Unavailable: "its pod is gone"},
			reason: "ToolError", message: code3, text: code3 + output + "why"},
		{name: "failure by message", task: aTask().fromMessage(), ending: Ending{ExitCode: 3, TerminationMessage: "why"},
			out:    wholeLog("noise"),
			reason: "ToolError", message: code3, text: code3 + output + "why"},
		{name: "failure by message, log helps out", task: aTask().fromMessage(), ending: Ending{ExitCode: 3}, out: wholeLog("noise"),
			reason: "ToolError", message: code3, text: code3 + output + "noise"},
		{name: "failure with fitting output", schema: rowsSchema, ending: Ending{ExitCode: 3}, out: wholeLog(`{"rows":3}`),
			reason: "ToolError", message: code3, text: code3 + output + `{"rows":3}`},
		{name: "out of memory", ending: Ending{ExitCode: 137, OOMKilled: true}, out: wholeLog("loading"),
			reason: "OOMKilled", message: noMemory, text: noMemory + output + "loading"},
		{name: "out of memory with code 0", ending: Ending{OOMKilled: true}, out: wholeLog("done"),
			reason: "OOMKilled", message: lostMemory, text: lostMemory + output + "done"},
		{name: "deadline", ending: Ending{ExitCode: 143, DeadlineExceeded: true}, out: wholeLog("1\n2\n"),
			reason: "DeadlineExceeded", message: late, text: late + output + "1\n2"},

		{name: "no object", schema: rowsSchema, out: wholeLog("three rows"),
			reason: "InvalidOutput", message: noObject + ".", text: noObject + "." + output + "three rows"},
		{name: "nothing", schema: rowsSchema,
			reason: "InvalidOutput", message: noObject + ".", text: noObject + "." + nothing},
		{name: "log gone", schema: rowsSchema, out: Output{Unavailable: "its pod is gone"},
			reason: "InvalidOutput", message: noObject + ".", text: noObject + "." + unread + "its pod is gone."},
		{name: "NaN", schema: rowsSchema, out: wholeLog(`{"rows":NaN}`),
			reason: "InvalidOutput", message: noObject + ".", text: noObject + "." + output + `{"rows":NaN}`},
		{name: "misfit", schema: rowsSchema, out: wholeLog("reading\n{\"rows\":\"3\"}\n"),
			reason: "InvalidOutput", message: misfit + "/rows: must be an integer, is a string.",
			text: misfit + "/rows: must be an integer, is a string." + output + "reading\n{\"rows\":\"3\"}"},
		{name: "key twice", schema: rowsSchema, out: wholeLog(`{"rows":1,"rows":2}`),
			reason: "InvalidOutput", message: misfit + "/rows: the key appears twice in its object.",
			text: misfit + "/rows: the key appears twice in its object." + output + `{"rows":1,"rows":2}`},
		{name: "object cut off", task: aTask().limit(8), schema: rowsSchema, out: wholeLog(`{"rows":3}`),
			reason: "InvalidOutput", message: noObject + " (only the last 8 bytes of it were read; result.limit says how many).",
			text: noObject + " (only the last 8 bytes of it were read; result.limit says how many)." + output +
				"[The first 2 of 10 bytes of the output are missing.]\n" + `rows":3}`},
		{name: "message with a line before the object", task: aTask().fromMessage(), schema: rowsSchema,
			ending: Ending{TerminationMessage: "x\n{\"rows\":3}"},
			reason: "InvalidOutput", message: noObject + ".", text: noObject + "." + output + "x\n{\"rows\":3}"},
		{name: "schema cannot be used", schema: `{"type":"array"}`, out: wholeLog(`{"rows":3}`),
			reason: "InvalidOutput", message: noSchema + `/type: the root of the schema must have "type": "object".`,
			text: noSchema + `/type: the root of the schema must have "type": "object".` + output + `{"rows":3}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := ReadResult(cmp.Or(tt.task, aTask()).obj(), []byte(tt.schema), tt.ending, tt.out)
			p := parse(t, r)
			if text := p.text(t); text != tt.text {
				t.Errorf("text = %q\nwant   %q", text, tt.text)
			}
			if r.IsError != (tt.reason != "Succeeded") || r.Reason != tt.reason || r.Message != tt.message || p.StructuredContent != nil {
				t.Errorf("isError %t, reason %s, message %q, structured %s", r.IsError, r.Reason, r.Message, p.StructuredContent)
			}
		})
	}
}

// Results whose JSON matters.
func TestReadResultJSON_A29_S85(t *testing.T) {
	const block = `{"type":"text","text":"hello"}`
	result := func(isError bool, fields ...string) string {
		return fmt.Sprintf(`{"resultType":"complete",%s,"isError":%t}`, strings.Join(fields, ","), isError)
	}
	text := func(text string) string { return fmt.Sprintf(`"content":[{"type":"text","text":%s}]`, encode(text)) }
	rows := result(false, text(`{"rows":3}`), `"structuredContent":{"rows":3}`)
	const large = `{"rows":9007199254740993,"f":1.50,"html":"<&>"}`
	const misfit = "The tool exited with code 0, but its output does not fit its outputSchema: "
	tests := []struct {
		name   string
		task   *taskBuilder // nil: aTask
		schema string
		ending Ending
		out    Output
		reason string
		want   string
	}{
		{name: "object is all of the log", schema: rowsSchema, out: wholeLog(`{"rows":3}`),
			reason: "Succeeded", want: rows},
		{name: "object behind and before other lines", schema: rowsSchema,
			out:    wholeLog("reading\n{\"rows\":2}\n  {\"rows\":3}\r\ndone 1\n7\n"),
			reason: "Succeeded", want: rows},
		{name: "object in many lines", schema: rowsSchema, out: wholeLog("{\n  \"rows\": 3\n}\n"),
			reason: "Succeeded", want: result(false, text("{\n  \"rows\": 3\n}"), `"structuredContent":{"rows":3}`)},
		{name: "object behind what is cut", task: aTask().limit(11), schema: rowsSchema, out: wholeLog("0123456789\n{\"rows\":3}\n"),
			reason: "Succeeded", want: rows},
		{name: "object in the message", task: aTask().fromMessage(), schema: rowsSchema,
			ending: Ending{TerminationMessage: "{\"rows\":3}\n"}, out: wholeLog("noise"),
			reason: "Succeeded", want: rows},
		{name: "values as they are", schema: rowsSchema, out: wholeLog(large),
			reason: "Succeeded", want: result(false, text(large), `"structuredContent":`+large)},
		{name: "object that is not UTF-8", schema: rowsSchema, out: wholeLog("{\"rows\":3,\"a\":\"\xff\"}"),
			reason: "Succeeded", want: result(false, text(`{"rows":3,"a":"�"}`), `"structuredContent":{"rows":3,"a":"�"}`)},

		{name: "CallToolResult", out: wholeLog(`{"content":[` + block + `]}` + "\n"),
			reason: "Succeeded", want: result(false, text("hello"))},
		{name: "CallToolResult in the message", task: aTask().fromMessage(),
			ending: Ending{TerminationMessage: `{"content":[` + block + `]}`},
			reason: "Succeeded", want: result(false, text("hello"))},
		{name: "CallToolResult that is an error", out: wholeLog(`{"content":[` + block + `],"isError":true}`),
			reason: "ToolError", want: result(true, text("hello"))},
		{name: "CallToolResult of a tool that failed", ending: Ending{ExitCode: 3},
			out:    wholeLog(`{"content":[` + block + `],"structuredContent":{"rows":3}}`),
			reason: "ToolError", want: result(true, `"content":[{"type":"text","text":"The tool exited with code 3."},`+block+`]`)},
		{name: "CallToolResult with fitting content", schema: rowsSchema,
			out:    wholeLog("log\n" + `{"content":[` + block + `],"structuredContent":{"rows":3}}`),
			reason: "Succeeded", want: result(false, text("hello"), `"structuredContent":{"rows":3}`)},
		{name: "CallToolResult with misfitting content", schema: rowsSchema,
			out:    wholeLog(`{"content":[` + block + `],"structuredContent":{"rows":"3"}}`),
			reason: "InvalidOutput", want: result(true, text(misfit+"/rows: must be an integer, is a string. Its output:\n\n"+
				`{"content":[`+block+`],"structuredContent":{"rows":"3"}}`))},
		{name: "CallToolResult without what the schema asks for", schema: rowsSchema, out: wholeLog(`{"content":[` + block + `]}`),
			reason: "InvalidOutput", want: result(true, text(misfit+"/rows: is required. Its output:\n\n"+`{"content":[`+block+`]}`))},
		{name: "CallToolResult that is an error need not fit", schema: rowsSchema,
			out:    wholeLog(`{"content":[` + block + `],"structuredContent":{"rows":3},"isError":true}`),
			reason: "ToolError", want: result(true, text("hello"))},
		{name: "object of a schema that itself has content", schema: `{"type":"object","properties":{"content":{"type":"array"}}}`,
			out:    wholeLog(`{"content":[` + block + `]}`),
			reason: "Succeeded", want: result(false, text(`{"content":[`+block+`]}`), `"structuredContent":{"content":[`+block+`]}`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := ReadResult(cmp.Or(tt.task, aTask()).obj(), []byte(tt.schema), tt.ending, tt.out)
			parse(t, r)
			if r.JSON != tt.want || r.Reason != tt.reason {
				t.Errorf("%s: %s\nwant %s: %s", r.Reason, r.JSON, tt.reason, tt.want)
			}
		})
	}
}

// However much a tool writes, and of what, its result can be stored, and says how much of the output is missing.
func TestReadResult_B20_Size(t *testing.T) {
	const limit = 512 << 10
	patterns := map[string]string{
		"text": "0123456789abcdef", "binary": "\x00\x01\x02\xff", "invalid": "\xff", "control": "\x01", "quotes": `"`,
		"backslashes": `\`, "html": "<",
		"lines": "a\n", "wide": "🐈", "separators": "\u2028", "escapes": "\x1b[31m",
	}
	hugeArguments := `{"a":"` + strings.Repeat("<", v1alpha1.MaxArgumentsBytes-10) + `"}`
	for name, pattern := range patterns {
		data := strings.Repeat(pattern, limit/len(pattern)) + "END"
		for _, tt := range []struct {
			ending    Ending
			out       Output
			arguments string
		}{
			{Ending{}, wholeLog(data), `{}`},
			{Ending{ExitCode: 1}, Output{Data: []byte(data), Total: 5 << 20}, hugeArguments},
		} {
			r := ReadResult(aTask().limit(limit).arguments(tt.arguments).obj(), nil, tt.ending, tt.out)
			text := parse(t, r).text(t)
			if !strings.HasSuffix(text, "END") || !strings.Contains(text, " bytes of the output are missing.]\n") {
				t.Errorf("%s: %.100q … %.20q", name, text, text[max(len(text)-20, 0):])
			}
			if strings.ContainsRune(text, 0) || !utf8.ValidString(r.JSON) {
				t.Errorf("%s: NUL or not UTF-8", name)
			}
			asStored, err := json.Marshal(map[string]string{"arguments": tt.arguments, "result": r.JSON})
			if err != nil || len(asStored) > v1alpha1.MaxResultBytes+maxBeside+100 {
				t.Errorf("%s: result and arguments have %d bytes at the API server", name, len(asStored))
			}
		}
	}
}

// A mark counts the bytes of the output, not those of the text that became of it.
func TestReadResultCountsBytes(t *testing.T) {
	data := strings.Repeat("\xff", 500<<10)
	r := ReadResult(aTask().limit(512<<10).obj(), nil, Ending{}, wholeLog(data))
	text := parse(t, r).text(t)
	mark, body, _ := strings.Cut(text, "\n")
	kept := utf8.RuneCountInString(body)
	if want := "[The first " + strconv.Itoa(len(data)-kept) + " of 512000 bytes of the output are missing.]"; mark != want {
		t.Errorf("mark = %s, want %s", mark, want)
	}
}

func TestReadResultLargeObjects(t *testing.T) {
	object := func(unit string, n int) string {
		return `{"rows":3,"data":"` + strings.Repeat(unit, n/len(unit)) + `"}`
	}
	tests := []struct {
		name   string
		output string
		reason string
		// copied reports whether the text block has the object too.
		copied bool
	}{
		{"fits twice", object("x", 400<<10), "Succeeded", true},
		{"fits once", object("<", 120<<10), "Succeeded", false},
		{"fits not at all", object("<", 500<<10), "InvalidOutput", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := ReadResult(aTask().limit(512<<10).obj(), []byte(rowsSchema), Ending{}, wholeLog(tt.output))
			p := parse(t, r)
			if r.Reason != tt.reason || r.IsError != (tt.reason != "Succeeded") {
				t.Fatalf("%s: %s", r.Reason, r.Message)
			}
			if tt.reason == "Succeeded" && string(p.StructuredContent) != tt.output {
				t.Errorf("structuredContent has %d bytes, want %d", len(p.StructuredContent), len(tt.output))
			}
			if text := p.text(t); (text == tt.output) != tt.copied {
				t.Errorf("text = %.200q", text)
			}
		})
	}
	t.Run("too large and failed", func(t *testing.T) {
		output := `{"content":[{"type":"text","text":"` + strings.Repeat("<", 500<<10) + `"}]}`
		r := ReadResult(aTask().limit(512<<10).obj(), nil, Ending{ExitCode: 3}, wholeLog(output))
		text := parse(t, r).text(t)
		if r.Reason != "ToolError" || r.Message != "The tool exited with code 3." || !strings.HasPrefix(text,
			"The tool exited with code 3. Its result would take ") {
			t.Errorf("%s, %q: %s", r.Reason, r.Message, text)
		}
	})
}

// Results of about the size that Kubernetes keeps of a termination message are whole, or an error that says why they are not.
func TestReadResult_B19_MessageLimit(t *testing.T) {
	for _, size := range []int{4095, 4096, 4097, 20000} {
		object := `{"rows":3,"a":"` + strings.Repeat("x", size-17) + `"}`
		kept := object[max(len(object)-4096, 0):] // the kubelet reads the end of the file
		r := ReadResult(aTask().fromMessage().obj(), []byte(rowsSchema), Ending{TerminationMessage: kept}, Output{})
		p := parse(t, r)
		if size <= 4096 {
			if string(p.StructuredContent) != object || r.IsError {
				t.Errorf("%d bytes: %s: %.300s", size, r.Reason, r.JSON)
			}
			continue
		}
		if r.Reason != "InvalidOutput" || !strings.Contains(r.Message,
			"Kubernetes keeps only 4096 bytes of a termination message; with result.from: Logs") {
			t.Errorf("%d bytes: %s: %s", size, r.Reason, r.Message)
		}
	}
}

// A log that is not all there comes with a link to all of it; one that is, or that nobody could read, does not.
func TestReadResultLinksToTheLog(t *testing.T) {
	const uri = "mcptasks:///t-abc/log"
	cut := func(o Output) Output { o.URI, o.Total = uri, o.Total+1000; return o }
	large := `{"content":[{"type":"text","text":"` + strings.Repeat("<", 500<<10) + `"}]}`
	for _, tt := range []struct {
		name   string
		task   *taskBuilder
		schema string
		ending Ending
		out    Output
		size   float64 // of the log; 0: there is no link
	}{
		{name: "whole", out: Output{Data: []byte("hello"), Total: 5, URI: uri}},
		{name: "cut", out: cut(wholeLog("hello")), size: 1005},
		{name: "cut by the limit", task: aTask().limit(3), out: Output{Data: []byte("hello"), Total: 5, URI: uri}, size: 5},
		{name: "cut for its room", task: aTask().limit(512 << 10),
			out: Output{Data: []byte(strings.Repeat("<", 500<<10)), Total: 500 << 10, URI: uri}, size: 500 << 10},
		{name: "cut, and nobody may read it", out: Output{Data: []byte("hello"), Total: 1000}},
		{name: "cut, and failed", ending: Ending{ExitCode: 3}, out: cut(wholeLog("hello")), size: 1005},
		{name: "cut, and no object", schema: rowsSchema, out: cut(wholeLog("hello")), size: 1005},
		{name: "cut before the object", schema: rowsSchema, out: cut(wholeLog("\n{\"rows\":3}"))},
		{name: "cut log, whole message", task: aTask().fromMessage(), ending: Ending{TerminationMessage: "m"}, out: cut(wholeLog("x"))},
		{name: "cut log in place of a message", task: aTask().fromMessage(), ending: Ending{ExitCode: 3}, out: cut(wholeLog("x")),
			size: 1001},
		{name: "whole, but too large to be stored", task: aTask().limit(512 << 10),
			out: Output{Data: []byte(large), Total: int64(len(large)), URI: uri}, size: float64(len(large))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := parse(t, ReadResult(cmp.Or(tt.task, aTask()).obj(), []byte(tt.schema), tt.ending, tt.out))
			last := p.Content[len(p.Content)-1]
			if tt.size == 0 {
				if len(p.Content) != 1 || last["type"] != "text" {
					t.Errorf("content = %.300v, want one text", p.Content)
				}
				return
			}
			if len(p.Content) != 2 || last["type"] != "resource_link" || last["uri"] != uri || last["name"] == "" ||
				last["size"] != tt.size {
				t.Errorf("content ends with %.300v, want a link to %v bytes", last, tt.size)
			}
		})
	}
}

// A program may write a megabyte after what went wrong.
func TestReadResultShowsErrorOutput(t *testing.T) {
	const head = "The tool exited with code 3."
	const mark = "[The first 90 of 95 bytes of the output are missing.]\n"
	out := func(data, errors string, total int64) Output {
		return Output{Data: []byte(data), Total: 95, Errors: []byte(errors), ErrorsTotal: total}
	}
	for _, tt := range []struct {
		name string
		task *taskBuilder
		out  Output
		want string
	}{
		{name: "beside the end of the output", out: out("45678", "no such table\n", 14),
			want: head + " Its error output:\n\nno such table\n\nIts output:\n\n" + mark + "45678"},
		{name: "cut", out: out("45678", "table", 14),
			want: head + " Its error output:\n\n[The first 9 of 14 bytes of the error output are missing.]\ntable\n\n" +
				"Its output:\n\n" + mark + "45678"},
		{name: "cut within a character", out: out("45678", "\xa9table", 14),
			want: head + " Its error output:\n\n[The first 9 of 14 bytes of the error output are missing.]\ntable\n\n" +
				"Its output:\n\n" + mark + "45678"},
		{name: "no more than the limit", task: aTask().limit(5), out: out("45678", "0123456789", 10),
			want: head + " Its error output:\n\n[The first 5 of 10 bytes of the error output are missing.]\n56789\n\n" +
				"Its output:\n\n" + mark + "45678"},
		{name: "within the end of the output", out: out("45678", "567\n", 4), want: head + " Its output:\n\n" + mark + "45678"},
		{name: "empty", out: out("45678", "\n", 1), want: head + " Its output:\n\n" + mark + "45678"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ReadResult(cmp.Or(tt.task, aTask()).obj(), nil, Ending{ExitCode: 3}, tt.out)
			if text := parse(t, r).text(t); text != tt.want {
				t.Errorf("text = %q\nwant   %q", text, tt.want)
			}
		})
	}
	t.Run("of all that there can be", func(t *testing.T) {
		o := Output{Data: []byte(strings.Repeat("<", 512<<10)), Total: 1 << 30, URI: "mcptasks:///t-abc/log"}
		o.Errors, o.ErrorsTotal = []byte(strings.Repeat("\x01", maxErrors)), 1<<30
		p := parse(t, ReadResult(aTask().limit(512<<10).obj(), nil, Ending{ExitCode: 3}, o))
		if text, _ := p.Content[0]["text"].(string); strings.Count(text, "\x01") != maxErrors || len(p.Content) != 2 {
			t.Errorf("%d blocks, %d bytes of error output", len(p.Content), strings.Count(text, "\x01"))
		}
	})
}
