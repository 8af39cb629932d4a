package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/question"
	"github.com/mcptasks/mcptasks/internal/schema"
)

const (
	// defaultLimit stands for result.limit in tasks that do not have one.
	defaultLimit = 256 << 10
	// maxBeside is how much room at the API server arguments, questions and answers may take before the result has to do with less.
	maxBeside = 384 << 10
	// frame is enough for the JSON around the text of a result, for the mark of what is missing, and for the link to it.
	frame = 1 << 10

	succeeded  = "The tool finished successfully."
	noOutput   = " It wrote no output."
	unreadable = " Its output could not be read: "
)

// A Result is what becomes of a task whose main container ended.
type Result struct {
	// JSON is the MCP CallToolResult, for status.result: valid UTF-8, and so small that within an MCPTask at the API server,
	// where it is a string and escaped once more, it takes at most v1alpha1.MaxResultBytes.
	JSON string
	// IsError is the CallToolResult's isError.
	IsError bool
	// Reason is the task's reason: Succeeded, ToolError, OOMKilled, DeadlineExceeded or InvalidOutput.
	Reason string
	// Message is one short sentence, for status.message.
	Message string
}

// ReadResult makes the result of a task whose main container ended. outputSchema is the tool's at the time the Job was made;
// empty where it had none.
//
// The text of the result is the end of the log or the termination message, as the task says. A text that is itself a
// CallToolResult is taken as such. A tool that failed gets isError and a sentence about how it ended before the text; where
// that is empty, the other of the two sources helps out. With an outputSchema, a tool that succeeded must have given a JSON
// object that fits: all of the text, or the last line of a log that is an object; it becomes structuredContent and a text
// block. What is missing of the text, or cut to make the result fit, is marked at its beginning, and a link leads to the whole
// log where it can be read. Of a tool that failed, the end of stderr comes first where the text does not show it.
func ReadResult(task *v1alpha1.MCPTask, outputSchema []byte, e Ending, out Output) Result {
	a := answer{
		ending: e,
		out:    out.checked(),
		source: task.Spec.Result,
		room:   v1alpha1.MaxResultBytes - max(beside(task)-maxBeside, 0),
	}
	if reason, sentence := e.account(task.Spec.Execution); reason != "" {
		return a.failure(reason, sentence)
	}
	if len(outputSchema) > 0 {
		return a.structured(outputSchema)
	}
	return a.success()
}

// beside is what of the task stands beside its result and may be large, in bytes as it is stored.
func beside(task *v1alpha1.MCPTask) int {
	n := stored([]byte(task.Spec.Arguments))
	for _, a := range question.AnswersOf(task) {
		n += stored([]byte(a.Content))
	}
	for _, q := range task.Status.Questions {
		n += stored([]byte(q.Message)) + stored([]byte(q.RequestedSchema))
	}
	return n
}

// An answer is what a container left behind, where in it the result is, and how much room the result may take when stored.
type answer struct {
	ending Ending
	out    Output
	source v1alpha1.ResultSource
	room   int
}

func (a answer) fromMessage() bool { return a.source.From == v1alpha1.ResultFromTerminationMessage }

// text is the text that the result is made of.
func (a answer) text() tail {
	if a.fromMessage() {
		return messageTail(a.ending)
	}
	return a.log()
}

// anyText is the text of a tool that failed: where it left none in the one place, the other helps out.
func (a answer) anyText() tail {
	text := a.text()
	switch {
	case len(text.data) > 0:
		return text
	case a.fromMessage():
		return a.log()
	default:
		return messageTail(a.ending)
	}
}

func (a answer) log() tail { return logTail(a.out, a.limit()) }

// limit is how many bytes of the output the result has at most.
func (a answer) limit() int64 {
	if limit := a.source.Limit.Value(); limit > 0 {
		return limit
	}
	return defaultLimit
}

// unavailable says why there is no text, or is "".
func (a answer) unavailable() string {
	if a.fromMessage() {
		return ""
	}
	return shorten(strings.ToValidUTF8(a.out.Unavailable, "�"), 300)
}

// success is the result of a tool that exited with 0 and has no outputSchema.
func (a answer) success() Result {
	text := a.text()
	if r, ok := text.toolResult(); ok {
		return a.reported(r)
	}
	why := a.unavailable()
	switch {
	case why != "":
		return a.result(v1alpha1.ReasonSucceeded, succeeded, newToolResult(false, succeeded+unreadable+why+"."))
	case len(text.data) == 0:
		return a.result(v1alpha1.ReasonSucceeded, succeeded, newToolResult(false, succeeded+noOutput))
	default:
		return a.result(v1alpha1.ReasonSucceeded, succeeded, a.fit(false, "", text))
	}
}

// reported is the result of a tool that exited with 0 and made a CallToolResult itself.
func (a answer) reported(r toolResult) Result {
	if r.IsError {
		return a.result(v1alpha1.ReasonToolError, "The tool reported an error.", r)
	}
	return a.result(v1alpha1.ReasonSucceeded, succeeded, r)
}

