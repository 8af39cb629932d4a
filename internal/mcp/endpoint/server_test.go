package endpoint_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcptasks/mcptasks/internal/mcp/endpoint"
)

// freeAddress is an address that was free a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// The server answers what is in flight before it ends, and says at once that it takes no more.
func TestServerShutsDownGracefully(t *testing.T) {
	arrived, drained := make(chan struct{}), make(chan struct{})
	server := &endpoint.Server{
		Address: freeAddress(t),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(arrived)
			<-drained
			w.WriteHeader(http.StatusTeapot)
		}),
		Drain: func() { close(drained) },
	}
	if server.Ready(nil) == nil {
		t.Error("ready before it serves")
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	eventually(t, "the server is ready", func() bool { return server.Ready(nil) == nil })

	status := make(chan int, 1)
	go func() {
		response, err := http.Post("http://"+server.Address, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Error(err)
			status <- 0
			return
		}
		_ = response.Body.Close()
		status <- response.StatusCode
	}()
	<-arrived
	stop()
	if got := <-status; got != http.StatusTeapot {
		t.Errorf("the request in flight got HTTP %d", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if server.Ready(nil) == nil {
		t.Error("ready after its end")
	}
}

func TestServerSpeaksHTTP2WithoutTLS(t *testing.T) {
	server := &endpoint.Server{
		Address: freeAddress(t),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Proto", r.Proto) }),
		Drain:   func() {},
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	eventually(t, "the server is ready", func() bool { return server.Ready(nil) == nil })
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get("http://" + server.Address)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if got := response.Header.Get("Proto"); got != "HTTP/2.0" {
		t.Errorf("got %q", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAddressInUse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	server := &endpoint.Server{Address: listener.Addr().String(), Drain: func() {}}
	err = server.Start(t.Context())
	if opError := (*net.OpError)(nil); !errors.As(err, &opError) {
		t.Errorf("got %v", err)
	}
}

// A client that sends its headers byte by byte, or none at all, is not waited for.
func TestHalfOpenConnections(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as clients may take for their headers")
	}
	server := &endpoint.Server{Address: freeAddress(t), Handler: http.NotFoundHandler(), Drain: func() {}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	eventually(t, "the server is ready", func() bool { return server.Ready(nil) == nil })
	connection, err := net.Dial("tcp", server.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	if _, err := connection.Write([]byte("POST /mcp HTTP/1.1\r\nHost: x\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := connection.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 1024)
	for err == nil {
		_, err = connection.Read(buffer)
	}
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		t.Error("the server still waits for the headers")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
