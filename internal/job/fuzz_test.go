package job

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// Whatever a container leaves behind, the result is a CallToolResult that can be stored.
func FuzzReadResult(f *testing.F) {
	f.Add([]byte("hello\n"), "", int32(0), int64(100), int64(1<<10), uint8(0))
	f.Add([]byte(`{"content":[{"type":"text","text":"a"}],"isError":true}`), "", int32(3), int64(0), int64(1<<19), uint8(1))
	f.Add([]byte("log\n{\"rows\":3}\n"), `{"rows":3}`, int32(0), int64(5000), int64(12), uint8(2))
	f.Add([]byte("\xff\x00\"\\<>&\u2028"), "\x98", int32(137), int64(0), int64(3), uint8(0xff))
	f.Add([]byte(`{"content":[],"structuredContent":{"rows":1e400}}`), "", int32(0), int64(0), int64(1<<19), uint8(2))
	f.Add([]byte("unable to retrieve container logs for x"), "m", int32(-1), int64(0), int64(0), uint8(6))
	f.Fuzz(func(t *testing.T, data []byte, message string, code int32, total, limit int64, flags uint8) {
		flag := func(n int) bool { return flags>>n&1 == 1 }
		task := aTask().limit(min(limit, 512<<10))
		if flag(0) {
			task = task.fromMessage()
		}
		var schema []byte
		if flag(1) {
			schema = []byte(rowsSchema)
		}
		out := Output{Data: data, Total: total}
		if flag(2) {
			out.Unavailable = message
		}
		if flag(3) { // large outputs are too slow for the fuzzer to find
			for len(out.Data) > 0 && len(out.Data) < 400<<10 {
				out.Data = append(out.Data, out.Data...)
			}
		}
		if flag(6) {
			out.URI = LogURI("t-abc", 0)
		}
		if flag(7) {
			out.Errors, out.ErrorsTotal = []byte(message+string(data)), total
		}
		ending := Ending{ExitCode: code, TerminationMessage: message, OOMKilled: flag(4), DeadlineExceeded: flag(5)}
		r := ReadResult(task.obj(), schema, ending, out)
		p := parse(t, r)
		if !utf8.ValidString(r.JSON) || !utf8.ValidString(r.Message) {
			t.Errorf("not UTF-8: %q, %q", r.JSON, r.Message)
		}
		if failed := code != 0 || flag(4) || flag(5); failed && !r.IsError {
			t.Errorf("a tool that failed has the result %s", r.JSON)
		}
		if len(p.Content) == 0 {
			t.Errorf("no content: %s", r.JSON)
		}
		if flag(1) && !r.IsError && p.StructuredContent == nil {
			t.Errorf("a success without structuredContent: %s", r.JSON)
		}
	})
}

// Whatever several pods leave behind, the result is a CallToolResult that can be stored.
func FuzzReadParts(f *testing.F) {
	f.Add([]byte("hello\n"), []byte("world"), int32(0), int64(1<<10), uint8(3), uint8(1))
	f.Add([]byte(`{"content":[{"type":"text","text":"a"}],"isError":true}`), []byte(`{"rows":3}`), int32(3), int64(1<<19),
		uint8(9), uint8(2))
	f.Add([]byte(`{"rows":1}`), []byte("\xff\x00\"\\<>&\u2028"), int32(0), int64(3), uint8(255), uint8(0xff))
	f.Add([]byte("\x01\x02"), []byte(`{"content":[],"structuredContent":{"rows":1}}`), int32(-1), int64(0), uint8(2), uint8(0x19))
	f.Fuzz(func(t *testing.T, one, other []byte, code int32, limit int64, n, flags uint8) {
		flag := func(n int) bool { return flags>>n&1 == 1 }
		task := aTask().limit(min(limit, 512<<10))
		if flag(0) {
			task = task.fromMessage()
		}
		var schema []byte
		if flag(1) {
			schema = []byte(`{"type":"object","properties":{"results":{"type":"array"}}}`)
		}
		p := Parts{Indexed: flag(2), Total: int(n), Complete: flag(3), Overdue: flag(4) && !flag(3)}
		for i := range int(n) {
			data, exit := one, int32(0)
			if i%3 == 1 {
				data, exit = other, code
			}
			for flag(5) && len(data) > 0 && len(data) < 8<<10 {
				data = append(data, data...)
			}
			part := ended(i, exit, string(data))
			part.Ending.TerminationMessage, part.Attempts = string(other), i%2+1
			if i%5 == 4 {
				part.Ending, part.Fate, part.Succeeded = nil, "never started", false
			}
			if part.Succeeded {
				p.Succeeded++
			}
			p.List = append(p.List, part)
		}
		r := ReadParts(task.obj(), schema, p)
		result := parse(t, r)
		if !utf8.ValidString(r.JSON) || !utf8.ValidString(r.Message) || len(result.Content) == 0 {
			t.Errorf("not UTF-8, or no content: %.300q", r.JSON)
		}
		if p.Overdue && !r.IsError || flag(1) && !r.IsError && result.StructuredContent == nil {
			t.Errorf("a good result: %.300s", r.JSON)
		}
	})
}

// Whatever the arguments are, the Job has them unchanged in the file, and whatever a container sees of them in its environment
// is what they say.
func FuzzBuild(f *testing.F) {
	f.Add(`{"x":"$(DB_PASSWORD)","n":1e3,"y":"\u0000"}`)
	f.Add(`{"x":"$$(MCP_ARG_Y)","n":9007199254740993,"list":[{}]}`)
	f.Add(`{"x":"🐈\ud83d\ude00$","y":"-rf","z":{"x":1}}`)
	f.Fuzz(func(t *testing.T, arguments string) {
		tool := aTool().property(`{"type":"string"}`).args("--x=$(MCP_ARG_X)").obj()
		job, err := Build(tool, aTask().arguments(arguments).obj())
		if err != nil {
			checkProblem(t, err, v1alpha1.ReasonRejected, "The call cannot become a Job: ")
			return
		}
		if got := job.Spec.Template.Annotations[v1alpha1.AnnotationArguments]; got != arguments {
			t.Errorf("file = %q, want %q", got, arguments)
		}
		env, args := seen(&job.Spec.Template.Spec.Containers[0])
		var object map[string]any
		if err := json.Unmarshal([]byte(arguments), &object); err != nil {
			t.Fatal(err)
		}
		for name, value := range object {
			if text, ok := value.(string); ok && (name == "x" || name == "y") {
				if got, present := env["MCP_ARG_"+string(name[0]-'a'+'A')]; present && got != text {
					t.Errorf("%s = %q, want %q", name, got, text)
				}
			}
		}
		if args[0] != "--x="+env["MCP_ARG_X"] {
			t.Errorf("args = %q, MCP_ARG_X = %q", args, env["MCP_ARG_X"])
		}
	})
}
