package wire

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
)

// response is a JSON-RPC response. An id that could not be read is left out: MCP's schema forbids null.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// EncodeResult is the JSON-RPC response with a result.
func EncodeResult(id json.RawMessage, result any) (json.RawMessage, error) {
	return Marshal(response{Version: "2.0", ID: id, Result: result})
}

// EncodeError is the JSON-RPC response with an error. id may be nil.
func EncodeError(id json.RawMessage, rpcError *Error) json.RawMessage {
	body, err := Marshal(response{Version: "2.0", ID: id, Error: rpcError})
	if err != nil { // data that does not marshal is our mistake, and no reason to say nothing
		body, _ = Marshal(response{Version: "2.0", ID: id, Error: &Error{Code: rpcError.Code, Message: rpcError.Message}})
	}
	return body
}

// WriteError answers an HTTP exchange with a JSON-RPC error and the given status; id may be nil. An error in writing means that
// the client has gone, and is nobody's concern.
func WriteError(w http.ResponseWriter, status int, id json.RawMessage, rpcError *Error) {
	w.Header().Set("Content-Type", "application/json")
	if after := rpcError.retryAfter; after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	w.WriteHeader(status)
	_, _ = w.Write(EncodeError(id, rpcError))
}
