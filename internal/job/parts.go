package job

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/schema"
)

// Parts are what the pods of a Job with several pods came to.
type Parts struct {
	// Indexed: each part is a completion index of the Job, and Total is their number; otherwise each is a pod, in the order in
	// which they ended.
	Indexed bool
	// Total is how many parts have to succeed; 0: as many as there are (a work queue has no number of completions).
	Total int
	// Succeeded is how many parts did, also those that List does not have.
	Succeeded int
	// Complete: the Job as a whole succeeded.
	Complete bool
	// Overdue: the Job as a whole was stopped because it ran too long.
	Overdue bool
	// List has the parts that anything is known of, ordered by Number.
	List []Part
}

// A Part is what became of one index of a Job, or of one of its pods where it has no indexes: of its last attempt.
type Part struct {
	// Number is the completion index; without indexes the parts are counted from 1.
	Number int
	// Attempts is how many pods have been started for it as far as is known, at least 1.
	Attempts int
	// Succeeded: the Job counts it as done.
	Succeeded bool
	// Ending is how its main container came to its own end; nil where it did not, or nobody knows.
	Ending *Ending
	// Fate says where there is no Ending, as the end of a sentence, what became of it.
	Fate string
	// Output is what the main container left in its log.
	Output Output
}

// failed: the tool went wrong in this part. What the Job does not need to succeed may fail; what succeeded may still have lost a
// process.
func (p *Parts) failed(part *Part) bool {
	switch {
	case part.Ending == nil:
		return false
	case part.Succeeded:
		return part.Ending.OOMKilled
	default:
		return !p.Complete && part.Ending.Failed()
	}
}

// ToolFailed reports whether the tool went wrong in any part that counts.
func (p *Parts) ToolFailed() bool {
	return slices.ContainsFunc(p.List, func(part Part) bool { return p.failed(&part) })
}

// noun is what a part is called, in the singular or plural.
func (p *Parts) noun(n int) string {
	switch {
	case p.Indexed && n == 1:
		return "index"
	case p.Indexed:
		return "indexes"
	case n == 1:
		return "pod"
	default:
		return "pods"
	}
}

// ReadParts makes the result of a task whose Job had several pods and has ended, Complete or Failed; in the latter case, where
// the tool itself went wrong or ran too long. outputSchema is the tool's at the time the Job was made; empty where it had none.
//
// The text of the result has the output of every part under a heading of its own that says how the part ended, in the order of
// their numbers. Together they take at most the limit that the task says: where they are longer, each keeps its end, and the
// shorter ones leave what they do not need to the longer ones. What is missing is marked where it is missing. In place of an
// output that is itself a CallToolResult stand its content blocks, as far as there is room for them; if one says isError, the
// whole does. With an outputSchema, a Job that succeeded makes an object with the member "results": for each index, or each pod
// that succeeded, the JSON object in its output, null for an index that the Job did not need. That object has to fit the
// outputSchema.
func ReadParts(task *v1alpha1.MCPTask, outputSchema []byte, p Parts) Result {
	j := joint{
		Parts:     p,
		execution: task.Spec.Execution,
		common: answer{
			source: task.Spec.Result,
			room:   v1alpha1.MaxResultBytes - max(beside(task)-maxBeside, 0),
		},
	}
	for i := range j.List {
		var report *toolResult
		if r, ok := j.of(&j.List[i]).anyText().toolResult(); ok {
			report = &r
		}
		j.reports = append(j.reports, report)
	}
	switch reason := j.reason(); {
	case reason != "":
		return j.text(reason, j.failure(), true)
	case len(outputSchema) > 0:
		return j.structured(outputSchema)
	default:
		return j.text(v1alpha1.ReasonSucceeded, j.success(), false)
	}
}

// A joint is the result of several parts in the making.
type joint struct {
	Parts
	execution v1alpha1.Execution
	// common is what the answers of all parts have in common: the source and the room.
	common answer
	// reports are the CallToolResults that the parts of List printed; nil where one printed something else.
	reports []*toolResult
}

// fault is why the part at that place of List makes the result an error, and how it went wrong; "" where it did not.
func (j *joint) fault(i int) (reason, fate string) {
	part := &j.List[i]
	switch {
	case j.failed(part):
		reason, _ = part.Ending.account(j.execution)
		return reason, part.Ending.fate(j.execution)
	case part.Succeeded && j.reports[i] != nil && j.reports[i].IsError:
		return v1alpha1.ReasonToolError, "reported an error"
	default:
		return "", ""
	}
}

