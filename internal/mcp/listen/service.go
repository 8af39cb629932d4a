package listen

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/mcp/sse"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
	"github.com/mcptasks/mcptasks/internal/store"
)

const (
	// keepAlive is the pause between two comments. Proxies end connections on which they see nothing for 30 to 60 seconds. It
	// is also how often all subjects are looked at without having been heard of, for the times when no changes are heard of.
	keepAlive = 15 * time.Second
	// lookTimeout bounds one look at a subject, so that the comments do not wait for long.
	lookTimeout = 5 * time.Second
	// settle is how long a change of tools is waited with: a tool that is changed is away until it has been checked, and many
	// tend to change together.
	settle = 500 * time.Millisecond
	// parallelism is how many ids of one request are looked up at a time.
	parallelism = 8
)

// Tasks is where tasks are read and changes of them are heard of.
type Tasks interface {
	// Watch calls changed after each change of the scope's task, its deletion included, until stop is called. A burst of
	// changes may be told as one. The error is store.ErrNotFound where the scope has no such task. changed does not block.
	Watch(ctx context.Context, scope store.Scope, id string, changed func()) (stop func(), err error)
	// Get returns the scope's task as it is now, or store.ErrNotFound.
	Get(ctx context.Context, scope store.Scope, id string) (*v1alpha1.MCPTask, error)
}

// Tools is where lists of tools are compared and changes of them are heard of.
type Tools interface {
	// Watch calls changed after each change that may concern a list of tools, anybody's, until stop is called. changed does not
	// block.
	Watch(changed func()) (stop func())
	// Version identifies the list of tools of the callers of a tenant's namespace: it changes when the list does.
	Version(ctx context.Context, namespace string) (string, error)
}

// Config is what a Service works with.
type Config struct {
	// Tasks has the tasks.
	Tasks Tasks
	// Tools has the tools.
	Tools Tools
	// Authenticator says again, before anything is told, whether the client is still who it was: a stream may outlive its
	// token.
	Authenticator auth.Authenticator
	// Server is how the endpoint calls itself.
	Server wire.Server
	// Clock tells the time. Default: the real one.
	Clock clock.WithTickerAndDelayedExecution
	// PerCaller is how many streams each caller may have open; 0: any number.
	PerCaller int
	// Total is how many streams all callers together may have open; 0: any number.
	Total int
	// WriteTimeout is how long a client may take to receive one event. Default: sse.DefaultTimeout.
	WriteTimeout time.Duration
	// Registerer registers the metrics.
	Registerer prometheus.Registerer
	// Logger logs what clients are not told.
	Logger logr.Logger
}

// Service serves streams. It is safe for concurrent use.
type Service struct {
	Config
	draining context.Context
	metrics  *metrics
	places   *places
}

// New makes a Service. When draining ends, streams are ended with their result.
func New(draining context.Context, config Config) (*Service, error) {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.WriteTimeout == 0 {
		config.WriteTimeout = sse.DefaultTimeout
	}
	metrics, err := newMetrics(config.Registerer)
	if err != nil {
		return nil, err
	}
	return &Service{
		Config: config, draining: draining, metrics: metrics, places: newPlaces(config.PerCaller, config.Total),
	}, nil
}

// Request is a subscriptions/listen whose envelope has been checked.
type Request struct {
	// ID is the request's id as it was sent.
	ID json.RawMessage
	// Notifications is params.notifications, nil where it is missing.
	Notifications json.RawMessage
	// Tasks tells whether the request declares the Tasks extension.
	Tasks bool
	// Caller sent it.
	Caller auth.Caller
}

// Serve answers a request: with a stream, and then it returns nil when the stream has ended, or with nothing and an error,
// which is a *wire.Error where it concerns the client.
//
// The stream begins with the part of the filter that is honoured: the client's own tasks among taskIds, without a word about
// others. Then comes the present state of each, and then each newer one. It stays open when all of them have ended, until
// the client hangs up or the endpoint shuts down.
func (s *Service) Serve(w http.ResponseWriter, r *http.Request, request Request) error {
	wanted, invalid := parseFilter(request.Notifications)
	if invalid != nil {
		return invalid
	}
	if wanted.tasks && !request.Tasks {
		return wire.MissingTasksCapability()
	}
	leave, full := s.places.take(request.Caller.Owner())
	if full != nil {
		return full
	}
	defer leave()
	stream := newStream(s, w, r, request)
	defer stream.close()
	honoured, err := stream.subscribe(r.Context(), wanted)
	if err != nil {
		return err
	}
	first, err := acknowledgement(stream.of, honoured)
	if err != nil {
		return fmt.Errorf("encode the acknowledgement: %w", err)
	}
	s.metrics.open.Inc()
	defer s.metrics.open.Dec()
	s.metrics.ended.WithLabelValues(string(stream.run(r.Context(), first))).Inc()
	return nil
}
