package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	kjson "sigs.k8s.io/json"
)

// Request is one JSON-RPC request or notification, parsed once. Raw values are the sender's bytes.
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
	Meta           json.RawMessage `json:"_meta"`
	Name           json.RawMessage `json:"name"`
	URI            json.RawMessage `json:"uri"`
	Arguments      json.RawMessage `json:"arguments"`
	Cursor         json.RawMessage `json:"cursor"`
	TaskID         json.RawMessage `json:"taskId"`
	InputResponses json.RawMessage `json:"inputResponses"`
	RequestState   json.RawMessage `json:"requestState"`
	Notifications  json.RawMessage `json:"notifications"`
}

// IsNotification reports whether nobody waits for an answer.
func (r *Request) IsNotification() bool { return r.ID == nil }

// Parse reads a POST body: exactly one JSON-RPC request or notification (streamable-http, "Sending Messages"). Batches and
// responses are refused. With an error it still returns the request where its id could be read, so that the error can carry it.
//
// Member names are matched case-sensitively and a member that is given twice is refused: what we check is what we run.
func Parse(body []byte) (*Request, *Error) {
	var envelope struct {
		Version json.RawMessage `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  json.RawMessage `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	err := decode(body, &envelope)
	switch {
	case !utf8.Valid(body) || errors.Is(err, errSyntax):
		return nil, &Error{Code: CodeParseError, Message: "Parse error: the body is not JSON in UTF-8"}
	case kindOf(body) != kindObject:
		return nil, InvalidRequest("The body must be one JSON-RPC request object; batches are not supported")
	case err != nil:
		return nil, InvalidRequest("The request %s", err)
	}
	if envelope.ID != nil && !validID(envelope.ID) {
		return nil, InvalidRequest("The request's id must be a string or an integer")
	}
	request := &Request{ID: envelope.ID}
	if string(envelope.Version) != `"2.0"` {
		return request, InvalidRequest(`The request must have "jsonrpc": "2.0"`)
	}
	if !decodeString(envelope.Method, &request.Method) {
		return request, InvalidRequest("The request must have a method, which is a string")
	}
	if request.IsNotification() && !strings.HasPrefix(request.Method, notificationSpace) {
		return request, InvalidRequest("The request has no id")
	}
	if envelope.Params != nil {
		if kindOf(envelope.Params) != kindObject {
			return request, InvalidParams("params must be an object")
		}
		if err := decode(envelope.Params, &request.Params); err != nil {
			return request, InvalidParams("params %s", err)
		}
	}
	return request, nil
}

// String reads a parameter that must be a string. ok is false where it is absent or of another type.
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
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return kindNone
	}
	return kind(raw[0])
}

// What decode finds wrong. The texts continue a sentence whose subject is the value.
var (
	errSyntax    = errors.New("is not JSON")
	errType      = errors.New("is malformed")
	errDuplicate = errors.New("has a member twice")
)

// decode fills target from JSON with case-sensitive names and without duplicates. Its errors show neither Go types nor what was
// sent.
func decode(raw []byte, target any) error {
	duplicates, err := kjson.UnmarshalStrict(raw, target, kjson.DisallowDuplicateFields)
	if isSyntax, _ := kjson.SyntaxErrorOffset(err); isSyntax {
		return errSyntax
	}
	switch {
	case err != nil:
		return errType
	case len(duplicates) > 0:
		return errDuplicate
	default:
		return nil
	}
}

func decodeString(raw json.RawMessage, target *string) bool {
	return kindOf(raw) == kindString && json.Unmarshal(raw, target) == nil
}

// validID accepts what RequestId allows: a string or an integer (0 and "" included), never null.
func validID(raw json.RawMessage) bool {
	if kindOf(raw) == kindString {
		return true
	}
	digits := bytes.TrimPrefix(raw, []byte("-"))
	return len(digits) > 0 && len(bytes.Trim(digits, "0123456789")) == 0
}
