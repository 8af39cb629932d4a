package job

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

const rowsSchema = `{"type":"object","required":["rows"],"properties":{"rows":{"type":"integer"}}}`

// Results that are one block of text.
func TestReadResultText(t *testing.T) {
	message := func(text string) Ending { return Ending{TerminationMessage: text} }
	tests := []struct {
		name    string
		task    *taskBuilder
		schema  string
		ending  Ending
		out     Output
		isError bool
		reason  string
		message string
		text    string
	}{
		{name: "success", out: wholeLog("hello\nworld\n"), reason: "Succeeded", message: "The tool finished successfully.", text: "hello\nworld"},
		{name: "success without output", reason: "Succeeded", message: "The tool finished successfully.", text: "The tool finished successfully. It wrote no output."},
		{name: "success with line ends only", out: wholeLog("\n\n"), reason: "Succeeded", message: "The tool finished successfully.",
			text: "The tool finished successfully. It wrote no output."},
		{name: "success, log gone", out: Output{Unavailable: "its pod is gone"}, reason: "Succeeded", message: "The tool finished successfully.",
			text: "The tool finished successfully. Its output could not be read: its pod is gone."},
		{name: "success, kubelet's sentence for a log", out: wholeLog("unable to retrieve container logs for containerd://0af7"), reason: "Succeeded",
			message: "The tool finished successfully.", text: "The tool finished successfully. Its output could not be read: the node no longer has it."},
		{name: "success, cut", task: aTask().limit(5), out: wholeLog("0123456789\n"), reason: "Succeeded", message: "The tool finished successfully.",
			text: "[The first 5 of 10 bytes of the output are missing.]\n56789"},
		{name: "success by message", task: aTask().fromMessage(), ending: message("done\n"), out: wholeLog("noise"), reason: "Succeeded",
			message: "The tool finished successfully.", text: "done"},
		{name: "success by message without one", task: aTask().fromMessage(), out: wholeLog("noise"), reason: "Succeeded",
			message: "The tool finished successfully.", text: "The tool finished successfully. It wrote no output."},
		{name: "JSON without a schema is text", out: wholeLog(`{"rows":3}`), reason: "Succeeded", message: "The tool finished successfully.", text: `{"rows":3}`},
		{name: "cut CallToolResult is text", task: aTask().limit(20), out: wholeLog(`xxxxxxxxxxxxx{"content":[{"type":"text","text":"a"}]}`), reason: "Succeeded",
			message: "The tool finished successfully.", text: "[The first 33 of 53 bytes of the output are missing.]\n\"text\",\"text\":\"a\"}]}"},

		{name: "failure", ending: Ending{ExitCode: 3}, out: wholeLog("trying\nno such table\n"), isError: true, reason: "ToolError",
			message: "The tool exited with code 3.", text: "The tool exited with code 3. Its output:\n\ntrying\nno such table"},
		{name: "failure without output", ending: Ending{ExitCode: 3}, isError: true, reason: "ToolError",
			message: "The tool exited with code 3.", text: "The tool exited with code 3. It wrote no output."},
		{name: "failure, log gone", ending: Ending{ExitCode: 3}, out: Output{Unavailable: "its node is gone"}, isError: true, reason: "ToolError",
			message: "The tool exited with code 3.", text: "The tool exited with code 3. Its output could not be read: its node is gone."},
		{name: "failure, cut", task: aTask().limit(4), ending: Ending{ExitCode: 1}, out: wholeLog("0123456789"), isError: true, reason: "ToolError",
			message: "The tool exited with code 1.", text: "The tool exited with code 1. Its output:\n\n[The first 6 of 10 bytes of the output are missing.]\n6789"},
		{name: "failure, message helps out", ending: Ending{ExitCode: 1, TerminationMessage: "why"}, isError: true, reason: "ToolError",
			message: "The tool exited with code 1.", text: "The tool exited with code 1. Its output:\n\nwhy"},
		{name: "failure, message helps out for a log that is gone", ending: Ending{ExitCode: 1, TerminationMessage: "why"}, out: Output{Unavailable: "x"},
			isError: true, reason: "ToolError", message: "The tool exited with code 1.", text: "The tool exited with code 1. Its output:\n\nwhy"},
		{name: "failure by message", task: aTask().fromMessage(), ending: Ending{ExitCode: 1, TerminationMessage: "why"}, out: wholeLog("noise"), isError: true,
			reason: "ToolError", message: "The tool exited with code 1.", text: "The tool exited with code 1. Its output:\n\nwhy"},
		{name: "failure by message, log helps out", task: aTask().fromMessage(), ending: Ending{ExitCode: 1}, out: wholeLog("noise"), isError: true,
			reason: "ToolError", message: "The tool exited with code 1.", text: "The tool exited with code 1. Its output:\n\nnoise"},
		{name: "failure with fitting output", schema: rowsSchema, ending: Ending{ExitCode: 1}, out: wholeLog(`{"rows":3}`), isError: true, reason: "ToolError",
			message: "The tool exited with code 1.", text: "The tool exited with code 1. Its output:\n\n{\"rows\":3}"},
		{name: "out of memory", ending: Ending{ExitCode: 137, OOMKilled: true}, out: wholeLog("loading"), isError: true, reason: "OOMKilled",
			message: "The tool was killed because it ran out of memory.", text: "The tool was killed because it ran out of memory. Its output:\n\nloading"},
		{name: "out of memory with code 0", ending: Ending{OOMKilled: true}, out: wholeLog("done"), isError: true, reason: "OOMKilled",
			message: "A process of the tool was killed because memory ran out, though the tool exited with code 0.",
			text:    "A process of the tool was killed because memory ran out, though the tool exited with code 0. Its output:\n\ndone"},
		{name: "deadline", ending: Ending{ExitCode: 143, DeadlineExceeded: true}, out: wholeLog("1\n2\n"), isError: true, reason: "DeadlineExceeded",
			message: "The tool was stopped because it ran longer than its deadline of 1h.",
			text:    "The tool was stopped because it ran longer than its deadline of 1h. Its output:\n\n1\n2"},

		{name: "no object", schema: rowsSchema, out: wholeLog("three rows"), isError: true, reason: "InvalidOutput",
			message: "The tool exited with code 0, but there is no JSON object in its output, as its outputSchema asks for.",
			text:    "The tool exited with code 0, but there is no JSON object in its output, as its outputSchema asks for. Its output:\n\nthree rows"},
		{name: "nothing", schema: rowsSchema, isError: true, reason: "InvalidOutput",
			message: "The tool exited with code 0, but there is no JSON object in its output, as its outputSchema asks for.",
			text:    "The tool exited with code 0, but there is no JSON object in its output, as its outputSchema asks for. It wrote no output."},
		{name: "log gone", schema: rowsSchema, out: Output{Unavailable: "its pod is gone"}, isError: true, reason: "InvalidOutput",
			message: "The tool exited with code 0, but there is no JSON object in its output, as its outputSchema asks for.",
			text:    "The tool exited with code 0, but there is no JSON object in its output, as its outputSchema asks for. Its output could not be read: its pod is gone."},
		{name: "NaN", schema: rowsSchema, out: wholeLog(`{"rows":NaN}`), isError: true, reason: "InvalidOutput",
			message: "The tool exited with code 0, but there is no JSON object in its output, as its outputSchema asks for.",
			text:    "The tool exited with code 0, but there is no JSON object in its output, as its outputSchema asks for. Its output:\n\n{\"rows\":NaN}"},
		{name: "misfit", schema: rowsSchema, out: wholeLog("reading\n{\"rows\":\"3\"}\n"), isError: true, reason: "InvalidOutput",
			message: "The tool exited with code 0, but its output does not fit its outputSchema: /rows: must be an integer, is a string.",
			text:    "The tool exited with code 0, but its output does not fit its outputSchema: /rows: must be an integer, is a string. Its output:\n\nreading\n{\"rows\":\"3\"}"},
		{name: "key twice", schema: rowsSchema, out: wholeLog(`{"rows":1,"rows":2}`), isError: true, reason: "InvalidOutput",
			message: "The tool exited with code 0, but its output does not fit its outputSchema: /rows: the key appears twice in its object.",
			text:    "The tool exited with code 0, but its output does not fit its outputSchema: /rows: the key appears twice in its object. Its output:\n\n{\"rows\":1,\"rows\":2}"},
		{name: "object cut off", task: aTask().limit(8), schema: rowsSchema, out: wholeLog(`{"rows":3}`), isError: true, reason: "InvalidOutput",
			message: "The tool exited with code 0, but there is no JSON object in its output, as its outputSchema asks for (only the last 8 bytes of it were read; result.limit says how many).",
			text: "The tool exited with code 0, but there is no JSON object in its output, as its outputSchema asks for (only the last 8 bytes of it were read; result.limit says how many). " +
				"Its output:\n\n[The first 2 of 10 bytes of the output are missing.]\nrows\":3}"},
		{name: "message with a line before the object", task: aTask().fromMessage(), schema: rowsSchema, ending: message("x\n{\"rows\":3}"), isError: true, reason: "InvalidOutput",
			message: "The tool exited with code 0, but there is no JSON object in its output, as its outputSchema asks for.",
			text:    "The tool exited with code 0, but there is no JSON object in its output, as its outputSchema asks for. Its output:\n\nx\n{\"rows\":3}"},
		{name: "schema cannot be used", schema: `{"type":"array"}`, out: wholeLog(`{"rows":3}`), isError: true, reason: "InvalidOutput",
			message: `The tool exited with code 0, but its outputSchema cannot be used: /type: the root of the schema must have "type": "object".`,
			text:    "The tool exited with code 0, but its outputSchema cannot be used: /type: the root of the schema must have \"type\": \"object\". Its output:\n\n{\"rows\":3}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			task := tt.task
			if task == nil {
				task = aTask()
			}
			r := ReadResult(task.obj(), []byte(tt.schema), tt.ending, tt.out)
			p := parse(t, r)
			if text := p.text(t); text != tt.text {
				t.Errorf("text = %q\nwant   %q", text, tt.text)
			}
			if r.IsError != tt.isError || r.Reason != tt.reason || r.Message != tt.message || p.StructuredContent != nil {
				t.Errorf("isError %t, reason %s, message %q, structured %s", r.IsError, r.Reason, r.Message, p.StructuredContent)
			}
		})
	}
}

