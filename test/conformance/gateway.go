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

// openGateway opens a port on loopback that leads to the endpoint at address and gives each request the bearer token. All the
// rest, Host and Origin included, arrives as the client sent it. It is closed when ctx ends.
func openGateway(ctx context.Context, address, token string) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("open the gateway: %w", err)
	}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: &httputil.ReverseProxy{
			FlushInterval: -1, // streams are passed on event by event
			Rewrite: func(r *httputil.ProxyRequest) {
				r.Out.URL.Scheme, r.Out.URL.Host = "http", address
				r.Out.Host = r.In.Host
				r.Out.Header.Set("Authorization", "Bearer "+token)
			},
		},
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(fmt.Errorf("the gateway broke down: %w", err))
		}
	}()
	return listener.Addr().String(), nil
}
