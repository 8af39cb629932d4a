package endpoint

import (
	"net/http"
	"testing"

	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// inSession is a client that believes in a session, as those of earlier revisions do.
type inSession struct{ http.RoundTripper }

func (s inSession) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Mcp-Session-Id", "0123456789abcdef")
	r.Header.Set("Last-Event-ID", "42")
	return s.RoundTripper.RoundTrip(r)
}

// Neither requests nor streams leave anything behind in a replica.
func TestReplica_A06_NothingIsLeftBehind(t *testing.T) {
	const requests, listeners, spare = 5000, 200, 20
	r := startReplica(t, "--caller-rate=0", "--caller-streams=0")
	tool(t, "leaves-nothing")
	c := r.client(t, tenant, agent)
	connections := &http.Transport{MaxIdleConnsPerHost: listeners}
	c.HTTP = &http.Client{Transport: inSession{connections}}
	awaitTool(t, c, "leaves-nothing")
	id := call(t, c, "leaves-nothing", nil)
	// What a first stream needs once and for all is there from now on.
	if err := listen(t, c, id).Close(); err != nil {
		t.Fatal(err)
	}
	goroutines := func() float64 { return r.Metric("go_goroutines") }
	connections.CloseIdleConnections()
	before := goroutines()

	for range requests {
		if _, err := c.Get(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	open := make([]*mcpclient.Listener, listeners)
	for i := range open {
		open[i] = listen(t, c, id)
		hear(t, open[i], id, "working", "")
	}
	if n := goroutines(); n < before+listeners {
		t.Errorf("%g goroutines before and %g with %d listeners: this test shows nothing", before, n, listeners)
	}
	for _, l := range open {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	connections.CloseIdleConnections()
	eventually(t, "the replica is as it was before", func() bool { return goroutines() <= before+spare })
}
