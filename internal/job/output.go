package job

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Output is what could be read of the main container's log.
type Output struct {
	// Data is the end of the log.
	Data []byte
	// Total is the length of the log in bytes; less than len(Data) where it is not known.
	Total int64
	// Unavailable says in words why the log could not be read; empty where it was.
	Unavailable string
	// URI is the resource by which clients can read all of the log for as long as the Job is kept; empty: there is none.
	URI string
	// Errors is the end of what the container wrote to stderr, and ErrorsTotal how many bytes that were in all. It is read only
	// for a tool that failed and where Data is not all of the log, and only where the cluster keeps the streams apart.
	Errors      []byte
	ErrorsTotal int64
}

// maxErrors is how much of stderr is shown beside the end of a log, in bytes.
const maxErrors = 16 << 10

// ErrorsLimit is how many bytes of stderr are of use beside so many of the log.
func ErrorsLimit(limit int64) int64 { return min(limit, maxErrors) }

// Cut reports whether there is more of the log than Data.
func (o Output) Cut() bool { return o.Total > int64(len(o.Data)) }

// checked is the output, unless all of it says that there is none.
func (o Output) checked() Output {
	if NoLog(o.Data) {
		return Output{Unavailable: "the node no longer has it"}
	}
	return o
}

// LastWords is the end of the log as one line of at most limit bytes, for a message; empty where there is none.
func (o Output) LastWords(limit int) string {
	printable := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, logTail(o.checked(), int64(limit)).text())
	return strings.Join(strings.Fields(printable), " ")
}

// NoLog reports whether what was read as a log is a sentence of the kubelet's that there is none: it sends that as if it were
// the log when it finds out too late.
func NoLog(data []byte) bool {
	line := bytes.TrimSpace(data)
	if bytes.ContainsRune(line, '\n') {
		return false
	}
	for _, sentence := range []string{"unable to retrieve container logs for ", "failed to try resolving symlinks in path "} {
		if bytes.HasPrefix(line, []byte(sentence)) {
			return true
		}
	}
	return false
}

// A tail is the end of a text in an encoding that may or may not be UTF-8.
type tail struct {
	data []byte
	// lost is how many bytes are missing before data.
	lost int64
	// note says what else may be missing; "" where nothing is.
	note string
	// of is what the text is the end of, for the mark of what is missing; "" stands for "output".
	of string
	// uri is the resource that has all of the text; "" where there is none.
	uri string
}

// logTail is the end of a log, at most limit bytes, without the line ends behind it.
func logTail(o Output, limit int64) tail {
	return endOf(o.Data, o.Total, limit, tail{uri: o.URI})
}

// errorsTail is the end of stderr, at most limit bytes.
func errorsTail(o Output, limit int64) tail {
	return endOf(o.Errors, o.ErrorsTotal, ErrorsLimit(limit), tail{of: "error output"})
}

// endOf fills t with at most limit bytes from the end of a stream of total bytes, of which data is the end.
func endOf(data []byte, total, limit int64, t tail) tail {
	t.data, t.lost = bytes.TrimRight(data, "\r\n"), max(total-int64(len(data)), 0)
	if t.lost > 0 {
		t = t.skip(continuation(t.data))
	}
	return t.cut(int(limit), func(_ rune, size int) int { return size })
}

// messageTail is what Kubernetes kept of a termination message.
func messageTail(e Ending) tail {
	t := tail{data: bytes.TrimRight([]byte(e.TerminationMessage), "\r\n")}
	if e.messageFull() {
		t.note = fmt.Sprintf("[The output has all of the %d bytes that Kubernetes keeps of a termination message; more of it may be "+
			"missing.]\n", e.messageLimit())
	}
	return t
}

// cut is the end of t, in whole characters, as far as the budget goes. cost is what a character takes of it; of what is not
// UTF-8, every byte is a character utf8.RuneError of size 1.
func (t tail) cut(budget int, cost func(r rune, size int) int) tail {
	start := len(t.data)
	for start > 0 {
		r, size := utf8.DecodeLastRune(t.data[:start])
		if budget -= cost(r, size); budget < 0 {
			break
		}
		start -= size
	}
	return t.skip(start)
}

// cost is what all of t takes of a budget.
func (t tail) cost(cost func(r rune, size int) int) int {
	total := 0
	for data := t.data; len(data) > 0; {
		r, size := utf8.DecodeRune(data)
		total += cost(r, size)
		data = data[size:]
	}
	return total
}

// skip is t without its first n bytes.
func (t tail) skip(n int) tail {
	t.data, t.lost = t.data[n:], t.lost+int64(n)
	return t
}

// continuation is the number of bytes at the beginning of data that end a character whose beginning is missing.
func continuation(data []byte) int {
	n := 0
	for n < min(len(data), utf8.UTFMax-1) && !utf8.RuneStart(data[n]) {
		n++
	}
	return n
}

// text is t as Unicode text: what is not UTF-8, and NUL, which many programs that read JSON take for an end, are replaced.
// Other control characters, also those that color terminals, stay.
func (t tail) text() string {
	var b strings.Builder
	b.Grow(len(t.data))
	for data := t.data; len(data) > 0; {
		r, size := utf8.DecodeRune(data)
		if r == 0 {
			r = utf8.RuneError
		}
		b.WriteRune(r)
		data = data[size:]
	}
	return b.String()
}

// Text is what a program wrote as Unicode text, as results have it.
func Text(data []byte) string { return tail{data: data}.text() }

// toolResult is the CallToolResult that all of the text is; false where it is none, or where some of it is missing.
func (t tail) toolResult() (toolResult, bool) {
	if t.lost > 0 || !bytes.HasPrefix(bytes.TrimSpace(t.data), []byte("{")) {
		return toolResult{}, false
	}
	return parseToolResult([]byte(t.text()))
}

// marked is the text behind a visible mark of what is missing.
func (t tail) marked() string {
	mark := t.note
	if t.lost > 0 {
		mark = fmt.Sprintf("[The first %d of %d bytes of the %s are missing.]\n",
			t.lost, t.lost+int64(len(t.data)), cmp.Or(t.of, "output")) + mark
	}
	return mark + t.text()
}
