package guard

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts and times requests.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mcptasks_endpoint_requests_total",
			Help: "Requests answered, by JSON-RPC method (empty: turned away before it was known), JSON-RPC error code (0: a result) " +
				"and HTTP status.",
		}, []string{"method", "code", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "mcptasks_endpoint_request_duration_seconds",
			Help:    "Time from a request's headers to the end of its answer, by JSON-RPC method.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"method"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mcptasks_endpoint_requests_in_flight",
			Help: "Requests that are being answered now, calls that are waited for among them.",
		}),
	}
	for _, collector := range []prometheus.Collector{m.requests, m.duration, m.inFlight} {
		if err := registerer.Register(collector); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Observe writes one line of access log for each request and counts it. Tokens, arguments and results are never logged.
func Observe(logger logr.Logger, metrics *Metrics, next http.Handler) http.Handler {
	access := slog.New(logr.ToSlogHandler(logger)) // whose attributes need no memory each
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		record := &Record{}
		response := observed(w)
		begin := time.Now()
		metrics.inFlight.Inc()
		completed := false
		defer func() { // also when there was a panic, which goes on to Recover
			metrics.inFlight.Dec()
			status := response.status
			switch {
			case !completed && status == 0:
				status = http.StatusInternalServerError
			case status == 0:
				status = http.StatusOK
			}
			took := time.Since(begin)
			metrics.requests.WithLabelValues(record.Method, strconv.Itoa(record.Code), strconv.Itoa(status)).Inc()
			metrics.duration.WithLabelValues(record.Method).Observe(took.Seconds())
			access.LogAttrs(r.Context(), slog.LevelInfo, "request",
				slog.String("rpc", record.Method), slog.String("target", record.Target), slog.String("task", record.Task),
				slog.Int("code", record.Code), slog.String("http", r.Method), slog.Int("status", status),
				slog.Int64("bytes", response.bytes), slog.Int64("ms", took.Milliseconds()),
				slog.String("issuer", record.Caller.Issuer), slog.String("subject", record.Caller.Subject),
				slog.String("tenant", record.Caller.Tenant))
		}()
		next.ServeHTTP(response, r.WithContext(withRecord(r.Context(), record)))
		completed = true
	})
}