// of is the answer of one part.
func (j *joint) of(part *Part) answer {
	a := j.common
	a.out = part.Output.checked()
	if part.Ending != nil {
		a.ending = *part.Ending
	}
	return a
}

// reason is why the result is an error; "" where it is none. Parts that went wrong in different ways make a ToolError.
func (j *joint) reason() string {
	if j.Overdue {
		return v1alpha1.ReasonDeadlineExceeded
	}
	reason := ""
	for i := range j.List {
		of, _ := j.fault(i)
		switch {
		case of == "":
		case reason == "" || reason == of:
			reason = of
		default:
			return v1alpha1.ReasonToolError
		}
	}
	return reason
}

// success is one sentence about a Job that succeeded.
func (j *joint) success() string {
	n := j.Succeeded
	if total := cmp.Or(j.Total, n); n < total {
		return fmt.Sprintf("%d of %d %s succeeded, and that is enough.", n, total, j.noun(total))
	}
	if n == 1 {
		return fmt.Sprintf("The only %s succeeded.", j.noun(1))
	}
	return fmt.Sprintf("All %d %s succeeded.", n, j.noun(n))
}

// maxNamed is how many parts a sentence names that went wrong.
const maxNamed = 3

// failure is one sentence about a Job that did not succeed.
func (j *joint) failure() string {
	of := ""
	if j.Total > 0 {
		of = fmt.Sprintf(" of %d", j.Total)
	}
	tally := fmt.Sprintf("%d%s %s succeeded", j.Succeeded, of, j.noun(max(j.Total, j.Succeeded)))
	if j.Overdue {
		return fmt.Sprintf("The tool was stopped because it ran longer than its deadline of %s; %s.",
			DurationText(j.execution.Deadline.Duration), tally)
	}
	var named []string
	more := 0
	for i := range j.List {
		switch reason, fate := j.fault(i); {
		case reason == "":
		case len(named) < maxNamed:
			named = append(named, fmt.Sprintf("%s %d %s", j.noun(1), j.List[i].Number, fate))
		default:
			more++
		}
	}
	if more > 0 {
		named = append(named, fmt.Sprintf("and %d more went wrong", more))
	}
	return fmt.Sprintf("The tool failed: %s; %s.", strings.Join(named, ", "), tally)
}

// A section is what a joined text says of one part, or of several in a row that have nothing of their own to say.
type section struct {
	first, last int
	fate        string
	text        tail
	// report is the CallToolResult that the text is; nil where it is none.
	report *toolResult
}

// text is the result that joins the outputs of all parts below a sentence.
func (j *joint) text(reason, sentence string, isError bool) Result {
	sections := j.sections()
	if len(sections) == 0 {
		return j.common.result(reason, sentence, newToolResult(isError, sentence+noOutput))
	}
	share(sections, int(j.common.limit()), func(_ rune, size int) int { return size })

	heads := stored(textBlock(sentence))
	for i := range sections {
		heads += stored([]byte(j.heading(&sections[i]))) + maxMark
	}
	share(sections, j.common.room-frame-heads, storedText)

	content := j.compose(sentence, sections, isError)
	if stored(encode(content)) > j.common.room {
		// Other blocks than text cannot be cut; as text they can.
		for i := range sections {
			sections[i].report = nil
		}
		content = j.compose(sentence, sections, isError)
	}
	return j.common.result(reason, sentence, content)
}

// compose puts the sections below the sentence, in one block of text where none of them has blocks of its own.
func (j *joint) compose(sentence string, sections []section, isError bool) toolResult {
	r := toolResult{ResultType: complete, IsError: isError}
	lines := []string{sentence}
	flush := func() {
		if len(lines) > 0 {
			r.Content = append(r.Content, textBlock(strings.Join(lines, "\n")))
		}
		lines = nil
	}
	for i := range sections {
		s := &sections[i]
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, j.heading(s))
		if s.report != nil && s.text.lost == 0 {
			flush()
			r.Content = append(r.Content, s.report.Content...)
		} else if text := s.text.marked(); text != "" {
			lines = append(lines, text)
		}
	}
	flush()
	return r
}

// maxMark is more than the mark of what is missing takes, and the line ends around a section.
const maxMark = 160

