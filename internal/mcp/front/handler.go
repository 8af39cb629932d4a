package front

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/go-logr/logr"

	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/mcp/guard"
	"github.com/mcptasks/mcptasks/internal/mcp/listen"
	"github.com/mcptasks/mcptasks/internal/mcp/methods"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

// Config is what a Handler works with.
type Config struct {
	// Methods carries out requests.
	Methods *methods.Service
	// Listen serves subscriptions/listen.
	Listen *listen.Service
	// Legacy serves requests of the handshake eras; their envelope has been checked, and their method is one that is offered.
	Legacy http.Handler
	// Server is how the endpoint calls itself.
	Server wire.Server
	// Instructions are the hint for models in server/discover.
	Instructions string
	// LenientName accepts tasks/* without the header Mcp-Name, which some clients leave out. A differing one is always refused.
	LenientName bool
	// Logger logs what clients are not told.
	Logger logr.Logger
}

// Handler answers POST requests of authenticated callers.
type Handler struct {
	Config
}

// New makes a Handler.
func New(config Config) *Handler { return &Handler{config} }

// exchange is a modern request on its way through the checks and its answer.
type exchange struct {
	w       http.ResponseWriter
	r       *http.Request
	caller  auth.Caller
	request *wire.Request
	meta    wire.Meta
	record  *guard.Record
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	record := guard.RecordOf(r.Context())
	if status, err := checkMedia(r.Header); err != nil {
		record.Code = err.Code
		wire.WriteError(w, status, nil, err)
		return
	}
	body, status, err := readBody(w, r)
	if err != nil {
		record.Code = err.Code
		wire.WriteError(w, status, nil, err)
		return
	}
	request, err := wire.Parse(body)
	switch {
	case err != nil:
		var id json.RawMessage
		if request != nil {
			id = request.ID
		}
		record.Code = err.Code
		wire.WriteError(w, err.HTTPStatus(), id, err)
	case request.IsNotification():
		// None that a client can send means anything here; a task is cancelled by tasks/cancel.
		w.WriteHeader(http.StatusAccepted)
	case isLegacy(r.Header, request):
		h.serveLegacy(w, r, request, body)
	default:
		h.serveModern(&exchange{w: w, r: r, caller: auth.CallerFrom(r.Context()), request: request, record: record})
	}
}

func (h *Handler) serveModern(e *exchange) {
	if err := h.check(e); err != nil {
		h.fail(e, err)
		return
	}
	e.record.Method = e.request.Method
	served[e.request.Method].serve(h, e)
}

// succeed answers with a result.
func (h *Handler) succeed(e *exchange, result any) {
	body, err := wire.EncodeResult(e.request.ID, result)
	if err != nil {
		h.fail(e, err)
		return
	}
	e.w.Header().Set("Content-Type", "application/json")
	e.w.Header().Set("Cache-Control", "no-store")
	_, _ = e.w.Write(body) // an error means that the client has gone
}

// fail answers with an error. What is no *wire.Error is logged, and the client is told no more than that it happened.
func (h *Handler) fail(e *exchange, err error) {
	answer, gone := h.explain(e, err)
	if gone {
		return
	}
	wire.WriteError(e.w, answer.HTTPStatus(), e.request.ID, answer)
}

// explain returns what the client is told of an error, or that there is no client any more.
func (h *Handler) explain(e *exchange, err error) (answer *wire.Error, gone bool) {
	if errors.As(err, &answer) {
		e.record.Code = answer.Code
		if cause := answer.Cause(); cause != nil {
			h.Logger.Error(cause, "A request could not be carried out", "rpc", e.request.Method, "target", e.record.Target)
		}
		return answer, false
	}
	if e.r.Context().Err() != nil {
		if !errors.Is(err, context.Canceled) {
			h.Logger.Error(err, "A request whose client had hung up went wrong", "rpc", e.request.Method)
		}
		return nil, true
	}
	h.Logger.Error(err, "A request could not be carried out", "rpc", e.request.Method, "target", e.record.Target)
	e.record.Code = wire.CodeInternalError
	return wire.Unexpected(), false
}

// serveLegacy gives the request to the handler of the handshake eras. Headers that would make it believe in sessions go.
func (h *Handler) serveLegacy(w http.ResponseWriter, r *http.Request, request *wire.Request, body []byte) {
	record := guard.RecordOf(r.Context())
	if !isLegacyMethod(request.Method) {
		// 200, since 404 tells clients of these eras that their session is over.
		err := wire.MethodNotFound()
		record.Code = err.Code
		wire.WriteError(w, http.StatusOK, request.ID, err)
		return
	}
	record.Method = request.Method
	for _, target := range []json.RawMessage{request.Params.Name, request.Params.URI} {
		if name, ok := wire.String(target); ok {
			record.Target = shorten(name)
			break
		}
	}
	legacy := r.Clone(r.Context())
	legacy.Body = io.NopCloser(bytes.NewReader(body))
	legacy.ContentLength = int64(len(body))
	legacy.Header.Del("Mcp-Session-Id")
	legacy.Header.Del("Last-Event-ID")
	legacy.Header.Set("Accept", "application/json, text/event-stream")
	h.Legacy.ServeHTTP(w, legacy)
}
