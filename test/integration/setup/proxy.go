//go:build unix

package setup

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Proxy stands between a program and the API server: it notes what the program asks for, and makes trouble if told so.
type Proxy struct {
	// Kubeconfig leads a program here. It has no token: the proxy adds it, since client-go sends none without TLS.
	Kubeconfig string

	forward http.Handler
	// received counts the bytes of all answers' bodies.
	received atomic.Int64

	mu       sync.Mutex
	meddle   func(http.Handler) http.Handler
	requests []Request
	open     map[*http.Request]context.CancelFunc
}

// Request is one that a program has sent.
type Request struct {
	Method, Path string
	Query        url.Values
	// Status is what it was answered with; 0: it has not been, or its connection broke.
	Status int
}

// Writes reports whether the request asks the API server to change something for good.
func (r Request) Writes() bool {
	return r.Method != http.MethodGet && !r.Query.Has("dryRun") && !strings.HasSuffix(r.Path, "reviews")
}

// Watches reports whether the request asks for changes.
func (r Request) Watches() bool { return r.Query.Get("watch") != "" }

// NewProxy starts a proxy with the cluster and the rights of a kubeconfig. It ends with the test.
func NewProxy(t *testing.T, kubeconfig string) *Proxy {
	t.Helper()
	direct, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := url.Parse(direct.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(direct)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), open: map[*http.Request]context.CancelFunc{}}
	p.forward = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		Transport:     transport,
		FlushInterval: -1, // at once
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(server.Close)
	t.Cleanup(p.BreakOff)

	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range config.Clusters {
		c.Server, c.CertificateAuthorityData = server.URL, nil
	}
	if err := clientcmd.WriteToFile(*config, p.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.WithContext(ctx)
	handler, number := p.admit(r, cancel)
	counted := &answer{ResponseWriter: w, received: &p.received}
	defer func() { p.forget(r, number, counted.status) }()
	handler.ServeHTTP(counted, r)
}

func (p *Proxy) admit(r *http.Request, cancel context.CancelFunc) (handler http.Handler, number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[r] = cancel
	p.requests = append(p.requests, Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query()})
	if p.meddle == nil {
		return p.forward, len(p.requests) - 1
	}
	return p.meddle(p.forward), len(p.requests) - 1
}

func (p *Proxy) forget(r *http.Request, number, status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, r)
	p.requests[number].Status = status
}

// Meddle changes what becomes of all requests from now on; nil: they are passed on.
func (p *Proxy) Meddle(meddle func(next http.Handler) http.Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.meddle = meddle
}

// BreakOff breaks the connections of all requests that are open, watches above all.
func (p *Proxy) BreakOff() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cancel := range p.open {
		cancel()
	}
}

// Requests are those so far that are wanted.
func (p *Proxy) Requests(wanted func(Request) bool) []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.requests), func(r Request) bool { return !wanted(r) })
}

// Received is how many bytes the answers had so far.
func (p *Proxy) Received() int64 { return p.received.Load() }

// Break breaks the connection that a request came on, without an answer.
func Break(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// Refuse answers in the API server's place.
func Refuse(w http.ResponseWriter, why *apierrors.StatusError) {
	status := why.Status()
	body, err := json.Marshal(status)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_, _ = w.Write(body)
}

// answer notes what a request is answered with.
type answer struct {
	http.ResponseWriter
	status   int
	received *atomic.Int64
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(data []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(data)
	a.received.Add(int64(n))
	return n, err
}
