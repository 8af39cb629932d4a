// Package endpoint puts the parts of the MCP endpoint together: caches, store, authentication, the chain of handlers, and the
// server that begins when its caches are full and ends without breaking anybody's call.
//
// It decides nothing about a request itself.
package endpoint

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/mcp/catalog"
	"github.com/mcptasks/mcptasks/internal/mcp/front"
	"github.com/mcptasks/mcptasks/internal/mcp/guard"
	"github.com/mcptasks/mcptasks/internal/mcp/listen"
	"github.com/mcptasks/mcptasks/internal/mcp/methods"
	"github.com/mcptasks/mcptasks/internal/mcp/sdk"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
	"github.com/mcptasks/mcptasks/internal/store"
)

// Path is where the endpoint answers.
const Path = "/mcp"

// instructions are the hint for models that clients pass on.
const instructions = "The tools of this server run as jobs on a Kubernetes cluster and may take from seconds to hours. " +
	"A call may be answered by a task: its status message says how far it is, and its result is kept for a while after the end."

// Options say how an endpoint behaves.
type Options struct {
	// CatalogNamespace is the namespace of the tools that are offered to all tenants.
	CatalogNamespace string
	// Audience is what callers' tokens must have been issued for.
	Audience string
	// AllowedOrigins are the web pages that may call.
	AllowedOrigins []string
	// AnonymousNamespace, where not empty, lets everybody in without a token, as a caller of that tenant namespace.
	AnonymousNamespace string
	// LenientName accepts tasks/* without the header Mcp-Name.
	LenientName bool
	// Loopback says that the endpoint listens on a loopback address only.
	Loopback bool
	// NameKey, which all replicas share, makes calls with idempotency keys possible; empty: they are refused.
	NameKey []byte
	// StateKey, 32 bytes that all replicas share, seals what clients carry from one round of questions to the next; empty: this
	// process makes one up, and a call with a second round has to come back to it.
	StateKey []byte
	// RequestsPerSecond is how many requests each caller may send a second; 0: any number.
	RequestsPerSecond float64
	// Burst is how many of them each caller may send at once after a pause.
	Burst int
	// StreamsPerCaller is how many streams of subscriptions/listen each caller may have open; 0: any number.
	StreamsPerCaller int
	// Streams is how many of them all callers together may have open; 0: any number.
	Streams int
	// FailuresPerSecond is how many tokens that are not valid each address may send a second before its unknown tokens are no longer
	// looked at; 0: any number.
	FailuresPerSecond float64
	// FailureBurst is how many of them each address may send at once after a pause.
	FailureBurst int
	// CompanionTools offers task_status and task_cancel, for clients without the Tasks extension.
	CompanionTools bool
	// ServeLogs lets callers read the logs of their tasks as resources.
	ServeLogs bool
	// Version is the version of the program.
	Version string
}

// Cluster is what an endpoint knows its cluster by.
type Cluster struct {
	// Client writes.
	Client client.Writer
	// Live reads from the API server.
	Live client.Reader
	// Cache reads from the informers that CacheOptions describes.
	Cache cache.Cache
	// Health is the one that was given to CacheOptions.
	Health *store.Health
	// Logs read the logs of pods; needed with Options.ServeLogs.
	Logs methods.Logs
	// Clock tells the time. Default: the real one.
	Clock clock.WithTickerAndDelayedExecution
}

// now is the clock.
func (c Cluster) now() clock.PassiveClock {
	if c.Clock == nil {
		return clock.RealClock{}
	}
	return c.Clock
}

// CacheOptions describes all that the endpoint keeps in memory of a cluster.
func CacheOptions(health *store.Health) cache.Options {
	return cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.MCPTask{}: store.CacheOptions(),
			&v1alpha1.MCPTool{}: catalog.CacheOptions(),
			&corev1.Namespace{}: auth.NamespaceCacheOptions(),
		},
		NewInformer: health.NewInformer,
		// Anything else that is read by mistake must fail in a test, not fill the memory in production.
		ReaderFailOnMissingInformer: true,
	}
}

// NewHandler makes the whole chain of handlers. Call it before the caches start. When draining ends, calls that are being
// waited for are answered without their result, and streams are ended.
func NewHandler(
	draining context.Context, cluster Cluster, options Options, registerer prometheus.Registerer, logger logr.Logger,
) (http.Handler, error) {
	tasks := store.New(store.Config{
		Client: cluster.Client, Live: cluster.Live, Cache: cluster.Cache, Health: cluster.Health, Clock: cluster.Clock,
		NameKey: options.NameKey,
	})
	if err := tasks.Observe(draining, cluster.Cache); err != nil {
		return nil, err
	}
	tools := catalog.New(cluster.Cache, cluster.Live, options.CatalogNamespace)
	if err := tools.Observe(draining, cluster.Cache); err != nil {
		return nil, err
	}
	authenticator, err := newAuthenticator(cluster, options)
	if err != nil {
		return nil, err
	}
	origins, err := guard.NewOrigins(options.AllowedOrigins, options.Loopback)
	if err != nil {
		return nil, err
	}
	metrics, err := guard.NewMetrics(registerer)
	if err != nil {
		return nil, fmt.Errorf("register the metrics: %w", err)
	}
	self := wire.Server{Name: "mcptasks", Title: "Kubernetes jobs as tools", Version: options.Version}
	listeners, err := listen.New(draining, listen.Config{
		Tasks: tasks, Tools: tools, Authenticator: authenticator, Server: self, Clock: cluster.Clock,
		PerCaller: options.StreamsPerCaller, Total: options.Streams,
		Registerer: registerer, Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	states, err := newStates(options.StateKey, cluster.Clock)
	if err != nil {
		return nil, err
	}
	service := methods.New(draining, tools, tasks, states, cluster.now())
	if options.CompanionTools {
		service.WithCompanions()
	}
	if options.ServeLogs {
		service.WithLogs(cluster.Logs)
	}
	protocol := front.New(front.Config{
		Methods:      service,
		Listen:       listeners,
		Legacy:       sdk.NewHandler(service, self, instructions, logger),
		Server:       self,
		Instructions: instructions,
		LenientName:  options.LenientName,
		Logger:       logger,
	})

	limiter := guard.NewLimiter(options.RequestsPerSecond, options.Burst, cluster.now())
	mux := http.NewServeMux()
	mux.Handle(Path, guard.PostOnly(guard.Authenticate(logger, authenticator, guard.Limit(limiter, protocol))))
	mux.Handle("/", guard.NotFound(Path))
	return guard.Recover(logger, guard.Observe(logger, metrics, guard.CheckOrigin(origins, mux))), nil
}

func newAuthenticator(cluster Cluster, options Options) (auth.Authenticator, error) {
	tenants := auth.Tenants{Cache: cluster.Cache, Live: cluster.Live}
	if options.AnonymousNamespace != "" {
		return auth.Anonymous{Namespace: options.AnonymousNamespace, Tenants: tenants}, nil
	}
	failures := auth.NewFailureLimit(options.FailuresPerSecond, options.FailureBurst, cluster.now())
	return auth.NewTokenReviews(cluster.Client, options.Audience, tenants, failures, cluster.now())
}
