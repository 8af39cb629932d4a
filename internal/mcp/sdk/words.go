package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/mcptasks/mcptasks/internal/mcp/guard"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

// inWordsOfTheEra says of a call that lacks a capability what a client of these eras can make of it: it has no request of its
// own to declare anything in, as the modern revision's words would have it.
func inWordsOfTheEra(err *wire.Error) *wire.Error {
	if err.Code != wire.CodeMissingCapability {
		return err
	}
	return &wire.Error{
		Code: err.Code,
		Message: "This tool runs as a task only, or asks questions, which this client's protocol revision cannot carry; nothing was " +
			"started. Call it from a client that speaks MCP " + wire.Modern + " with the Tasks extension",
		Data: err.Data,
	}
}

// exchange is what the handler of an HTTP exchange and that of its method have to know of each other.
type exchange struct {
	// http is the context of the HTTP exchange. The SDK cuts methods loose from it, since clients of these eras could come back to a
	// session; here there are none.
	http context.Context
	// version is the protocol revision that the client names in its header; clients of the oldest ones name none.
	version string
	// code is that of an error in words of ours; 0: the answer is none.
	code atomic.Int64
	// task is the task that the call became.
	task atomic.Value // string
}

// note puts into the record what became known. The method may still be running when the exchange is over.
func (e *exchange) note(record *guard.Record) {
	if code := e.code.Load(); code != 0 {
		record.Code = int(code)
	}
	record.Task, _ = e.task.Load().(string)
}

type exchangeKey struct{}

func withExchange(e *exchange) context.Context { return context.WithValue(e.http, exchangeKey{}, e) }

// exchangeOf returns the exchange that a method's context belongs to.
func exchangeOf(ctx context.Context) *exchange {
	if e, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return e
	}
	return &exchange{http: ctx}
}

// ownWords replaces what the SDK says by itself when it turns a request away: plain text, and errors that show its Go types and
// what was sent.
type ownWords struct {
	http.ResponseWriter
	exchange *exchange
	replaced bool
}

// Unwrap lets http.ResponseController reach the connection.
func (w *ownWords) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *ownWords) WriteHeader(status int) {
	if status < http.StatusBadRequest || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.replaced = true
	w.Header().Del("X-Content-Type-Options")
	err := wire.InvalidRequest("The request does not follow the protocol revision that it names")
	if status >= http.StatusInternalServerError {
		err = wire.Unexpected()
	}
	wire.WriteError(w.ResponseWriter, status, nil, err)
}

// Write implements http.ResponseWriter. The SDK writes each event at once.
func (w *ownWords) Write(data []byte) (int, error) {
	if w.replaced {
		return len(data), nil // the text that was replaced
	}
	if err := w.unexplained(data); err != nil {
		if _, err := w.ResponseWriter.Write(err); err != nil {
			return 0, err
		}
		return len(data), nil
	}
	return w.ResponseWriter.Write(data)
}

const (
	eventBegin = "event: message\ndata: "
	eventEnd   = "\n\n"
)

// unexplained returns the event to send in place of one with an error that the SDK has put into words, nil for all others.
func (w *ownWords) unexplained(event []byte) []byte {
	message, isEvent := bytes.CutPrefix(event, []byte(eventBegin))
	if !isEvent || w.exchange.code.Load() != 0 {
		return nil
	}
	var reply struct {
		ID    json.RawMessage `json:"id"`
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(message, &reply) != nil || reply.Error == nil {
		return nil
	}
	err := wire.InvalidParams("params is missing, or its members do not have the types that the protocol gives them")
	return append(append([]byte(eventBegin), wire.EncodeError(reply.ID, err)...), eventEnd...)
}
