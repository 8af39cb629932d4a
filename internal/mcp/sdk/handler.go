package sdk

import (
	"net/http"

	"github.com/go-logr/logr"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcptasks/mcptasks/internal/mcp/guard"
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
			Capabilities: capabilities(service),
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
		e := &exchange{http: r.Context(), version: r.Header.Get(wire.HeaderVersion)}
		defer e.note(guard.RecordOf(r.Context()))
		streamable.ServeHTTP(&ownWords{ResponseWriter: w, exchange: e}, r.WithContext(withExchange(e)))
	})
}

func capabilities(service *methods.Service) *mcp.ServerCapabilities {
	c := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	if service.HasResources() {
		c.Resources = &mcp.ResourceCapabilities{}
	}
	return c
}
