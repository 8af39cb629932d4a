package listen_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcptasks/mcptasks/internal/auth"
)

// turnedAway opens one stream too many and checks that its client is told why and what to do.
func (e *endpoint) turnedAway(t *testing.T, status int, words ...string) {
	t.Helper()
	answer := e.post(t, asked{ID: json.RawMessage("7"), Notifications: json.RawMessage(`{"toolsListChanged":true}`)})
	body, err := io.ReadAll(answer.lines)
	if err != nil {
		t.Fatal(err)
	}
	if answer.response.StatusCode != status || answer.response.Header.Get("Retry-After") != "15" {
		t.Errorf("HTTP %d, %v", answer.response.StatusCode, answer.response.Header)
	}
	for _, word := range append(words, `"id":7`, `"code":-32603`, `"reason":"TooManyStreams"`, "tasks/get") {
		if !strings.Contains(string(body), word) {
			t.Errorf("%s is not in %s", word, body)
		}
	}
}

// A caller has so many streams and no more, until one of them ends; others have theirs.
func TestStreamsPerCaller(t *testing.T) {
	const filter = `{"toolsListChanged":true}`
	e := newEndpoint(t, endpointOptions{perCaller: 2})
	first := e.open(t, filter)
	e.open(t, filter)
	for range 3 { // who is turned away takes no place
		e.turnedAway(t, http.StatusTooManyRequests, "2 streams", "256")
		e.waitEnded(t)
	}
	e.door.set(mallory, nil)
	e.open(t, filter)
	e.door.set(alice, nil)
	_ = first.response.Body.Close()
	e.waitEnded(t)
	e.open(t, filter)
	e.turnedAway(t, http.StatusTooManyRequests)
}

// The same name at two issuers is two callers.
func TestStreamsPerCallerAndIssuer(t *testing.T) {
	e := newEndpoint(t, endpointOptions{perCaller: 1})
	e.open(t, `{}`)
	e.door.set(auth.Caller{Issuer: "https://issuer.example.com", Subject: alice.Subject, Namespace: alice.Namespace}, nil)
	e.open(t, `{}`)
	e.turnedAway(t, http.StatusTooManyRequests)
}

// All callers together have so many streams and no more.
func TestStreamsInTotal(t *testing.T) {
	e := newEndpoint(t, endpointOptions{perCaller: 2, total: 3})
	e.open(t, `{}`)
	last := e.open(t, `{}`)
	e.door.set(mallory, nil)
	e.open(t, `{}`)
	e.turnedAway(t, http.StatusServiceUnavailable, "All callers together")
	e.waitEnded(t)
	_ = last.response.Body.Close()
	e.waitEnded(t)
	e.open(t, `{}`)
	e.turnedAway(t, http.StatusTooManyRequests) // the caller's own limit is told of first: it can do something about that
}

// What is refused for another reason takes no place.
func TestRefusedRequestsTakeNoPlace(t *testing.T) {
	e := newEndpoint(t, endpointOptions{perCaller: 1})
	for range 3 {
		e.post(t, asked{ID: json.RawMessage("7"), Notifications: json.RawMessage(`[]`)})
		e.waitEnded(t)
	}
	e.open(t, `{}`)
}
