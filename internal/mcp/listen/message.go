package listen

import (
	"encoding/json"

	"github.com/mcptasks/mcptasks/internal/mcp/wire"
	"github.com/mcptasks/mcptasks/internal/task"
)

// What is sent on a stream, beside the final result. notifications/progress and notifications/message never are: they belong
// to other streams.
const (
	notifyAcknowledged = "notifications/subscriptions/acknowledged"
	notifyTask         = "notifications/tasks"
	notifyTools        = "notifications/tools/list_changed"
)

// message is one JSON-RPC message as it is sent.
type message struct {
	// method is the notification's; empty for the result.
	method string
	body   []byte
}

// subscription is the _meta of everything on a stream: it names the listen request by its id, byte for byte as it came.
type subscription struct {
	ID json.RawMessage `json:"io.modelcontextprotocol/subscriptionId"`
}

// accepted is the part of the filter that is honoured. What was not asked for is left out; an empty list of tasks is one
// that was asked for and has none that the client may see.
type accepted struct {
	ToolsListChanged bool     `json:"toolsListChanged,omitempty"`
	TaskIDs          []string `json:"taskIds,omitzero"`
}

func acknowledgement(of subscription, what accepted) (message, error) {
	return notification(notifyAcknowledged, struct {
		Meta          subscription `json:"_meta"`
		Notifications accepted     `json:"notifications"`
	}{of, what})
}

// taskChanged says all that tasks/get would say now. It has no resultType: it is not a result.
func taskChanged(of subscription, now task.Detailed) (message, error) {
	return notification(notifyTask, struct {
		Meta subscription `json:"_meta"`
		task.Detailed
	}{of, now})
}

func toolsChanged(of subscription) (message, error) {
	return notification(notifyTools, struct {
		Meta subscription `json:"_meta"`
	}{of})
}

func notification(method string, params any) (message, error) {
	body, err := wire.Marshal(struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params})
	return message{method, body}, err
}

// result is the answer to the listen request, with which the server ends a stream.
func result(of subscription, server wire.Server) (message, error) {
	type meta struct {
		wire.ResultMeta
		subscription
	}
	header := server.Complete()
	body, err := wire.EncodeResult(of.ID, struct {
		ResultType string `json:"resultType"`
		Meta       meta   `json:"_meta"`
	}{header.ResultType, meta{header.Meta, of}})
	return message{body: body}, err
}