// failure is the result of a tool that did not succeed, or not as its outputSchema asks. The sentence says so.
func (a answer) failure(reason, sentence string) Result {
	text := a.anyText()
	if r, ok := text.toolResult(); ok && reason != v1alpha1.ReasonInvalidOutput {
		// Nobody asks whether an error fits the outputSchema, so it must not look as if it did.
		r.IsError, r.StructuredContent = true, nil
		r.Content = append([]json.RawMessage{textBlock(sentence)}, r.Content...)
		return a.result(reason, sentence, r)
	}
	why := a.unavailable()
	switch {
	case len(text.data) > 0:
		return a.result(reason, sentence, a.fit(true, sentence+a.errors(text)+"Its output:\n\n", text))
	case why != "":
		return a.result(reason, sentence, newToolResult(true, sentence+unreadable+why+"."))
	default:
		return a.result(reason, sentence, newToolResult(true, sentence+noOutput))
	}
}

// errors is what stands between the sentence and the text: the end of stderr, unless the text has it.
func (a answer) errors(text tail) string {
	end := errorsTail(a.out, a.limit())
	if len(end.data) == 0 || bytes.Contains(text.data, end.data) {
		return " "
	}
	return " Its error output:\n\n" + end.marked() + "\n\n"
}

// structured is the result of a tool that exited with 0 and has an outputSchema.
func (a answer) structured(outputSchema []byte) Result {
	invalid := func(why string) Result {
		return a.failure(v1alpha1.ReasonInvalidOutput, "The tool exited with code 0, but "+why+".")
	}
	s, err := schema.Compile(outputSchema)
	if err != nil {
		return invalid("its outputSchema cannot be used: " + err.Error())
	}
	value := a.object()
	if value == nil {
		return invalid("there is no JSON object in its output, as its outputSchema asks for" + a.hint())
	}
	misfit := s.Validate(value)
	if misfit == nil {
		return a.fitting(value)
	}
	if r, ok := parseToolResult(value); ok {
		if r.IsError {
			r.StructuredContent = nil
			return a.reported(r)
		}
		if r.StructuredContent != nil {
			if misfit = s.Validate(r.StructuredContent); misfit == nil {
				return a.reported(r)
			}
		}
	}
	return invalid("its output does not fit its outputSchema: " + misfit.Error())
}

// object is the JSON object in the text: all of it, or the last line of a log that is one. It is nil where there is none.
func (a answer) object() json.RawMessage {
	text := []byte(a.text().text())
	if isObject(text) {
		return bytes.TrimSpace(text)
	}
	for len(text) > 0 && !a.fromMessage() {
		start := bytes.LastIndexByte(text, '\n') + 1
		if line := text[start:]; isObject(line) {
			return bytes.TrimSpace(line)
		}
		text = text[:max(start-1, 0)]
	}
	return nil
}

func isObject(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && text[0] == '{' && json.Valid(text)
}

// hint says, as the end of a sentence, how a JSON object may have gone missing.
func (a answer) hint() string {
	switch text := a.text(); {
	case text.note != "":
		return fmt.Sprintf(" (Kubernetes keeps only %d bytes of a termination message; with result.from: Logs, results may be longer)",
			a.ending.messageLimit())
	case text.lost > 0:
		return fmt.Sprintf(" (only the last %d bytes of it were read; result.limit says how many)", len(text.data))
	default:
		return ""
	}
}

// fitting is the result of a tool whose output fits its outputSchema. One that cannot be stored twice has no copy as text.
func (a answer) fitting(value json.RawMessage) Result {
	r := newToolResult(false, string(value))
	r.StructuredContent = value
	if stored(encode(r)) > a.room {
		r.Content = []json.RawMessage{textBlock(fmt.Sprintf("The result, %d bytes of JSON, is in structuredContent.", len(value)))}
	}
	return a.result(v1alpha1.ReasonSucceeded, succeeded, r)
}

// fit is a result with a head and as much of the end of a text as can be stored, with a mark between them of what is missing, and
// a link to it.
func (a answer) fit(isError bool, head string, text tail) toolResult {
	text = text.cut(a.room-frame-stored(textBlock(head+text.note)), storedText)
	r := newToolResult(isError, head+text.marked())
	if text.lost > 0 {
		r = r.withLog(text.uri, a.out.Total)
	}
	return r
}

// result is the content with what the task says about it. Content that cannot be stored, as only tools can make it that choose
// its form themselves, gives way to a sentence.
func (a answer) result(reason, sentence string, content toolResult) Result {
	r := Result{JSON: string(encode(content)), IsError: content.IsError, Reason: reason, Message: shorten(sentence, 500)}
	if size := stored([]byte(r.JSON)); size > a.room {
		if reason == v1alpha1.ReasonSucceeded {
			r.Reason, r.Message = v1alpha1.ReasonInvalidOutput, "The tool exited with code 0, but its result is too large."
		}
		r.IsError = true
		r.JSON = string(encode(newToolResult(true, fmt.Sprintf("%s Its result would take %d bytes in the cluster; %d are allowed.",
			r.Message, size, a.room)).withLog(a.out.URI, a.out.Total)))
	}
	return r
}
