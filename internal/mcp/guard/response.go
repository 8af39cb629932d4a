package guard

import (
	"net/http"
	"time"
)

// writeTimeout is how long a client may take to receive what is written at once. It is set for each write: a stream may last
// for as long as its call, but a reader that stands still loses its connection.
const writeTimeout = 30 * time.Second

// response notes what is sent, and gives each write its deadline.
type response struct {
	http.ResponseWriter
	controller *http.ResponseController
	extended   time.Time // when the connection was given its deadline
	status     int
	bytes      int64
}

// observed returns w as a response: itself where a handler further out has made it one.
func observed(w http.ResponseWriter) *response {
	if r, ok := w.(*response); ok {
		return r
	}
	r := &response{ResponseWriter: w, controller: http.NewResponseController(w)}
	r.extendDeadline()
	return r
}

// Unwrap lets http.ResponseController reach the connection.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (r *response) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.extendDeadline()
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *response) Write(data []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.extendDeadline()
	n, err := r.ResponseWriter.Write(data)
	r.bytes += int64(n)
	return n, err
}

// extendDeadline gives the connection writeTimeout from now on, give or take a second: an answer is several writes at once.
func (r *response) extendDeadline() {
	now := time.Now()
	if now.Sub(r.extended) < time.Second {
		return
	}
	r.extended = now
	// Writers without deadlines are those of tests.
	_ = r.controller.SetWriteDeadline(now.Add(writeTimeout))
}
