package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/task"
)

// The controller's own metrics. No label has more values than the API has states and reasons.
var (
	tasksFinished = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mcptasks_tasks_finished_total",
		Help: "Tasks that reached a terminal state, by state and reason.",
	}, []string{"state", "reason"})

	taskCapture = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "mcptasks_task_capture_seconds",
		Help:    "Time from the end of a main container, which the kubelet tells in whole seconds, to the task's terminal state.",
		Buckets: []float64{0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60, 120},
	})

	expiryLateness = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "mcptasks_task_expiry_lateness_seconds",
		Help:    "How long after status.expiresAt a task was deleted.",
		Buckets: []float64{0.1, 0.5, 1, 2, 5, 10, 60, 300, 1800, 3600},
	})
)

func init() {
	metrics.Registry.MustRegister(tasksFinished, taskCapture, expiryLateness)
}

func countFinished(t *v1alpha1.MCPTask, v task.Verdict) {
	tasksFinished.WithLabelValues(string(t.Status.State), t.Status.Reason).Inc()
	if !v.EndedAt.IsZero() && t.Status.FinishedAt != nil {
		taskCapture.Observe(max(0, t.Status.FinishedAt.Sub(v.EndedAt)).Seconds())
	}
}

func countExpired(late time.Duration) { expiryLateness.Observe(late.Seconds()) }
