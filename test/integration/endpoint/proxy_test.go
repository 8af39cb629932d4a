package endpoint

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/mcptasks/mcptasks/test/integration/setup"
)

// proxy makes trouble between a replica and the API server.
type proxy struct {
	*setup.Proxy
	// expired is how many watches of tasks are yet to be told that their resource version is too old.
	expired atomic.Int32
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	if cluster == nil {
		t.Skip(setup.Skip)
	}
	return &proxy{Proxy: setup.NewProxy(t, kubeconfig)}
}

// leave refuses everything, as an API server that is away.
func (p *proxy) leave() {
	p.Meddle(func(http.Handler) http.Handler { return http.HandlerFunc(setup.Break) })
}

// expire tells the next n watches of tasks that what they go on from is too old.
func (p *proxy) expire(n int32) {
	p.expired.Store(n)
	p.Meddle(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tooLate := strings.HasSuffix(r.URL.Path, "/mcptasks") && r.URL.Query().Get("watch") != "" && p.expired.Add(-1) >= 0
			if tooLate {
				setup.Refuse(w, apierrors.NewResourceExpired("too old resource version"))
				return
			}
			next.ServeHTTP(w, r)
		})
	})
}

// begun is how many watches of tasks have begun.
func (p *proxy) begun() int {
	return len(p.Requests(func(r setup.Request) bool { return r.Watches() && strings.HasSuffix(r.Path, "/mcptasks") }))
}
