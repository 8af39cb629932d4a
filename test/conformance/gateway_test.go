//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestGateway sends a request through the gateway: the endpoint gets it with the token and otherwise unchanged, and its stream
// comes back event by event. What a call asks for has been done before the endpoint sees it.
func TestGateway(t *testing.T) {
	released := make(chan struct{})
	called := ""
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := fmt.Fprintf(w, "%s %s %s %s %s\n",
			r.Host, r.URL.Path, r.Header.Get("Origin"), r.Header.Get("Authorization"), called)
		if err := errors.Join(err, http.NewResponseController(w).Flush()); err != nil {
			t.Error(err)
		}
		<-released
	}))
	defer endpoint.Close()
	defer close(released)

	address, err := gateway{
		endpoint: strings.TrimPrefix(endpoint.URL, "http://"), token: "secret",
		before: func(_ context.Context, tool string) error { called = tool; return nil },
	}.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/mcp", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "evil.example.org"
	request.Header.Set("Origin", "http://evil.example.org")
	request.Header.Set("Mcp-Method", "tools/call")
	request.Header.Set("Mcp-Name", trigger)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	first := make([]byte, 200)
	n, err := response.Body.Read(first)
	if err != nil {
		t.Fatal(err)
	}
	if want := "evil.example.org /mcp http://evil.example.org Bearer secret " + trigger + "\n"; string(first[:n]) != want {
		t.Errorf("the endpoint got %q, want %q", first[:n], want)
	}
}
