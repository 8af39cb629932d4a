package controller

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/podlog"
)

// Name is the controller's name: its field manager, its events' reporter, the name of its lease.
const Name = "mcptasks-controller"

// Options are what the controllers need to be told.
type Options struct {
	// CatalogNamespace is where the tools that are offered to all tenants live. Required.
	CatalogNamespace string
	// Concurrency is how many tasks are worked on at the same time. Default: 16.
	Concurrency int
	// CompanionTools says that the endpoint offers its companion tools, whose names no MCPTool can have then.
	CompanionTools bool
	// Clock tells the time. Default: the machine's.
	Clock clock.PassiveClock
	// LogLinks puts a link to the log into a result that does not have all of it: the endpoint serves logs.
	LogLinks bool
	// Logs reads the logs of pods. Default: the API server's pods/log.
	Logs LogReader
}

// Setup adds the controllers to a manager that was made with the cache options of CacheOptions.
func Setup(ctx context.Context, mgr manager.Manager, o Options) error {
	if o.Concurrency == 0 {
		o.Concurrency = 16
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Logs == nil {
		clientset, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
		if err != nil {
			return fmt.Errorf("client for logs: %w", err)
		}
		o.Logs = podlog.Reader{Pods: clientset.CoreV1()}
	}
	if err := addIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	for name, add := range map[string]func(manager.Manager, Options) error{
		"task": addTaskController, "expiry": addExpiryController, "tool": addToolController,
	} {
		if err := add(mgr, o); err != nil {
			return fmt.Errorf("add the %s controller: %w", name, err)
		}
	}
	return nil
}

func addTaskController(mgr manager.Manager, o Options) error {
	c := newTaskController(mgr, o)
	return ctrl.NewControllerManagedBy(mgr).
		Named("task").
		For(&v1alpha1.MCPTask{}).
		Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(taskOfPod)).
		Watches(&v1alpha1.MCPTool{}, handler.EnqueueRequestsFromMapFunc(c.waitingFor),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Concurrency}).
		Complete(c)
}

func addExpiryController(mgr manager.Manager, o Options) error {
	expires := predicate.NewPredicateFuncs(func(obj client.Object) bool {
		t, ok := obj.(*v1alpha1.MCPTask)
		return ok && t.Status.ExpiresAt != nil
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("expiry").
		For(&v1alpha1.MCPTask{}, builder.WithPredicates(expires)).
		Complete(&expiryController{client: mgr.GetClient(), live: mgr.GetAPIReader(), clock: o.Clock})
}

func addToolController(mgr manager.Manager, o Options) error {
	c := &toolController{client: mgr.GetClient(), clock: o.Clock, catalog: o.CatalogNamespace}
	if o.CompanionTools {
		c.reserved = v1alpha1.CompanionNames()
	}
	// The unsafe spots that an author accepts are an annotation.
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	return ctrl.NewControllerManagedBy(mgr).
		Named("tool").
		For(&v1alpha1.MCPTool{}, builder.WithPredicates(changed)).
		Watches(&v1alpha1.MCPTool{}, handler.EnqueueRequestsFromMapFunc(c.rivals), builder.WithPredicates(changed)).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(c.toolsIn),
			builder.WithPredicates(predicate.LabelChangedPredicate{})).
		Complete(c)
}

// taskOfPod maps a pod to the task whose Job it belongs to.
func taskOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{
		Namespace: pod.GetNamespace(), Name: pod.GetLabels()[v1alpha1.LabelTask],
	}}}
}