// Results whose JSON matters.
func TestReadResultJSON(t *testing.T) {
	const block = `{"type":"text","text":"hello"}`
	succeeded := func(fields string) string { return `{"resultType":"complete",` + fields + `,"isError":false}` }
	rows := succeeded(`"content":[{"type":"text","text":"{\"rows\":3}"}],"structuredContent":{"rows":3}`)
	tests := []struct {
		name   string
		task   *taskBuilder
		schema string
		ending Ending
		out    Output
		reason string
		want   string
	}{
		{name: "object is all of the log", schema: rowsSchema, out: wholeLog(`{"rows":3}`), reason: "Succeeded", want: rows},
		{name: "object behind other lines", schema: rowsSchema, out: wholeLog("reading\n{\"rows\":2}\n  {\"rows\":3}\r\ndone 1\n7\n"), reason: "Succeeded", want: rows},
		{name: "object in many lines", schema: rowsSchema, out: wholeLog("{\n  \"rows\": 3\n}\n"), reason: "Succeeded",
			want: succeeded(`"content":[{"type":"text","text":"{\n  \"rows\": 3\n}"}],"structuredContent":{"rows":3}`)},
		{name: "object behind what is cut", task: aTask().limit(11), schema: rowsSchema, out: wholeLog("0123456789\n{\"rows\":3}\n"), reason: "Succeeded", want: rows},
		{name: "object in the message", task: aTask().fromMessage(), schema: rowsSchema, ending: Ending{TerminationMessage: "{\"rows\":3}\n"}, out: wholeLog("noise"),
			reason: "Succeeded", want: rows},
		{name: "large numbers as they are", schema: rowsSchema, out: wholeLog(`{"rows":9007199254740993,"f":1.50,"html":"<&>"}`), reason: "Succeeded",
			want: succeeded(`"content":[{"type":"text","text":"{\"rows\":9007199254740993,\"f\":1.50,\"html\":\"<&>\"}"}],` +
				`"structuredContent":{"rows":9007199254740993,"f":1.50,"html":"<&>"}`)},
		{name: "object with broken text", schema: rowsSchema, out: wholeLog("{\"rows\":3,\"a\":\"\xff\"}"), reason: "Succeeded",
			want: succeeded(`"content":[{"type":"text","text":"{\"rows\":3,\"a\":\"` + "\uFFFD" + `\"}"}],"structuredContent":{"rows":3,"a":"` + "\uFFFD" + `"}`)},

		{name: "CallToolResult", out: wholeLog(`{"content":[` + block + `]}` + "\n"), reason: "Succeeded", want: succeeded(`"content":[` + block + `]`)},
		{name: "CallToolResult in the message", task: aTask().fromMessage(), ending: Ending{TerminationMessage: `{"content":[` + block + `]}`}, reason: "Succeeded",
			want: succeeded(`"content":[` + block + `]`)},
		{name: "CallToolResult that is an error", out: wholeLog(`{"content":[` + block + `],"isError":true}`), reason: "ToolError",
			want: `{"resultType":"complete","content":[` + block + `],"isError":true}`},
		{name: "CallToolResult of a tool that failed", ending: Ending{ExitCode: 3}, out: wholeLog(`{"content":[` + block + `],"structuredContent":{"rows":3}}`),
			reason: "ToolError", want: `{"resultType":"complete","content":[{"type":"text","text":"The tool exited with code 3."},` + block + `],"isError":true}`},
		{name: "CallToolResult with fitting content", schema: rowsSchema, out: wholeLog("log\n" + `{"content":[` + block + `],"structuredContent":{"rows":3}}`),
			reason: "Succeeded", want: succeeded(`"content":[` + block + `],"structuredContent":{"rows":3}`)},
		{name: "CallToolResult with misfitting content", schema: rowsSchema, out: wholeLog(`{"content":[` + block + `],"structuredContent":{"rows":"3"}}`),
			reason: "InvalidOutput", want: `{"resultType":"complete","content":[{"type":"text","text":"The tool exited with code 0, but its output does not fit its ` +
				`outputSchema: /rows: must be an integer, is a string. Its output:\n\n{\"content\":[{\"type\":\"text\",\"text\":\"hello\"}],` +
				`\"structuredContent\":{\"rows\":\"3\"}}"}],"isError":true}`},
		{name: "CallToolResult without what the schema asks for", schema: rowsSchema, out: wholeLog(`{"content":[` + block + `]}`),
			reason: "InvalidOutput", want: `{"resultType":"complete","content":[{"type":"text","text":"The tool exited with code 0, but its output does not fit its ` +
				`outputSchema: /rows: is required. Its output:\n\n{\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}"}],"isError":true}`},
		{name: "CallToolResult that is an error need not fit", schema: rowsSchema, out: wholeLog(`{"content":[` + block + `],"isError":true}`),
			reason: "ToolError", want: `{"resultType":"complete","content":[` + block + `],"isError":true}`},
		{name: "object of a schema that itself has content", schema: `{"type":"object","properties":{"content":{"type":"array"}}}`, out: wholeLog(`{"content":[` + block + `]}`),
			reason: "Succeeded", want: succeeded(`"content":[{"type":"text","text":"{\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}"}],"structuredContent":{"content":[` + block + `]}`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			task := tt.task
			if task == nil {
				task = aTask()
			}
			r := ReadResult(task.obj(), []byte(tt.schema), tt.ending, tt.out)
			parse(t, r)
			if r.JSON != tt.want || r.Reason != tt.reason {
				t.Errorf("%s: %s\nwant %s: %s", r.Reason, r.JSON, tt.reason, tt.want)
			}
		})
	}
}

// However much a tool writes, and of what, its result can be stored, and says how much of the output is missing.
func TestReadResultSize(t *testing.T) {
	const limit = 512 << 10
	patterns := map[string]string{
		"text": "0123456789abcdef", "binary": "\x00\x01\x02\xff", "invalid": "\xff", "control": "\x01", "quotes": `"`, "backslashes": `\`, "html": "<",
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
		if r.Reason != "ToolError" || r.Message != "The tool exited with code 3." || !strings.HasPrefix(text, "The tool exited with code 3. Its result would take ") {
			t.Errorf("%s, %q: %s", r.Reason, r.Message, text)
		}
	})
}

// Results of about the size that Kubernetes keeps of a termination message are whole, or an error that says why they are not.
func TestReadResultMessageLimit(t *testing.T) {
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
		if r.Reason != "InvalidOutput" || !strings.Contains(r.Message, "Kubernetes keeps only 4096 bytes of a termination message; with result.from: Logs") {
			t.Errorf("%d bytes: %s: %s", size, r.Reason, r.Message)
		}
	}
}
