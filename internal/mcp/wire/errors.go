package wire

import (
	"fmt"
	"net/http"
	"time"
)

// JSON-RPC error codes of MCP 2026-07-28 (basic/index, "Error Codes"). No other code is ever sent, but for those that a task
// carries in its own error.
const (
	// CodeParseError: the body is not JSON.
	CodeParseError = -32700
	// CodeInvalidRequest: the body is JSON, but not one JSON-RPC request or notification.
	CodeInvalidRequest = -32600
	// CodeMethodNotFound: the method is unknown, removed, or belongs to a capability that is not offered.
	CodeMethodNotFound = -32601
	// CodeInvalidParams: parameters are missing or malformed, or name something that does not exist.
	CodeInvalidParams = -32602
	// CodeInternalError: the request was good and could not be carried out.
	CodeInternalError = -32603
	// CodeHeaderMismatch: a header that mirrors the body is missing, malformed or different.
	CodeHeaderMismatch = -32020
	// CodeMissingCapability: the request needs a capability that it did not declare.
	CodeMissingCapability = -32021
	// CodeUnsupportedVersion: the protocol version is not served.
	CodeUnsupportedVersion = -32022
)

// Error is a JSON-RPC error object. Message is one sentence for the caller: what is wrong and, where it helps, what to do.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`

	// status is the HTTP status where it does not follow from the code; 0: it does.
	status int
	// retryAfter is what the header of that name says; 0: it is not there.
	retryAfter time.Duration
	// cause is for the log and not for the client.
	cause error
}

// Because adds what is for the log and not for the client.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// Cause is what is to be logged; nil: nothing is.
func (e *Error) Cause() error { return e.cause }

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// HTTPStatus is the status that goes with the error in a modern exchange. The revision fixes it for most codes; for -32602 and
// -32603 it leaves the choice, which here is that of the official Go and Python SDKs. Errors of limits have their own.
func (e *Error) HTTPStatus() int {
	if e.status != 0 {
		return e.status
	}
	switch e.Code {
	case CodeMethodNotFound:
		return http.StatusNotFound
	case CodeInternalError:
		return http.StatusOK
	case CodeParseError, CodeInvalidRequest, CodeInvalidParams,
		CodeHeaderMismatch, CodeMissingCapability, CodeUnsupportedVersion:
		return http.StatusBadRequest
	default: // an error that a task carries
		return http.StatusOK
	}
}

// InvalidRequest is -32600 with a formatted message.
func InvalidRequest(format string, args ...any) *Error {
	return &Error{Code: CodeInvalidRequest, Message: fmt.Sprintf(format, args...)}
}

// InvalidParams is -32602 with a formatted message.
func InvalidParams(format string, args ...any) *Error {
	return &Error{Code: CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// Internal is -32603 with a formatted message. reason, where not empty, goes into data.reason for programs.
func Internal(reason, format string, args ...any) *Error {
	err := &Error{Code: CodeInternalError, Message: fmt.Sprintf(format, args...)}
	if reason != "" {
		err.Data = map[string]string{"reason": reason}
	}
	return err
}

// Unexpected is the -32603 for trouble of ours, of which the client learns no more. The cause belongs into the log.
func Unexpected() *Error {
	return Internal("", "The request could not be carried out just now; try again, and if it stays so, tell the platform team")
}

// Limited is the -32603, with HTTP 429, for a caller that has used up its share. The message says of what, and what to do but to
// try again after the given time, which is more than 0.
func Limited(reason string, retryAfter time.Duration, format string, args ...any) *Error {
	err := Internal(reason, format, args...)
	err.status, err.retryAfter = http.StatusTooManyRequests, retryAfter
	return err
}

// Unavailable is the -32603, with HTTP 503, for what nobody can have just now, to be tried again after the given time, which is
// more than 0.
func Unavailable(reason string, retryAfter time.Duration, format string, args ...any) *Error {
	err := Internal(reason, format, args...)
	err.status, err.retryAfter = http.StatusServiceUnavailable, retryAfter
	return err
}

// MethodNotFound is -32601.
func MethodNotFound() *Error {
	return &Error{Code: CodeMethodNotFound, Message: "Method not found"}
}

// TaskNotFound is the one answer to a task id that is malformed, unknown, purged or somebody else's. The cases must not be told
// apart, or an id would tell strangers that a task exists.
func TaskNotFound() *Error {
	return &Error{Code: CodeInvalidParams, Message: "Failed to retrieve task: Task not found"}
}

// ResourceNotFound is the answer to a URI of which nothing can be read (server/resources, "Error Handling"), with words that say
// why. Where the URI is malformed, unknown, or that of something of somebody else's, these have to be the same: NoSuchResource.
func ResourceNotFound(uri, message string) *Error {
	return &Error{Code: CodeInvalidParams, Message: message, Data: map[string]string{"uri": uri}}
}

// NoSuchResource is the message of a ResourceNotFound that says nothing.
const NoSuchResource = "Resource not found"

// HeaderMismatch is -32020 with a formatted message.
func HeaderMismatch(format string, args ...any) *Error {
	return &Error{Code: CodeHeaderMismatch, Message: "Header mismatch: " + fmt.Sprintf(format, args...)}
}

// MissingTasksCapability is -32021 for a request that needs the Tasks extension and did not declare it.
func MissingTasksCapability() *Error { return MissingCapabilities(true, false) }

// UnsupportedVersion is -32022 for a request whose _meta names the protocol version requested.
func UnsupportedVersion(requested string) *Error {
	message := "Unsupported protocol version"
	if IsLegacyVersion(requested) {
		message += ": this version begins with initialize and has no per-request _meta"
	}
	return &Error{
		Code:    CodeUnsupportedVersion,
		Message: message,
		Data:    map[string]any{"supported": []string{Modern}, "requested": requested},
	}
}
