package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/controller"
	"github.com/mcptasks/mcptasks/internal/rights"
	"github.com/mcptasks/mcptasks/internal/version"
)

// controllerOptions are the flags of "mcptasks controller".
type controllerOptions struct {
	catalogNamespace string
	healthAddress    string
	metricsAddress   string
	leaderElect      bool
	leaseNamespace   string
	concurrency      int
	companionTools   bool
	logLinks         bool
}

func (o *controllerOptions) addFlags(flags *pflag.FlagSet) {
	own := os.Getenv("POD_NAMESPACE")
	flags.StringVar(&o.catalogNamespace, "catalog-namespace", own,
		"namespace of the tools that are offered to all tenants (default: the pod's own, from POD_NAMESPACE)")
	flags.StringVar(&o.healthAddress, "health-address", ":8081", "address of /healthz and /readyz")
	flags.StringVar(&o.metricsAddress, "metrics-address", ":8082", `address of /metrics, or "0" for none`)
	flags.BoolVar(&o.leaderElect, "leader-elect", true, "work only while holding a lease, so that several replicas may run")
	flags.StringVar(&o.leaseNamespace, "lease-namespace", own, "namespace of the lease (default: the pod's own, from POD_NAMESPACE)")
	flags.BoolVar(&o.companionTools, "companion-tools", false,
		"the endpoint offers task_status and task_cancel itself: tools of these names are not Ready")
	flags.BoolVar(&o.logLinks, "log-links", false,
		"the endpoint serves logs (--serve-logs): put a link to the log into a result that does not have all of it")
	flags.IntVar(&o.concurrency, "concurrency", 16, "how many tasks are worked on at the same time")
}

func (o *controllerOptions) validate() error {
	switch {
	case o.catalogNamespace == "":
		return errors.New("--catalog-namespace or the environment variable POD_NAMESPACE is needed")
	case o.leaderElect && o.leaseNamespace == "":
		return errors.New("--lease-namespace or the environment variable POD_NAMESPACE is needed, or --leader-elect=false")
	case o.concurrency < 1:
		return fmt.Errorf("--concurrency %d: at least 1 is needed", o.concurrency)
	}
	return nil
}

func newControllerCommand() *cobra.Command {
	var o controllerOptions
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Turn MCPTasks into Jobs, follow them, and record what became of them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return runController(cmd.Context(), o)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

// runController runs the controllers until the context ends or the lease is lost. The process has to end after it: it may have
// given its lease back.
func runController(ctx context.Context, o controllerOptions) error {
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	cfg.UserAgent = controller.Name + "/" + version.String()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("register the API types: %w", err)
	}
	if o.leaderElect {
		cfg.Wrap(controller.Fence(clock.RealClock{}))
	}
	leaseDuration := controller.LeaseDuration
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                        scheme,
		Logger:                        logr.FromContextOrDiscard(ctx),
		Cache:                         controller.CacheOptions(),
		Metrics:                       metricsserver.Options{BindAddress: o.metricsAddress},
		HealthProbeBindAddress:        o.healthAddress,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              controller.Name,
		LeaderElectionNamespace:       o.leaseNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &leaseDuration,
	})
	if err != nil {
		return fmt.Errorf("set up the controllers: %w", err)
	}
	if err := controller.Setup(ctx, mgr, controller.Options{
		CatalogNamespace: o.catalogNamespace, Concurrency: o.concurrency, CompanionTools: o.companionTools,
		LogLinks: o.logLinks,
	}); err != nil {
		return fmt.Errorf("set up the controllers: %w", err)
	}
	allowed, err := rights.NewCheck(mgr.GetClient(), controller.Rights(), metrics.Registry, mgr.GetLogger().WithName("rights"))
	if err != nil {
		return fmt.Errorf("set up the controllers: %w", err)
	}
	if err := errors.Join(
		mgr.Add(allowed),
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("informers", informersSynced(mgr.GetCache())),
		mgr.AddReadyzCheck("rights", allowed.Ready),
	); err != nil {
		return fmt.Errorf("set up the health checks: %w", err)
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the controllers: %w", err)
	}
	return nil
}

// informersSynced is a readiness check: the caches are filled. A replica that waits for the lease has empty ones, and is ready.
func informersSynced(informers cache.Cache) healthz.Checker {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), time.Second)
		defer cancel()
		if !informers.WaitForCacheSync(ctx) {
			return errors.New("the caches are not filled yet: can the API server be reached, and are the CRDs installed?")
		}
		return nil
	}
}
