package task

import (
	"encoding/json"
	"time"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// Created is the flat "Task" of the Tasks extension's schema: what a CreateTaskResult says beside its resultType. It has no
// result, error or inputRequests, whatever the task's state.
//
// resultType belongs to the message, not to the task: CreateTaskResult has "task", the result of tasks/get "complete", and
// notifications/tasks none. The sender embeds Created or Detailed in a struct of its own that adds it.
type Created struct {
	// TaskID is the MCPTask's name.
	TaskID string `json:"taskId"`
	// Status is one of the extension's five words; never empty.
	Status v1alpha1.TaskState `json:"status"`
	// StatusMessage says in words what is going on or what happened.
	StatusMessage string `json:"statusMessage,omitempty"`
	// CreatedAt is the time of creation, RFC 3339 in UTC.
	CreatedAt string `json:"createdAt"`
	// LastUpdatedAt is when anything a client can see last changed, RFC 3339 in UTC; never before CreatedAt.
	LastUpdatedAt string `json:"lastUpdatedAt"`
	// TTLMs is how many milliseconds after CreatedAt the task may be gone: null (no limit) or more than 0.
	TTLMs *int64 `json:"ttlMs"`
	// PollIntervalMs is how many milliseconds a client should wait between two tasks/get: PollInterval. More than 0.
	PollIntervalMs int64 `json:"pollIntervalMs"`
}

// Detailed is the "DetailedTask" of the Tasks extension's schema: what tasks/get and notifications/tasks say of a task. Which of
// Result, Error and InputRequests is there follows from Status: completed, failed, input_required; at most one is.
type Detailed struct {
	Created
	// Result is the CallToolResult, byte for byte as it is on the record.
	Result json.RawMessage `json:"result,omitempty"`
	// Error is the JSON-RPC error that the call ended with.
	Error *Error `json:"error,omitempty"`
	// InputRequests are all open questions by key.
	InputRequests map[string]InputRequest `json:"inputRequests,omitempty"`
}

// Error is a JSON-RPC error object.
type Error struct {
	// Code is the JSON-RPC error code.
	Code int32 `json:"code"`
	// Message is one sentence.
	Message string `json:"message"`
	// Data is a JSON object with at least the member "reason".
	Data json.RawMessage `json:"data,omitempty"`
}

// InputRequest is an open question as MCP's request object without jsonrpc and id.
type InputRequest struct {
	// Method is always "elicitation/create".
	Method string `json:"method"`
	// Params is the form.
	Params ElicitParams `json:"params"`
}

// ElicitParams are the params of an elicitation/create request in form mode.
type ElicitParams struct {
	// Mode is always "form".
	Mode string `json:"mode"`
	// Message says what is asked.
	Message string `json:"message"`
	// RequestedSchema is the JSON Schema of the answer's content.
	RequestedSchema json.RawMessage `json:"requestedSchema"`
}

// Messages of what spec says and status has not caught up with.
const (
	messageAccepted = "Accepted; waiting to be started."
	messageAnswered = "Answer received; going on."
)

// timeLayout is RFC 3339 with as much precision as the record has. The number of digits is fixed because some parsers take only
// three or six.
const timeLayout = "2006-01-02T15:04:05.000000Z07:00"

// Wire is what clients see of a task: the one function behind tasks/get, notifications/tasks and the kubectl plugin. It already
// counts what spec says and status has not caught up with: an answered question is gone, a requested cancel shows in the message,
// and a task the controller has not seen yet is working. Nothing but pollIntervalMs depends on now.
func Wire(t *v1alpha1.MCPTask, now time.Time) Detailed {
	d := Detailed{Created: WireCreated(t, now)}
	switch d.Status {
	case v1alpha1.StateCompleted:
		d.Result = json.RawMessage(t.Status.Result)
	case v1alpha1.StateFailed:
		d.Error = wireError(t.Status.Error)
	case v1alpha1.StateInputRequired:
		d.InputRequests = inputRequests(t)
	}
	return d
}

// WireCreated is the part of Wire that an answer to tools/call may carry: the task without result, error and inputRequests.
func WireCreated(t *v1alpha1.MCPTask, now time.Time) Created {
	state, message := current(t)
	c := Created{
		TaskID:         t.Name,
		Status:         state,
		StatusMessage:  message,
		CreatedAt:      t.CreationTimestamp.UTC().Format(timeLayout),
		LastUpdatedAt:  lastUpdated(t).UTC().Format(timeLayout),
		PollIntervalMs: ceilMs(PollInterval(t, now)),
	}
	if ttl := TTL(t); ttl != nil {
		ms := ceilMs(*ttl)
		c.TTLMs = &ms
	}
	return c
}

// OpenQuestions are the questions that nobody has answered yet, by key. A finished task, and one that somebody asked to cancel,
// has none: whoever wants it stopped need not be asked.
func OpenQuestions(t *v1alpha1.MCPTask) map[string]v1alpha1.Question {
	if t.Status.State.Terminal() || t.Spec.Cancel != nil {
		return nil
	}
	open := make(map[string]v1alpha1.Question, len(t.Status.Questions))
	for key, q := range t.Status.Questions {
		if _, answered := t.Spec.Answers[key]; !answered {
			open[key] = q
		}
	}
	return open
}

// current is the state and message that a client sees now.
func current(t *v1alpha1.MCPTask) (v1alpha1.TaskState, string) {
	state, message := t.Status.State, t.Status.Message
	switch {
	case state.Terminal():
	case t.Spec.Cancel != nil:
		state = v1alpha1.StateWorking
		// Once the controller has taken up the cancel, its message says more.
		if t.Status.Reason != v1alpha1.ReasonCancelling {
			message = cancelMessage(t.Spec.Cancel)
		}
	case len(OpenQuestions(t)) > 0:
		state = v1alpha1.StateInputRequired
	case state == v1alpha1.StateInputRequired:
		state, message = v1alpha1.StateWorking, messageAnswered
	case state == "":
		state, message = v1alpha1.StateWorking, messageAccepted
	}
	return state, message
}

// cancelMessage says that a cancel is being carried out, and why.
func cancelMessage(c *v1alpha1.Cancellation) string {
	if c.Reason == "" {
		return "Cancel requested; stopping the work."
	}
	return "Cancel requested; stopping the work: " + c.Reason
}

// lastUpdated is when anything that a client sees last changed. What is written to spec counts at once, but not after the end:
// nothing changes then.
func lastUpdated(t *v1alpha1.MCPTask) time.Time {
	last := t.CreationTimestamp.Time
	later := func(at time.Time) {
		if at.After(last) {
			last = at
		}
	}
	if at := t.Status.LastUpdatedAt; at != nil {
		later(at.Time)
	}
	if t.Status.State.Terminal() {
		return last
	}
	for _, answer := range t.Spec.Answers {
		later(answer.At.Time)
	}
	if t.Spec.Cancel != nil {
		later(t.Spec.Cancel.At.Time)
	}
	return last
}

func wireError(e *v1alpha1.TaskError) *Error {
	// The API server lets no failed task be without an error; a client is told something sensible all the same.
	if e == nil {
		return &Error{Code: codeInternal, Message: "The call failed, and the record does not say why."}
	}
	w := &Error{Code: e.Code, Message: e.Message}
	if e.Data != "" {
		w.Data = json.RawMessage(e.Data)
	}
	return w
}

// codeInternal is JSON-RPC's "Internal error", the code of every call that could not be carried out.
const codeInternal = -32603

func inputRequests(t *v1alpha1.MCPTask) map[string]InputRequest {
	open := OpenQuestions(t)
	requests := make(map[string]InputRequest, len(open))
	for key, q := range open {
		requests[key] = NewInputRequest(q.Message, q.RequestedSchema)
	}
	return requests
}

// NewInputRequest is a question as it goes over the wire. requestedSchema is JSON.
func NewInputRequest(message, requestedSchema string) InputRequest {
	return InputRequest{
		Method: "elicitation/create",
		Params: ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(requestedSchema)},
	}
}

// ceilMs rounds up to whole milliseconds.
func ceilMs(d time.Duration) int64 {
	ms := d.Milliseconds()
	if time.Duration(ms)*time.Millisecond < d {
		ms++
	}
	return ms
}
