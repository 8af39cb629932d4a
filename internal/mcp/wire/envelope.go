package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// Request is one JSON-RPC request or notification, parsed once. Raw values are the sender's bytes: parts of the body.
type Request struct {
	// ID is the request's id as it was sent, a JSON string or integer; nil for a notification. It goes back byte for byte, so
	// that no integer changes its value on the way.
	ID json.RawMessage
	// Method is the method's name.
	Method string
	// Params are the parameters.
	Params Params
}

// Params are the members of params that any method of this endpoint reads, each nil where it is absent. Methods check the types.
type Params struct {
	Meta, Name, URI, Arguments, Cursor, TaskID, InputResponses, RequestState, Notifications json.RawMessage
}

func (p *Params) read(object []byte) error {
	return ReadMembers(object,
		Member{"_meta", &p.Meta}, Member{"name", &p.Name}, Member{"uri", &p.URI}, Member{"arguments", &p.Arguments},
		Member{"cursor", &p.Cursor}, Member{"taskId", &p.TaskID}, Member{"inputResponses", &p.InputResponses},
		Member{"requestState", &p.RequestState}, Member{"notifications", &p.Notifications})
}

// IsNotification reports whether nobody waits for an answer.
func (r *Request) IsNotification() bool { return r.ID == nil }

// Parse reads a POST body: exactly one JSON-RPC request or notification (streamable-http, "Sending Messages"). Batches and
// responses are refused. With an error it still returns the request where its id could be read, so that the error can carry it.
//
// Member names are matched case-sensitively and a member that is given twice is refused: what we check is what we run.
func Parse(body []byte) (*Request, *Error) {
	switch {
	case !utf8.Valid(body) || !json.Valid(body):
		return nil, &Error{Code: CodeParseError, Message: "Parse error: the body is not JSON in UTF-8"}
	case kindOf(body) != kindObject:
		return nil, InvalidRequest("The body must be one JSON-RPC request object; batches are not supported")
	}
	var version, id, method, params json.RawMessage
	err := ReadMembers(body,
		Member{"jsonrpc", &version}, Member{"id", &id}, Member{"method", &method}, Member{"params", &params})
	if err != nil {
		return nil, InvalidRequest("The request %s", err)
	}
	if id != nil && !validID(id) {
		return nil, InvalidRequest("The request's id must be a string or an integer")
	}
	request := &Request{ID: id}
	if string(version) != `"2.0"` {
		return request, InvalidRequest(`The request must have "jsonrpc": "2.0"`)
	}
	if !decodeString(method, &request.Method) {
		return request, InvalidRequest("The request must have a method, which is a string")
	}
	if request.IsNotification() && !strings.HasPrefix(request.Method, notificationSpace) {
		return request, InvalidRequest("The request has no id")
	}
	if params != nil {
		if kindOf(params) != kindObject {
			return request, InvalidParams("params must be an object")
		}
		if err := request.Params.read(params); err != nil {
			return request, InvalidParams("params %s", err)
		}
	}
	return request, nil
}

// String reads a parameter of a request that must be a string. ok is false where it is absent or of another type.
func String(raw json.RawMessage) (value string, ok bool) {
	ok = decodeString(raw, &value)
	return value, ok
}

// IsObject reports whether raw is a JSON object.
func IsObject(raw json.RawMessage) bool { return kindOf(raw) == kindObject }

type kind byte

const (
	kindNone   kind = 0
	kindObject kind = '{'
	kindString kind = '"'
)

// kindOf tells a JSON value's type by its first byte.
func kindOf(raw []byte) kind {
	if raw = trimSpace(raw); len(raw) == 0 {
		return kindNone
	}
	return kind(raw[0])
}

// What ReadMembers finds wrong. The texts continue a sentence whose subject is the value.
var (
	errSyntax    = errors.New("is not JSON")
	errType      = errors.New("is malformed")
	errDuplicate = errors.New("has a member twice")
)

// decodeString reads a value of a request. One without escapes is itself, if it is UTF-8: what is not, comes out as U+FFFD.
func decodeString(raw json.RawMessage, target *string) bool {
	if kindOf(raw) != kindString {
		return false
	}
	if n := len(raw); n >= 2 && raw[0] == '"' && raw[n-1] == '"' && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		*target = string(raw[1 : n-1])
		return true
	}
	return json.Unmarshal(raw, target) == nil
}

// validID accepts what RequestId allows: a string or an integer (0 and "" included), never null.
func validID(raw json.RawMessage) bool {
	if kindOf(raw) == kindString {
		return true
	}
	digits := bytes.TrimPrefix(raw, []byte("-"))
	return len(digits) > 0 && len(bytes.Trim(digits, "0123456789")) == 0
}
