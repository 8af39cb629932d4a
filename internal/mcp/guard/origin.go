package guard

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

// Origins says which web pages may call the endpoint. Programs send no Origin and are not concerned.
type Origins struct {
	allowed  map[string]bool
	loopback bool
}

// NewOrigins makes an Origins. allowed are origins such as https://app.example.com. loopback says that the endpoint listens on
// a loopback address only: then requests must name it by one, too, or a page could reach it under a name of its own (DNS
// rebinding).
func NewOrigins(allowed []string, loopback bool) (Origins, error) {
	o := Origins{allowed: map[string]bool{}, loopback: loopback}
	for _, origin := range allowed {
		parsed, err := url.Parse(origin)
		if err != nil || parsed.Scheme == "" || parsed.Host == "" || parsed.Path != "" || parsed.RawQuery != "" {
			return Origins{}, fmt.Errorf("%q is not an origin such as https://app.example.com", origin)
		}
		o.allowed[strings.ToLower(origin)] = true
	}
	return o, nil
}

// admit returns the request's origin, "" where it has none, or false where it must be refused.
func (o Origins) admit(r *http.Request) (origin string, ok bool) {
	if o.loopback && !isLoopback(r.Host) {
		return "", false
	}
	values := r.Header.Values("Origin")
	switch len(values) {
	case 0:
		return "", true
	case 1:
		origin = values[0]
	default:
		return "", false
	}
	if o.allowed[strings.ToLower(origin)] {
		return origin, true
	}
	// A page served by this machine, for an endpoint on this machine: a person who tries things out.
	parsed, err := url.Parse(origin)
	return origin, err == nil && isLoopback(parsed.Host) && isLoopback(r.Host)
}

// isLoopback reports whether a host, with or without a port, is this machine.
func isLoopback(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && address.Unmap().IsLoopback()
}

// CheckOrigin refuses requests of web pages that are not allowed (streamable-http, "Security & Endpoint"), and lets browsers
// know which ones are.
func CheckOrigin(origins Origins, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Origin")
		origin, ok := origins.admit(r)
		if !ok {
			refuse(w, r, http.StatusForbidden, "Origin not allowed")
			return
		}
		if origin == "" {
			next.ServeHTTP(w, r)
			return
		}
		header := w.Header()
		header.Set("Access-Control-Allow-Origin", origin)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			header.Set("Access-Control-Allow-Methods", http.MethodPost)
			// Mcp-Param- headers cannot be listed beforehand; no header is dangerous here, since cookies mean nothing.
			header.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
			header.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		header.Set("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After")
		next.ServeHTTP(w, r)
	})
}

// PostOnly answers all other HTTP methods: there is no stream to GET and no session to DELETE.
func PostOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			refuse(w, r, http.StatusMethodNotAllowed, "Method not allowed: every MCP request is a POST")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// NotFound answers for all paths but the endpoint's.
func NotFound(endpoint string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, http.StatusNotFound, "There is nothing here; the MCP endpoint is "+endpoint)
	})
}

// refuse answers a request that does not get as far as the protocol: its id is not known.
func refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	RecordOf(r.Context()).Code = wire.CodeInvalidRequest
	wire.WriteError(w, status, nil, wire.InvalidRequest("%s", message))
}

// turnAway is refuse where the request may be as good as any, and can be repeated.
func turnAway(w http.ResponseWriter, r *http.Request, err *wire.Error) {
	RecordOf(r.Context()).Code = err.Code
	wire.WriteError(w, err.HTTPStatus(), nil, err)
}
