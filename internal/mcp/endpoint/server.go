package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
)

const (
	// headerTimeout is how long a client may take to send a request's headers.
	headerTimeout = 10 * time.Second
	// idleTimeout is how long a connection is kept between two requests: longer than load balancers keep theirs, so that it is
	// never we who close one that they are about to use.
	idleTimeout = 2 * time.Minute
	// maxHeaderBytes bounds a request's headers, its token among them.
	maxHeaderBytes = 64 << 10
	// drainTimeout is how long requests in flight may take when the process is to end. Calls that are being waited for are
	// answered at once; the rest are quick.
	drainTimeout = 30 * time.Second
	// ShutdownTimeout is how long a Server may take to end; who runs it should wait a little longer.
	ShutdownTimeout = drainTimeout + 5*time.Second
	// anonymousWarning is how often the log says that everybody is let in.
	anonymousWarning = 10 * time.Minute
)

// Server serves an endpoint. It is a manager.Runnable, begun when the caches are full.
type Server struct {
	// Address to listen on, for instance ":8080".
	Address string
	// Handler is NewHandler's.
	Handler http.Handler
	// Drain ends the context that NewHandler got.
	Drain context.CancelFunc
	// Anonymous says that everybody is let in.
	Anonymous bool
	// Logger says what happens.
	Logger logr.Logger

	ready atomic.Bool
}

// NeedLeaderElection says that every replica serves.
func (s *Server) NeedLeaderElection() bool { return false }

// Ready is a readiness check: the server takes requests, and is not about to end.
func (s *Server) Ready(*http.Request) error {
	if !s.ready.Load() {
		return errors.New("the endpoint does not serve")
	}
	return nil
}

// Start serves until ctx ends and the requests in flight have been answered.
func (s *Server) Start(ctx context.Context) error {
	config := net.ListenConfig{Control: noticeLoss}
	listener, err := config.Listen(ctx, "tcp", s.Address)
	if err != nil {
		return fmt.Errorf("listen for MCP requests: %w", err)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler:           s.Handler,
		Protocols:         protocols,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// No ReadTimeout and no WriteTimeout: they would end calls that are being waited for. Bodies and writes have their own.
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	s.ready.Store(true)
	s.Logger.Info("Serving MCP", "address", listener.Addr().String(), "path", Path)

	warning := time.NewTicker(anonymousWarning)
	defer warning.Stop()
	s.warn()
	for {
		select {
		case err := <-failed:
			return fmt.Errorf("serve MCP requests: %w", err)
		case <-warning.C:
			s.warn()
		case <-ctx.Done():
			return s.shutDown(server)
		}
	}
}

// shutDown takes no new requests and waits for those in flight.
func (s *Server) shutDown(server *http.Server) error {
	s.ready.Store(false)
	s.Logger.Info("Shutting down: answering the requests in flight")
	s.Drain()
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("requests were still in flight after %s: %w", drainTimeout, err), server.Close())
	}
	return nil
}

func (s *Server) warn() {
	if s.Anonymous {
		s.Logger.Error(nil, "INSECURE: everybody who can reach this endpoint is let in without a token (--insecure-anonymous)")
	}
}
