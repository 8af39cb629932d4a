package front

import (
	"sync"
	"time"

	"github.com/mcptasks/mcptasks/internal/mcp/sse"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

const (
	// streamAfter is how long a call is waited for before its answer becomes a stream. Quick calls get plain JSON; slow ones get
	// their headers out before some proxy loses its patience.
	streamAfter = 5 * time.Second
	// keepAlive is the pause between two comments on a stream on which nothing else happens.
	keepAlive = 15 * time.Second
)

// answer is the answer to a tools/call that may have to be waited for: one JSON object, or a stream of events that ends with it
// (streamable-http, "Receiving Messages"). It becomes a stream with the first progress notification or after streamAfter.
type answer struct {
	handler  *Handler
	exchange *exchange
	events   *sse.Writer

	mu        sync.Mutex
	timer     *time.Timer // nil until the wait begins; then what happens next: the stream's begin or its next comment
	streaming bool
	closed    bool
	told      int64
}

func (h *Handler) newAnswer(e *exchange) *answer {
	return &answer{handler: h, exchange: e, events: sse.New(e.w, sse.DefaultTimeout)}
}

// progress notes that the call is being waited for and, if the client asked for it, sends the message as progress.
func (a *answer) progress(message string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer == nil {
		a.timer = time.AfterFunc(streamAfter, a.keepAlive)
	}
	if token := a.exchange.meta.ProgressToken; token != nil {
		a.told++
		if notification, err := wire.Marshal(wire.Progress(token, a.told, message)); err == nil {
			a.send(notification)
		}
	}
}

// succeed answers with a result.
func (a *answer) succeed(result any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.streaming {
		a.handler.succeed(a.exchange, result)
		return
	}
	body, err := wire.EncodeResult(a.exchange.request.ID, result)
	if err != nil {
		a.failStream(err)
		return
	}
	a.send(body)
}

// fail answers with an error.
func (a *answer) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.streaming {
		a.handler.fail(a.exchange, err)
		return
	}
	a.failStream(err)
}

func (a *answer) failStream(err error) {
	if answer, gone := a.handler.explain(a.exchange, err); !gone {
		a.send(wire.EncodeError(a.exchange.request.ID, answer))
	}
}

// close ends the keep-alive comments; nothing is written after it.
func (a *answer) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.timer != nil {
		a.timer.Stop()
	}
}

// keepAlive writes a comment, which clients ignore and proxies count.
func (a *answer) keepAlive() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.streaming = true
	_ = a.events.Comment()
	a.timer.Reset(keepAlive)
}

// send writes one event to the stream, which it begins if need be. An error means that the client has gone, which the request's
// context says too.
func (a *answer) send(message []byte) {
	a.streaming = true
	_ = a.events.Message(message)
}
