package sdk

import (
	"net/http"
	"strings"

	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

// jsonErrors replaces the plain text with which the SDK turns requests away by JSON-RPC errors.
type jsonErrors struct {
	http.ResponseWriter
	replaced bool
}

// Unwrap lets http.ResponseController reach the connection.
func (w *jsonErrors) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *jsonErrors) WriteHeader(status int) {
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

// Write implements http.ResponseWriter.
func (w *jsonErrors) Write(data []byte) (int, error) {
	if w.replaced {
		return len(data), nil // the text that was replaced
	}
	return w.ResponseWriter.Write(data)
}
