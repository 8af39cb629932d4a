package listen

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts streams and what is sent on them.
type metrics struct {
	open          prometheus.Gauge
	notifications *prometheus.CounterVec
	ended         *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		open: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mcptasks_endpoint_listen_streams",
			Help: "Streams of subscriptions/listen that are open now.",
		}),
		notifications: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mcptasks_endpoint_listen_notifications_total",
			Help: "Notifications sent on streams of subscriptions/listen, by method.",
		}, []string{"method"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mcptasks_endpoint_listen_ended_total",
			Help: "Streams of subscriptions/listen that have ended, by reason: the client hung up (client) or stood still (stalled), " +
				"it may no longer listen (refused), the endpoint shuts down (shutdown), or a mistake of ours (error).",
		}, []string{"reason"}),
	}
	for _, collector := range []prometheus.Collector{m.open, m.notifications, m.ended} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register a metric: %w", err)
		}
	}
	for _, reason := range []ending{byClient, byStalling, byRefusal, byShutdown, byError} {
		m.ended.WithLabelValues(string(reason)) // so that a rate has a beginning
	}
	return m, nil
}
