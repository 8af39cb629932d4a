// Package sse writes answers that are streams: server-sent events, each of which is one JSON-RPC message (streamable-http,
// "Receiving Messages"). It knows how to get an event to its client at once, through proxies too, and how to get rid of a
// client that does not take it; it knows nothing of what is sent.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// DefaultTimeout is how long a client may take to receive one event.
const DefaultTimeout = 30 * time.Second

// ErrStalled says that a client did not receive an event in time.
var ErrStalled = errors.New("the client stands still")

// Writer writes one stream. Each event is on its way when the method that wrote it returns. A Writer is not safe for
// concurrent use.
type Writer struct {
	w          http.ResponseWriter
	controller *http.ResponseController
	timeout    time.Duration
	begun      bool
}

// New makes a Writer that gives its client timeout to receive an event. Nothing is sent before the first event, and the
// headers together with it.
func New(w http.ResponseWriter, timeout time.Duration) *Writer {
	return &Writer{w: w, controller: http.NewResponseController(w), timeout: timeout}
}

// Message sends a JSON-RPC message. Its JSON must not have line breaks.
func (w *Writer) Message(body []byte) error {
	return w.write(bytes.Join([][]byte{[]byte("event: message\ndata: "), body, []byte("\n\n")}, nil))
}

// Comment sends a line that clients ignore and proxies count.
func (w *Writer) Comment() error { return w.write([]byte(":\n\n")) }

// write gives every event a deadline of its own. There is none in between: a stream may be silent, but its client may not
// stand still. Connections without deadlines are those of tests.
func (w *Writer) write(event []byte) error {
	begin := time.Now()
	_ = w.controller.SetWriteDeadline(begin.Add(w.timeout))
	err := w.writeNow(event)
	if err != nil && time.Since(begin) >= w.timeout {
		return ErrStalled // HTTP/2 does not say so itself
	}
	_ = w.controller.SetWriteDeadline(time.Time{})
	return err
}

func (w *Writer) writeNow(event []byte) error {
	if !w.begun {
		w.begun = true
		header := w.w.Header()
		header.Set("Content-Type", "text/event-stream")
		header.Set("Cache-Control", "no-cache")
		header.Set("X-Accel-Buffering", "no") // nginx would keep the stream to itself
		w.w.WriteHeader(http.StatusOK)
	}
	if _, err := w.w.Write(event); err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	if err := w.controller.Flush(); err != nil {
		return fmt.Errorf("flush an event: %w", err)
	}
	return nil
}
