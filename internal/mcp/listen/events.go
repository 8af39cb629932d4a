package listen

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// events writes server-sent events to one client. Each is on its way when its method returns.
type events struct {
	w          http.ResponseWriter
	controller *http.ResponseController
	// timeout is how long the client may take to receive one of them.
	timeout time.Duration
}

func newEvents(w http.ResponseWriter, timeout time.Duration) *events {
	return &events{w: w, controller: http.NewResponseController(w), timeout: timeout}
}

// begin sends the headers and the first message together.
func (e *events) begin(first message) error {
	header := e.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Accel-Buffering", "no") // nginx would keep the stream to itself
	e.w.WriteHeader(http.StatusOK)
	return e.send(first)
}

// send sends a message. Its JSON has no line breaks, so that it is one event.
func (e *events) send(m message) error {
	return e.write(bytes.Join([][]byte{[]byte("event: message\ndata: "), m.body, []byte("\n\n")}, nil))
}

// comment sends a line that clients ignore and proxies count.
func (e *events) comment() error { return e.write([]byte(":\n\n")) }

// errStalled says that a client did not receive an event in time.
var errStalled = errors.New("the client stands still")

// write gives every event a deadline of its own. There is none in between: a stream may be silent, but its client may not
// stand still.
func (e *events) write(event []byte) error {
	begin := time.Now()
	err := e.writeBy(begin.Add(e.timeout), event)
	if err != nil && time.Since(begin) >= e.timeout {
		return errStalled // HTTP/2 does not say so itself
	}
	return err
}

func (e *events) writeBy(deadline time.Time, event []byte) error {
	if err := e.controller.SetWriteDeadline(deadline); err != nil {
		return fmt.Errorf("set a deadline: %w", err)
	}
	if _, err := e.w.Write(event); err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	if err := e.controller.Flush(); err != nil {
		return fmt.Errorf("flush an event: %w", err)
	}
	if err := e.controller.SetWriteDeadline(time.Time{}); err != nil {
		return fmt.Errorf("lift the deadline: %w", err)
	}
	return nil
}