// sections are what there is to say of the parts, in their order.
func (j *joint) sections() []section {
	var all []section
	for i := range j.List {
		part := &j.List[i]
		a := j.of(part)
		s := section{first: part.Number, last: part.Number, fate: part.Fate, text: a.anyText(), report: j.reports[i]}
		if part.Ending != nil {
			s.fate = part.Ending.fate(j.execution)
		}
		if part.Attempts > 1 {
			s.fate += fmt.Sprintf(" in attempt %d", part.Attempts)
		}
		switch why := a.unavailable(); {
		case len(s.text.data) > 0:
		case why != "":
			s.fate += "; its output could not be read: " + why
		case part.Ending != nil:
			s.fate += " without output"
		}
		if n := len(all); n > 0 && len(s.text.data)+len(all[n-1].text.data) == 0 && all[n-1].fate == s.fate &&
			all[n-1].last+1 == s.first {
			all[n-1].last = s.last
			continue
		}
		all = append(all, s)
	}
	return all
}

// heading is the line above a section.
func (j *joint) heading(s *section) string {
	if s.first == s.last {
		return fmt.Sprintf("=== %s %d %s ===", j.noun(1), s.first, s.fate)
	}
	return fmt.Sprintf("=== %s %d-%d %s ===", j.noun(2), s.first, s.last, s.fate)
}

// share cuts the texts of sections so that together they cost at most so much.
func share(sections []section, room int, cost func(r rune, size int) int) {
	costs := make([]int, len(sections))
	for i := range sections {
		costs[i] = sections[i].text.cost(cost)
	}
	most := level(costs, room)
	for i := range sections {
		if costs[i] > most {
			sections[i].text = sections[i].text.cut(most, cost)
		}
	}
}

// Share cuts outputs so that together they have at most limit bytes: each keeps its end, and the shorter ones leave what they do
// not need to the longer ones. Cutting again after more outputs were added is the same as cutting once.
func Share(outputs []*Output, limit int64) {
	sizes := make([]int, len(outputs))
	for i, o := range outputs {
		sizes[i] = len(o.Data)
	}
	most := level(sizes, int(limit))
	for i, o := range outputs {
		if sizes[i] > most {
			o.Total = max(o.Total, int64(sizes[i]))
			o.Data = slices.Clone(o.Data[sizes[i]-most:])
		}
	}
}

// level is how large each of the sizes may be so that together they fill room, where those that are smaller count as they are.
func level(sizes []int, room int) int {
	room = max(room, 0)
	sorted := slices.Sorted(slices.Values(sizes))
	for i, size := range sorted {
		if left := len(sorted) - i; size > room/left {
			return room / left
		}
		room -= size
	}
	return math.MaxInt
}

// structured is the result of a Job that succeeded and whose tool has an outputSchema.
func (j *joint) structured(outputSchema []byte) Result {
	invalid := func(why string) Result {
		return j.text(v1alpha1.ReasonInvalidOutput, strings.TrimSuffix(j.success(), ".")+", but "+why+".", true)
	}
	s, err := schema.Compile(outputSchema)
	if err != nil {
		return invalid("the tool's outputSchema cannot be used: " + err.Error())
	}
	results := []json.RawMessage{}
	if j.Indexed {
		results = slices.Repeat([]json.RawMessage{json.RawMessage("null")}, j.Total)
	}
	for i := range j.List {
		part := &j.List[i]
		if !part.Succeeded {
			continue
		}
		a := j.of(part)
		value := a.object()
		if r := j.reports[i]; r != nil && r.StructuredContent != nil {
			value = r.StructuredContent
		}
		switch {
		case value == nil && a.unavailable() != "":
			return invalid(fmt.Sprintf("the output of %s %d could not be read: %s", j.noun(1), part.Number, a.unavailable()))
		case value == nil:
			return invalid(fmt.Sprintf("there is no JSON object in the output of %s %d, as the tool's outputSchema asks for%s",
				j.noun(1), part.Number, a.hint()))
		case !j.Indexed:
			results = append(results, value)
		case part.Number < len(results):
			results[part.Number] = value
		}
	}
	joined := encode(map[string][]json.RawMessage{resultsProperty: results})
	if misfit := s.Validate(joined); misfit != nil {
		return invalid("what the " + j.noun(2) + " printed does not fit the tool's outputSchema: " + misfit.Error())
	}
	r := j.common.fitting(joined)
	if r.Reason == v1alpha1.ReasonSucceeded {
		r.Message = j.success()
	}
	return r
}
