package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/keys"
	"github.com/mcptasks/mcptasks/internal/mcp/endpoint"
	"github.com/mcptasks/mcptasks/internal/podlog"
	"github.com/mcptasks/mcptasks/internal/rights"
	"github.com/mcptasks/mcptasks/internal/store"
	"github.com/mcptasks/mcptasks/internal/version"
)

// endpointOptions are the flags of "mcptasks endpoint".
type endpointOptions struct {
	address            string
	healthAddress      string
	metricsAddress     string
	catalogNamespace   string
	audience           string
	allowedOrigins     []string
	anonymousNamespace string
	lenientName        bool
	keySecret          string
	requestsPerSecond  float64
	burst              int
	callerStreams      int
	streams            int
	failuresPerSecond  float64
	failureBurst       int
	companionTools     bool
	serveLogs          bool
}

func (o *endpointOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.address, "address", "", "address of "+endpoint.Path+
		` (default: ":8080"; with --insecure-anonymous "127.0.0.1:8080", so that only this machine is let in)`)
	flags.StringVar(&o.healthAddress, "health-address", ":8081", "address of /healthz and /readyz")
	flags.StringVar(&o.metricsAddress, "metrics-address", ":8082", `address of /metrics, or "0" for none`)
	flags.StringVar(&o.catalogNamespace, "catalog-namespace", os.Getenv("POD_NAMESPACE"),
		"namespace of the tools that are offered to all tenants (default: the pod's own, from POD_NAMESPACE)")
	flags.StringVar(&o.audience, "audience", "mcptasks", "audience that callers' tokens must be issued for")
	flags.StringSliceVar(&o.allowedOrigins, "allowed-origins", nil,
		"web pages that may call, such as https://app.example.com; programs need none")
	flags.StringVar(&o.anonymousNamespace, "insecure-anonymous", "",
		"let everybody in WITHOUT A TOKEN, as a caller of this tenant namespace; for a laptop")
	flags.BoolVar(&o.lenientName, "lenient-mcp-name", false,
		"accept tasks/get, tasks/update and tasks/cancel without the header Mcp-Name; a wrong one is always refused")
	flags.BoolVar(&o.companionTools, "companion-tools", false,
		"offer the tools task_status and task_cancel, by which clients without the Tasks extension go on with calls that take long")
	flags.BoolVar(&o.serveLogs, "serve-logs", false,
		"let callers read the logs of their finished tasks as resources; needs the right to read the logs of pods")
	flags.Float64Var(&o.requestsPerSecond, "caller-rate", 100,
		"requests a second that each caller may send to this replica, polls included; 0 for any number")
	flags.IntVar(&o.burst, "caller-burst", 500, "requests that each caller may send at once after a pause")
	flags.IntVar(&o.callerStreams, "caller-streams", 100,
		"streams of subscriptions/listen that each caller may have open at this replica; 0 for any number")
	flags.IntVar(&o.streams, "streams", 2000,
		"streams of subscriptions/listen that all callers together may have open at this replica; 0 for any number")
	flags.Float64Var(&o.failuresPerSecond, "failed-authentication-rate", 50,
		"tokens a second that each address may send to this replica and that are not valid, before those from there that are not "+
			"known yet are turned away; 0 for any number")
	flags.IntVar(&o.failureBurst, "failed-authentication-burst", 500,
		"tokens that each address may send at once after a pause and that are not valid")
	flags.StringVar(&o.keySecret, "key-secret", "",
		"NAMESPACE/NAME of an existing Secret that all replicas share, filled at the first start; without it, calls with an "+
			"idempotency key are refused, and several rounds of questions have to reach the same replica")
}

// complete fills in what follows from other flags.
func (o *endpointOptions) complete() {
	switch {
	case o.address != "":
	case o.anonymousNamespace != "":
		o.address = "127.0.0.1:8080"
	default:
		o.address = ":8080"
	}
}

func (o *endpointOptions) validate() error {
	switch {
	case o.catalogNamespace == "":
		return errors.New("--catalog-namespace or the environment variable POD_NAMESPACE is needed")
	case o.requestsPerSecond < 0 || o.burst < 1:
		return errors.New("--caller-rate must not be negative, and --caller-burst at least 1")
	case o.callerStreams < 0 || o.streams < 0:
		return errors.New("--caller-streams and --streams must not be negative")
	case o.failuresPerSecond < 0 || o.failureBurst < 1:
		return errors.New("--failed-authentication-rate must not be negative, and --failed-authentication-burst at least 1")
	case o.keySecret != "" && !validReference(o.keySecret):
		return fmt.Errorf("--key-secret must be NAMESPACE/NAME of a Secret, not %q", o.keySecret)
	case o.audience == "":
		return errors.New("--audience is needed: without one, tokens made for others would be good here")
	}
	return nil
}

// validReference reports whether a flag names an object as NAMESPACE/NAME.
func validReference(value string) bool {
	namespace, name, ok := strings.Cut(value, "/")
	return ok && namespace != "" && name != "" && !strings.Contains(name, "/")
}

