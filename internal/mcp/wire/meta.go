package wire

import (
	"encoding/json"
	"regexp"
)

// Keys of _meta in requests and results.
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	// MetaIdempotencyKey is our own: calls of one tool with the same key by the same caller are one call, however often it is sent.
	MetaIdempotencyKey = "mcptasks.dev/idempotency-key"
)

// Meta is what a request says of itself. Nothing is remembered from one request to the next: capabilities count for the request
// that declares them.
type Meta struct {
	// ProtocolVersion is the revision that the request follows.
	ProtocolVersion string
	// Tasks tells whether the request declares the Tasks extension: its settings are an object.
	Tasks bool
	// Forms tells whether the request declares elicitation by forms.
	Forms bool
	// ProgressToken is the string or number to send progress with, as it was sent; nil where none is wanted.
	ProgressToken json.RawMessage
	// Traceparent is the W3C trace context, or empty where there is none or it is malformed.
	Traceparent string
	// IdempotencyKey is what stands under MetaIdempotencyKey, as it was sent; ReadIdempotencyKey reads it.
	IdempotencyKey json.RawMessage
}

// HasProtocolVersion reports whether a request's _meta names a protocol version at all, of whatever type: what makes it modern.
func HasProtocolVersion(meta json.RawMessage) bool {
	var version json.RawMessage
	return ReadMembers(meta, Member{MetaProtocolVersion, &version}) == nil && version != nil
}

// ParseMeta reads a modern request's _meta. A required field that is missing or has the wrong type is -32602 (basic/index,
// "Per-request protocol fields"); clientInfo is not required, and not read.
func ParseMeta(raw json.RawMessage) (Meta, *Error) {
	if raw == nil {
		return Meta{}, InvalidParams("Missing required params._meta with %s and %s", MetaProtocolVersion, MetaClientCapabilities)
	}
	if kindOf(raw) != kindObject {
		return Meta{}, InvalidParams("params._meta must be an object")
	}
	var meta Meta
	var version, capabilities, traceparent json.RawMessage
	err := ReadMembers(raw,
		Member{MetaProtocolVersion, &version}, Member{MetaClientCapabilities, &capabilities},
		Member{"progressToken", &meta.ProgressToken}, Member{"traceparent", &traceparent},
		Member{MetaIdempotencyKey, &meta.IdempotencyKey})
	if err != nil {
		return Meta{}, InvalidParams("params._meta %s", err)
	}
	switch {
	case version == nil:
		return Meta{}, InvalidParams("Missing required _meta field: %s", MetaProtocolVersion)
	case !decodeString(version, &meta.ProtocolVersion):
		return Meta{}, InvalidParams("The _meta field %s must be a string", MetaProtocolVersion)
	case capabilities == nil:
		return Meta{}, InvalidParams("Missing required _meta field: %s", MetaClientCapabilities)
	case kindOf(capabilities) != kindObject:
		return Meta{}, InvalidParams("The _meta field %s must be an object", MetaClientCapabilities)
	case meta.ProgressToken != nil && !validProgressToken(meta.ProgressToken):
		return Meta{}, InvalidParams("The _meta field progressToken must be a string or a number")
	}
	var extensions, elicitation json.RawMessage
	if ReadMembers(capabilities, Member{"extensions", &extensions}, Member{"elicitation", &elicitation}) == nil {
		meta.Tasks, meta.Forms = declaresTasks(extensions), declaresForms(elicitation)
	}
	if value, ok := String(traceparent); ok {
		meta.Traceparent = ValidTraceparent(value)
	}
	return meta, nil
}

// declaresTasks looks for the extension where SEP-2663 puts it, and nowhere else: the tasks capability of 2025-11-25 does not
// count.
func declaresTasks(raw json.RawMessage) bool {
	var tasks json.RawMessage
	return ReadMembers(raw, Member{TasksExtension, &tasks}) == nil && kindOf(tasks) == kindObject
}

func validProgressToken(raw json.RawMessage) bool {
	k := kindOf(raw)
	return k == kindString || k == '-' || (k >= '0' && k <= '9')
}

// maxIdempotencyKey is the most characters that an idempotency key may have.
const maxIdempotencyKey = 256

// ReadIdempotencyKey reads what a call has under MetaIdempotencyKey; nil is no key. Keys are of visible ASCII characters, so that
// two that look the same are the same. Any other is refused: a caller that relies on its key must not find it ignored.
func ReadIdempotencyKey(raw json.RawMessage) (string, error) {
	if raw == nil {
		return "", nil
	}
	var key string
	ok := decodeString(raw, &key) && key != "" && len(key) <= maxIdempotencyKey
	for _, c := range []byte(key) {
		ok = ok && c > ' ' && c <= '~'
	}
	if !ok {
		return "", InvalidParams("The _meta field %s must be a string of 1 to %d visible ASCII characters",
			MetaIdempotencyKey, maxIdempotencyKey)
	}
	return key, nil
}

var traceparentFormat = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// ValidTraceparent returns value where it has the form that W3C Trace Context gives version 00, and nothing where it has not: a
// malformed context is dropped, never an error.
func ValidTraceparent(value string) string {
	if !traceparentFormat.MatchString(value) {
		return ""
	}
	return value
}
