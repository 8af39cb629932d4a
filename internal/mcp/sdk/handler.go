package sdk

import (
	"context"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcptasks/mcptasks/internal/mcp/methods"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

// NewHandler serves POST requests of the handshake eras. instructions are the hint for models in the answer to initialize.
func NewHandler(service *methods.Service, self wire.Server, instructions string, logger logr.Logger) http.Handler {
	server := mcp.NewServer(
		&mcp.Implementation{Name: self.Name, Title: self.Title, Version: self.Version},
		&mcp.ServerOptions{
			Instructions: instructions,
			// No Extensions: under these revisions the Tasks extension must not be switched on, so it is not offered either.
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		})
	m := &middleware{service: service, logger: logger}
	server.AddReceivingMiddleware(m.wrap)
	streamable := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{
			Stateless: true,
			// Package guard checks Host and Origin; this check would take a sidecar's connection for a local one.
			DisableLocalhostProtection: true,
		})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Accel-Buffering", "no")
		// The SDK goes on when a client of these eras hangs up, since it could come back to a session; here there are none.
		ctx := context.WithValue(r.Context(), exchangeKey{}, r.Context())
		streamable.ServeHTTP(&jsonErrors{ResponseWriter: w}, r.WithContext(ctx))
	})
}

// exchangeKey finds the context of the HTTP exchange in that of a method, which the SDK cuts loose from it.
type exchangeKey struct{}

// untilHangUp returns a context that ends with the HTTP exchange as well.
func untilHangUp(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	exchange, ok := ctx.Value(exchangeKey{}).(context.Context)
	if !ok {
		return ctx, cancel
	}
	stop := context.AfterFunc(exchange, cancel)
	return ctx, func() { stop(); cancel() }
}
