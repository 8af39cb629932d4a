package sdk

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestOwnWords(t *testing.T) {
	const event = "event: message\ndata: "
	for name, test := range map[string]struct {
		write     func(http.ResponseWriter)
		code      int64 // of an error of ours
		status    int
		want, not string
	}{
		"plain text": {
			write:  func(w http.ResponseWriter) { http.Error(w, "internal: mcp.Thing", http.StatusBadRequest) },
			status: 400, want: `"code":-32600`, not: "mcp.Thing",
		},
		"plain text of trouble": {
			write:  func(w http.ResponseWriter) { http.Error(w, "failed connection", http.StatusInternalServerError) },
			status: 500, want: `"code":-32603`, not: "failed connection",
		},
		"an error of the SDK's": {
			write: func(w http.ResponseWriter) {
				_, _ = w.Write([]byte(event + `{"jsonrpc":"2.0","id":"x","error":{"code":0,"message":"into a *mcp.Thing"}}` + "\n\n"))
			},
			status: 200, want: event + `{"jsonrpc":"2.0","id":"x","error":{"code":-32602,`, not: "mcp.Thing",
		},
		"an error of ours": {
			write: func(w http.ResponseWriter) {
				_, _ = w.Write([]byte(event + `{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"m"}}` + "\n\n"))
			},
			code: -32021, status: 200, want: `"code":-32021`,
		},
		"a result": {
			write: func(w http.ResponseWriter) {
				_, _ = w.Write([]byte(event + `{"jsonrpc":"2.0","id":1,"result":{"error":"x"}}` + "\n\n"))
			},
			status: 200, want: event + `{"jsonrpc":"2.0","id":1,"result":{"error":"x"}}` + "\n\n",
		},
		"JSON": {
			write: func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write([]byte(`{}`))
			},
			status: 404, want: `{}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := httptest.NewRecorder()
			e := &exchange{http: t.Context()}
			e.code.Store(test.code)
			test.write(&ownWords{ResponseWriter: recorder, exchange: e})
			body := recorder.Body.String()
			if recorder.Code != test.status || !strings.Contains(body, test.want) {
				t.Errorf("got HTTP %d: %s", recorder.Code, body)
			}
			if test.not != "" && strings.Contains(body, test.not) {
				t.Errorf("%s is in %s", test.not, body)
			}
		})
	}
}
