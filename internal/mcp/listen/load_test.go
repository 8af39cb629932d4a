package listen_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A24: a client that reads nothing loses its connection, holds nobody up, and frees what it held.
func TestSlowReader_A24(t *testing.T) {
	for name, protocol := range protocols {
		t.Run(name, func(t *testing.T) {
			e := newEndpoint(t, endpointOptions{protocol: protocol, writeTimeout: 200 * time.Millisecond})
			// More than what sockets and HTTP/2 windows take.
			large := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 1<<20) + `"}]}`
			ids := make([]string, 16)
			for i := range ids {
				ids[i] = fmt.Sprintf("t-%d", i)
				e.records.create(ids[i], alice)
				e.records.finish(ids[i], large)
			}
			e.records.create("t-other", alice)
			e.post(t, asked{ID: json.RawMessage("1"), Notifications: json.RawMessage(filterOf(ids...))}) // and read nothing
			other := e.open(t, filterOf("t-other"))
			other.next(t)
			e.records.say("t-other", "not held up")
			other.expect(t, "t-other", "not held up")
			e.waitEnded(t)
			if n := e.endings(t, "stalled"); n != 1 {
				t.Errorf("%v streams ended by stalling, want 1", n)
			}
			waitFor(t, "the wake-ups of the slow reader to end", func() bool { return e.records.watched() == 1 })
		})
	}
}

// A24: a thousand streams on a thousand tasks each hear of the end of theirs.
func TestThousandListeners_A24_S117(t *testing.T) {
	const n = 1000
	e := newEndpoint(t, endpointOptions{})
	streams := openIdle(t, e, n)
	for i := range streams {
		e.records.finish(idleTask(i), `{"content":[]}`)
	}
	for i, stream := range streams {
		line := ""
		for !strings.HasPrefix(line, "data: ") {
			line = stream.line(t)
		}
		if !strings.Contains(line, `"`+idleTask(i)+`"`) || !strings.Contains(line, `"completed"`) {
			t.Fatalf("stream %d: got %s", i, line)
		}
	}
	for _, stream := range streams {
		_ = stream.conn.Close()
	}
	for range streams {
		e.waitEnded(t)
	}
	if left := e.records.watched(); left != 0 {
		t.Errorf("%d wake-ups are still wanted", left)
	}
}

// BenchmarkIdleStream measures what a stream costs while nothing happens: memory (heap and stacks of the server's side, the
// kernel's socket buffers aside) and goroutines.
func BenchmarkIdleStream(b *testing.B) {
	const n = 1000
	for b.Loop() {
		e := newEndpoint(b, endpointOptions{})
		before, goroutines := inUse(), runtime.NumGoroutine()
		conns := connections(openIdle(b, e, n))
		b.ReportMetric(float64(inUse()-before)/n, "B/stream")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/n, "goroutines/stream")
		for _, conn := range conns {
			_ = conn.Close()
		}
		for range conns {
			e.waitEnded(b)
		}
	}
	b.ReportMetric(0, "ns/op") // says nothing here
}

// inUse is the memory that the process uses after a collection.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc + stats.StackInuse
}

// connections are all that is needed to keep streams open: the rest of the client's side is not to be counted.
func connections(streams []*rawStream) []net.Conn {
	conns := make([]net.Conn, len(streams))
	for i, stream := range streams {
		conns[i] = stream.conn
	}
	return conns
}

// rawStream is a stream without an HTTP client, which would have goroutines and buffers of its own.
type rawStream struct {
	conn  net.Conn
	lines *bufio.Reader
}

func (s *rawStream) line(t testing.TB) string {
	t.Helper()
	line, err := s.lines.ReadString('\n')
	if err != nil {
		t.Fatalf("the stream broke: %v", err)
	}
	return line
}

func idleTask(i int) string { return fmt.Sprintf("t-%d", i) }

// openIdle opens n streams, each on a task of its own, and reads their snapshots.
func openIdle(t testing.TB, e *endpoint, n int) []*rawStream {
	t.Helper()
	streams := make([]*rawStream, n)
	for i := range streams {
		e.records.create(idleTask(i), alice)
		conn, err := net.Dial("tcp", e.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		body := asked{ID: json.RawMessage("1"), Notifications: json.RawMessage(filterOf(idleTask(i)))}.encode(t)
		post := fmt.Sprintf("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		if _, err := conn.Write([]byte(post)); err != nil {
			t.Fatal(err)
		}
		streams[i] = &rawStream{conn, bufio.NewReaderSize(conn, 1024)}
	}
	for _, stream := range streams {
		if status := stream.line(t); !strings.Contains(status, http.StatusText(http.StatusOK)) {
			t.Fatalf("%s instead of a stream", status)
		}
		for messages := 0; messages < 2; {
			if strings.HasPrefix(stream.line(t), "data: ") {
				messages++
			}
		}
	}
	return streams
}