func newEndpointCommand() *cobra.Command {
	var o endpointOptions
	cmd := &cobra.Command{
		Use:   "endpoint",
		Short: "Answer agents: list tools, record calls as MCPTasks, and tell what became of them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.complete()
			if err := o.validate(); err != nil {
				return err
			}
			return runEndpoint(cmd.Context(), o)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

// ballastBytes is memory that is counted as in use and never touched, so that the machine gives none for it. The garbage
// collector runs when what is in use has doubled: with little in use it would run for every few hundred polls, which leave
// nothing but garbage, and take a fifth of the time. In return the process may become larger by up to twice this size.
const ballastBytes = 32 << 20

// runEndpoint serves until the context ends and the requests in flight have been answered.
func runEndpoint(ctx context.Context, o endpointOptions) error {
	ballast := make([]byte, ballastBytes)
	defer runtime.KeepAlive(ballast)
	logger := logr.FromContextOrDiscard(ctx)
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	cfg.UserAgent = "mcptasks-endpoint/" + version.String()
	// The API server's own fairness decides how fast we may be; the client's default of 20 requests a second would.
	cfg.QPS = -1
	scheme := apiruntime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("register the API types: %w", err)
	}
	health := store.NewHealth(nil)
	patience := endpoint.ShutdownTimeout
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                  scheme,
		Logger:                  logger,
		Cache:                   endpoint.CacheOptions(health),
		Metrics:                 metricsserver.Options{BindAddress: o.metricsAddress},
		HealthProbeBindAddress:  o.healthAddress,
		GracefulShutdownTimeout: &patience,
	})
	if err != nil {
		return fmt.Errorf("set up the endpoint: %w", err)
	}
	shared, err := o.sharedKeys(ctx, mgr)
	if err != nil {
		return fmt.Errorf("set up the endpoint: %w", err)
	}
	clientset, err := kubernetes.NewForConfigAndClient(cfg, mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("set up the endpoint: %w", err)
	}
	draining, drain := context.WithCancel(context.WithoutCancel(ctx))
	defer drain()
	handler, err := endpoint.NewHandler(draining,
		endpoint.Cluster{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Cache: mgr.GetCache(), Health: health,
			Logs: podlog.Reader{Pods: clientset.CoreV1()}},
		endpoint.Options{
			CatalogNamespace:   o.catalogNamespace,
			Audience:           o.audience,
			AllowedOrigins:     o.allowedOrigins,
			AnonymousNamespace: o.anonymousNamespace,
			LenientName:        o.lenientName,
			NameKey:            shared.name,
			StateKey:           shared.state,
			RequestsPerSecond:  o.requestsPerSecond,
			Burst:              o.burst,
			StreamsPerCaller:   o.callerStreams,
			Streams:            o.streams,
			FailuresPerSecond:  o.failuresPerSecond,
			FailureBurst:       o.failureBurst,
			CompanionTools:     o.companionTools,
			ServeLogs:          o.serveLogs,
			Loopback:           listensOnLoopback(o.address),
			Version:            version.String(),
		}, metrics.Registry, logger)
	if err != nil {
		return fmt.Errorf("set up the endpoint: %w", err)
	}
	server := &endpoint.Server{
		Address: o.address, Handler: handler, Drain: drain, Anonymous: o.anonymousNamespace != "", Logger: logger,
	}
	allowed, err := rights.NewCheck(mgr.GetClient(), endpoint.Rights(), metrics.Registry, logger.WithName("rights"))
	if err != nil {
		return fmt.Errorf("set up the endpoint: %w", err)
	}
	if err := errors.Join(
		mgr.Add(server),
		// Not a readiness check: what can be served without the right is worth serving.
		mgr.Add(allowed),
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("serving", server.Ready),
	); err != nil {
		return fmt.Errorf("set up the endpoint: %w", err)
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the endpoint: %w", err)
	}
	return nil
}

// sharedKeys are what the replicas have in common; nil where there is no Secret to share them by.
type sharedKeys struct {
	// name is what the task ids of calls with idempotency keys follow from.
	name []byte
	// state seals what a client carries from one round of questions to the next.
	state []byte
}

func (o *endpointOptions) sharedKeys(ctx context.Context, mgr ctrl.Manager) (shared sharedKeys, err error) {
	if o.keySecret == "" {
		return sharedKeys{}, nil
	}
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	namespace, name, _ := strings.Cut(o.keySecret, "/")
	seed, err := keys.Ensure(ctx, mgr.GetAPIReader(), mgr.GetClient(), types.NamespacedName{Namespace: namespace, Name: name}, nil)
	if err != nil {
		return sharedKeys{}, err
	}
	if shared.name, err = seed.Key("task names"); err != nil {
		return sharedKeys{}, err
	}
	shared.state, err = seed.Key("request states")
	return shared, err
}

// listensOnLoopback reports whether only this machine can reach an address.
func listensOnLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}
