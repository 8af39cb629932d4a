//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"time"
)

// gateway is a port on loopback that leads to the endpoint and does what the suite cannot do by itself.
type gateway struct {
	// endpoint is the endpoint's host and port.
	endpoint string
	// token is the bearer token that each request is given.
	token string
	// before is called before a call of a tool is passed on, with the tool's name.
	before func(ctx context.Context, tool string) error
}

// open opens the port and returns its address. All but the token arrives at the endpoint as the client sent it, Host and Origin
// included. The port is closed when ctx ends.
func (g gateway) open(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("open the gateway: %w", err)
	}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1, // streams are passed on event by event
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", g.endpoint
			r.Out.Host = r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+g.token)
		},
	}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Method") == "tools/call" {
				if err := g.before(r.Context(), r.Header.Get("Mcp-Name")); err != nil {
					http.Error(w, err.Error(), http.StatusBadGateway)
					return
				}
			}
			proxy.ServeHTTP(w, r)
		}),
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(fmt.Errorf("the gateway broke down: %w", err))
		}
	}()
	return listener.Addr().String(), nil
}
