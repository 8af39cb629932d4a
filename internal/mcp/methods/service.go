package methods

import (
	"context"

	"k8s.io/utils/clock"

	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/mcp/catalog"
	"github.com/mcptasks/mcptasks/internal/mcp/roundtrip"
	"github.com/mcptasks/mcptasks/internal/store"
)

// Service carries out methods. It is safe for concurrent use.
type Service struct {
	catalog  *catalog.Catalog
	tasks    *store.Store
	states   *roundtrip.Sealer
	clock    clock.PassiveClock
	draining context.Context
	// companions are offered beside the catalog's tools; empty where they are switched off.
	companions []companion
	// logs are served as resources; nil where they are not.
	logs Logs
	// reading has room for as many logs as may be read at a time.
	reading chan struct{}
}

// New makes a Service. states seals what clients carry from one round of questions to the next. When draining ends, calls that
// are being waited for are answered as if their time were up: the process is about to end, the work is not.
func New(
	draining context.Context, tools *catalog.Catalog, tasks *store.Store, states *roundtrip.Sealer, now clock.PassiveClock,
) *Service {
	return &Service{catalog: tools, tasks: tasks, states: states, clock: now, draining: draining}
}

// WithCompanions offers the companion tools, task_status and task_cancel, too. Call it before the first method.
func (s *Service) WithCompanions() { s.companions = companions() }

// WithLogs serves the logs of tasks as resources, too. Call it before the first method.
func (s *Service) WithLogs(logs Logs) {
	s.logs, s.reading = logs, make(chan struct{}, maxReading)
}

func scopeOf(caller auth.Caller) store.Scope {
	return store.Scope{Namespace: caller.Namespace, Owner: caller.Owner()}
}
