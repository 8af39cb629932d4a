package front

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

const (
	// maxBody is the largest body that is read. It holds the largest arguments eight times over.
	maxBody = 1 << 20
	// bodyTimeout is how long a client may take to send its body.
	bodyTimeout = 30 * time.Second
)

// checkMedia looks at what the client sends and what it can read (streamable-http, "Sending Messages" 2). Answers come as JSON
// or as a stream, so a client has to take both; one that says nothing takes everything.
func checkMedia(header http.Header) (status int, err *wire.Error) {
	if !isJSON(header.Get("Content-Type")) {
		return http.StatusUnsupportedMediaType, wire.InvalidRequest("Content-Type must be application/json")
	}
	if encoding := header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return http.StatusUnsupportedMediaType, wire.InvalidRequest("The body must not be compressed")
	}
	if accept := header.Values("Accept"); len(accept) > 0 && !acceptsBoth(accept) {
		return http.StatusNotAcceptable, wire.InvalidRequest("Accept must contain application/json and text/event-stream")
	}
	return 0, nil
}

func isJSON(contentType string) bool {
	if contentType == "application/json" { // as nearly all clients write it
		return true
	}
	got, _, err := mime.ParseMediaType(contentType)
	return err == nil && got == "application/json"
}

// acceptsBoth reports whether the lines of an Accept header take JSON as well as streams.
func acceptsBoth(accept []string) bool {
	var json, stream bool
	for _, line := range accept {
		for element := range strings.SplitSeq(line, ",") {
			switch mediaRange(element) {
			case "*/*":
				return true
			case "application/*", "application/json":
				json = true
			case "text/*", "text/event-stream":
				stream = true
			}
		}
	}
	return json && stream
}

// mediaRange is one element of an Accept header without its parameters; empty where it takes nothing.
func mediaRange(element string) string {
	if !strings.Contains(element, ";") {
		return strings.ToLower(strings.TrimSpace(element))
	}
	got, parameters, err := mime.ParseMediaType(element)
	if err != nil || parameters["q"] == "0" {
		return ""
	}
	return got
}

// readBody reads the body, at most maxBody of it and no longer than bodyTimeout.
func readBody(w http.ResponseWriter, r *http.Request) (body []byte, status int, rpcError *wire.Error) {
	if r.ContentLength > maxBody {
		return nil, http.StatusRequestEntityTooLarge, tooLarge()
	}
	controller := http.NewResponseController(w)
	// The deadline is lifted again below: net/http would take its passing for the client hanging up. Connections without deadlines
	// are those of tests.
	_ = controller.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	tooMany := (*http.MaxBytesError)(nil)
	switch {
	case errors.As(err, &tooMany):
		return nil, http.StatusRequestEntityTooLarge, tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, http.StatusRequestTimeout, wire.InvalidRequest("The body did not arrive within %s", bodyTimeout)
	case err != nil:
		return nil, http.StatusBadRequest, wire.InvalidRequest("The body could not be read")
	}
	_ = controller.SetReadDeadline(time.Time{})
	return body, 0, nil
}

func tooLarge() *wire.Error { return wire.InvalidRequest("The body is larger than %d bytes", maxBody) }
