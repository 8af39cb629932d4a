package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// Filter says what to listen to.
type Filter struct {
	// ToolsListChanged asks for changes of tools/list.
	ToolsListChanged bool `json:"toolsListChanged,omitempty"`
	// TaskIDs asks for changes of these tasks. nil is not the same as none: that asks, too.
	TaskIDs []string `json:"taskIds,omitzero"`
}

// Listener is an open subscriptions/listen. Only Close may be called while Next waits.
type Listener struct {
	// Honoured is the part of the filter that the endpoint honours.
	Honoured Filter

	id     json.RawMessage
	events *bufio.Reader
	body   io.Closer
}

// Event is what a Listener hears.
type Event struct {
	// Method is the notification's.
	Method string
	// Params are the notification's.
	Params json.RawMessage
	// Task is the task of notifications/tasks, else nil.
	Task *Task
}

// Listen opens a stream of notifications and returns when the endpoint has said what it will send. It ends with ctx, by
// Close, or when the endpoint ends it.
func (c *Client) Listen(ctx context.Context, filter Filter) (*Listener, error) {
	body, header, err := c.Encode("subscriptions/listen", "", map[string]any{"notifications": filter})
	if err != nil {
		return nil, err
	}
	var sent message
	if err := json.Unmarshal(body, &sent); err != nil {
		return nil, err
	}
	response, err := c.Send(ctx, body, header) //nolint:bodyclose // it is what the Listener closes
	if err != nil {
		return nil, fmt.Errorf("subscriptions/listen: %w", err)
	}
	l := &Listener{id: sent.ID, events: bufio.NewReader(response.Body), body: response.Body}
	if err := l.begin(c, response); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Listener) begin(c *Client, response *http.Response) error {
	if contentType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); contentType != "text/event-stream" {
		result, err := c.decode(response)
		if err != nil {
			return err
		}
		return fmt.Errorf("subscriptions/listen was answered by %s instead of a stream", result)
	}
	first, err := l.Next()
	if err != nil {
		return err
	}
	var acknowledged struct {
		Notifications *Filter `json:"notifications"`
	}
	if err := json.Unmarshal(first.Params, &acknowledged); err != nil {
		return fmt.Errorf("decode the acknowledgement: %w", err)
	}
	if first.Method != "notifications/subscriptions/acknowledged" || acknowledged.Notifications == nil {
		return fmt.Errorf("the stream begins with %s %s", first.Method, first.Params)
	}
	l.Honoured = *acknowledged.Notifications
	return nil
}

// Next waits for the next notification. It returns io.EOF when the endpoint has ended the stream as it should, with the
// result of the request, and another error when the stream broke.
func (l *Listener) Next() (*Event, error) {
	m, err := readEvent(l.events)
	switch {
	case errors.Is(err, io.EOF):
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	case m.Method == "":
		return nil, l.end(m)
	}
	if err := l.checkID(m.Params); err != nil {
		return nil, fmt.Errorf("%s: %w", m.Method, err)
	}
	event := &Event{Method: m.Method, Params: m.Params}
	if m.Method == "notifications/tasks" {
		event.Task = &Task{}
		if err := json.Unmarshal(m.Params, event.Task); err != nil {
			return nil, fmt.Errorf("decode %s: %w", m.Method, err)
		}
	}
	return event, nil
}

// Close hangs up.
func (l *Listener) Close() error { return l.body.Close() }

// end is io.EOF if the message is the result of the request and nothing follows.
func (l *Listener) end(m message) error {
	result, err := m.outcome(http.StatusOK)
	if err != nil {
		return err
	}
	if !bytes.Equal(m.ID, l.id) {
		return fmt.Errorf("the result of request %s on the stream of request %s", m.ID, l.id)
	}
	if err := l.checkID(result); err != nil {
		return fmt.Errorf("the result: %w", err)
	}
	if _, err := readEvent(l.events); !errors.Is(err, io.EOF) {
		return fmt.Errorf("something follows the result: %w", err)
	}
	return io.EOF
}

// checkID checks that a message names the subscription that it is sent for.
func (l *Listener) checkID(params json.RawMessage) error {
	var body struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(params, &body); err != nil {
		return fmt.Errorf("decode _meta: %w", err)
	}
	if id := body.Meta["io.modelcontextprotocol/subscriptionId"]; !bytes.Equal(id, l.id) {
		return fmt.Errorf("subscriptionId %s on the stream of request %s", id, l.id)
	}
	return nil
}
