package endpoint

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/mcptasks/mcptasks/test/integration/setup"
)

// proxy stands between a replica and the API server and makes trouble.
type proxy struct {
	// kubeconfig leads a replica here. It has no token: the proxy adds it, since client-go sends none without TLS.
	kubeconfig string

	mu      sync.Mutex
	away    bool // refuse everything
	expired int  // so many watches of tasks are told that their resource version is too old
	watches int  // of tasks, begun
	open    map[*http.Request]context.CancelFunc
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	if cluster == nil {
		t.Skip(setup.Skip)
	}
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
	p := &proxy{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), open: map[*http.Request]context.CancelFunc{}}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		Transport:     transport,
		FlushInterval: -1, // at once
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, forward) }))
	t.Cleanup(server.Close)
	t.Cleanup(p.breakOff)

	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range config.Clusters {
		c.Server, c.CertificateAuthorityData = server.URL, nil
	}
	if err := clientcmd.WriteToFile(*config, p.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *proxy) serve(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.WithContext(ctx)
	away, expired := p.admit(r, cancel)
	defer p.forget(r)
	switch {
	case away:
		panic(http.ErrAbortHandler) // the connection breaks
	case expired:
		status := apierrors.NewResourceExpired("too old resource version").Status()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Code))
		_ = json.NewEncoder(w).Encode(status)
	default:
		forward.ServeHTTP(w, r)
	}
}

func (p *proxy) admit(r *http.Request, cancel context.CancelFunc) (away, expired bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[r] = cancel
	if strings.HasSuffix(r.URL.Path, "/mcptasks") && r.URL.Query().Get("watch") != "" {
		p.watches++
		if p.expired > 0 && !p.away {
			p.expired--
			return false, true
		}
	}
	return p.away, false
}

func (p *proxy) forget(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, r)
}

// set changes how the proxy behaves.
func (p *proxy) set(behave func(*proxy)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	behave(p)
}

// begun is how many watches of tasks have begun.
func (p *proxy) begun() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.watches
}

// breakOff ends all requests that are open, watches above all.
func (p *proxy) breakOff() {
	p.set(func(p *proxy) {
		for _, cancel := range p.open {
			cancel()
		}
	})
}
