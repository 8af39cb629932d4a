package guard_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mcptasks/mcptasks/internal/mcp/guard"
)

func TestRecover(t *testing.T) {
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		status  int
		body    string
	}{
		"before anything was written": {func(http.ResponseWriter, *http.Request) { panic("boom") }, 500, `"code":-32603`},
		"after the status": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			panic(errors.New("boom"))
		}, 202, ``},
		"no panic": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("fine")) }, 200, `fine`},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			logger := funcr.New(func(_, args string) { log.WriteString(args) }, funcr.Options{})
			recorder := httptest.NewRecorder()
			guard.Recover(logger, test.handler).ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", nil))
			if recorder.Code != test.status || !strings.Contains(recorder.Body.String(), test.body) {
				t.Errorf("got HTTP %d: %s", recorder.Code, recorder.Body)
			}
			if strings.Contains(recorder.Body.String(), "boom") {
				t.Error("the client is told the cause")
			}
			if panicked := strings.Contains(log.String(), "boom"); panicked != (name != "no panic") {
				t.Errorf("got log %s", &log)
			}
		})
	}
}

func TestRecoverLetsConnectionsBeBrokenOff(t *testing.T) {
	defer func() {
		if cause, _ := recover().(error); !errors.Is(cause, http.ErrAbortHandler) {
			t.Error("http.ErrAbortHandler did not reach the server")
		}
	}()
	abort := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	guard.Recover(logr.Discard(), abort).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil))
}

func TestPanicsAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics, err := guard.NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	panics := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })
	chain := guard.Recover(logr.Discard(), guard.Observe(logr.Discard(), metrics, panics))
	chain.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			name := family.GetName()
			for _, label := range metric.Label {
				name += " " + label.GetName() + "=" + label.GetValue()
			}
			values[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		}
	}
	if values["mcptasks_endpoint_requests_total code=0 method= status=500"] != 1 {
		t.Errorf("the panic is not counted: %v", values)
	}
	if values["mcptasks_endpoint_requests_in_flight"] != 0 {
		t.Errorf("the request is still in flight: %v", values)
	}
}

func TestOriginsMustBeOrigins(t *testing.T) {
	for _, origin := range []string{"app.example.com", "https://app.example.com/", "https://app.example.com/x", "*", ""} {
		if _, err := guard.NewOrigins([]string{origin}, false); err == nil {
			t.Errorf("%q was taken", origin)
		}
	}
}
