package sse_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcptasks/mcptasks/internal/mcp/sse"
)

// S-13, A22: headers that proxies heed, and events that arrive before the next one is written.
func TestEventsArriveAtOnce_A22_S13(t *testing.T) {
	seen := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stream := sse.New(w, time.Minute)
		for _, write := range []func() error{
			func() error { return stream.Message([]byte(`{"a":1}`)) },
			stream.Comment,
			func() error { return stream.Message([]byte(`{}`)) },
		} {
			if err := write(); err != nil {
				t.Error(err)
			}
			<-seen
		}
	}))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no",
	} {
		if got := response.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, want := range []string{"event: message\ndata: {\"a\":1}\n\n", ":\n\n", "event: message\ndata: {}\n\n"} {
		got := make([]byte, len(want))
		if _, err := io.ReadFull(response.Body, got); err != nil || string(got) != want {
			t.Fatalf("got %q, %v; want %q", got, err, want)
		}
		seen <- struct{}{}
	}
	if rest, err := io.ReadAll(response.Body); err != nil || len(rest) != 0 {
		t.Errorf("%q, %v after the last event", rest, err)
	}
}

func TestClientThatStandsStill(t *testing.T) {
	ended := make(chan error)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stream := sse.New(w, 100*time.Millisecond)
		large := []byte(strings.Repeat("x", 1<<20))
		var err error
		for range 64 { // more than any socket takes
			if err = stream.Message(large); err != nil {
				break
			}
		}
		ended <- err
	}))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := <-ended; !errors.Is(err, sse.ErrStalled) {
		t.Errorf("got %v, want %v", err, sse.ErrStalled)
	}
}
