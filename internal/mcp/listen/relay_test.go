package listen_test

import (
	"net"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

// relay is a proxy between a client and an endpoint that cuts connections on which nothing comes from the endpoint. Its time
// is the endpoint's.
type relay struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	heard time.Time
	conns []net.Conn
}

// newRelay puts a relay in front of the endpoint, for all that is opened from now on.
func newRelay(t *testing.T, e *endpoint) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{clock: e.clock}
	upstream := e.Listener.Addr().String()
	t.Cleanup(func() {
		_ = listener.Close()
		r.cutWhereSilentFor(0)
	})
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", upstream)
			if err != nil {
				_ = client.Close()
				return
			}
			r.connect(client, server)
		}
	}()
	e.URL = "http://" + listener.Addr().String()
	return r
}

func (r *relay) connect(client, server net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = r.clock.Now()
	r.conns = append(r.conns, client, server)
	go r.pass(server, client, func() {})
	go r.pass(client, server, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.heard = r.clock.Now()
	})
}

// pass passes bytes on and calls heard before each piece.
func (r *relay) pass(to, from net.Conn, heard func()) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		heard()
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// cutWhereSilentFor closes everything if nothing was heard for so long.
func (r *relay) cutWhereSilentFor(limit time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clock.Since(r.heard) < limit {
		return
	}
	for _, conn := range r.conns {
		_ = conn.Close()
	}
}
