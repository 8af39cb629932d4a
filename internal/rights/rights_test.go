package rights

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// authorizer is an API server that answers reviews of rights.
type authorizer struct {
	mu     sync.Mutex
	denied string
	err    error
}

// says lets it deny a right, in RBAC's words, or answer with an error from now on.
func (a *authorizer) says(denied string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.denied, a.err = denied, err
}

func (a *authorizer) client(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := authorizationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			review, ok := object.(*authorizationv1.SelfSubjectAccessReview)
			if !ok {
				t.Fatalf("it creates a %T", object)
			}
			r := review.Spec.ResourceAttributes
			right := Right{Verb: r.Verb, Group: r.Group, Resource: r.Resource}
			if r.Subresource != "" {
				right.Resource += "/" + r.Subresource
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			review.Status.Allowed = right.String() != a.denied
			return a.err
		},
	}).Build()
}

func TestMissingRightIsTold_B42(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &authorizer{}
		var said []string
		logger := funcr.New(func(_, args string) { said = append(said, args) }, funcr.Options{})
		needed := List(Of("batch", "jobs", "create", "delete"), Of("", "pods/log", "get"))
		registry := prometheus.NewRegistry()
		check, err := NewCheck(a.client(t), needed, registry, logger)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- check.Start(ctx) }()
		after := func(d time.Duration, missing string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			err := check.Ready(nil)
			families, gatherError := registry.Gather()
			if gatherError != nil || len(families) != 1 {
				t.Fatalf("%d metrics, %v", len(families), gatherError)
			}
			n := families[0].GetMetric()[0].GetGauge().GetValue()
			switch {
			case missing == "" && (err != nil || n != 0):
				t.Errorf("not ready: %v, and %g are missing", err, n)
			case missing != "" && (err == nil || !strings.Contains(err.Error(), missing) || n != 1):
				t.Errorf("got %v and %g missing, want one about %q", err, n, missing)
			}
		}
		after(0, "")
		a.says("get pods/log", nil)
		after(rarely, "get pods/log")
		a.says("", errors.New("connection refused"))
		after(interval, "get pods/log") // nobody has said that it is given
		a.says("delete jobs.batch", nil)
		after(interval, "delete jobs.batch")
		after(interval, "delete jobs.batch")
		a.says("", nil)
		after(interval, "")
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		log := strings.Join(said, "\n")
		if len(said) != 3 || !strings.Contains(log, "get pods/log") || !strings.Contains(log, "delete jobs.batch") {
			t.Errorf("it said, instead of each thing once:\n%s", log)
		}
	})
}

func TestRightInWords(t *testing.T) {
	for want, right := range map[string]Right{
		"get pods":                           {"get", "", "pods"},
		"get pods/log":                       {"get", "", "pods/log"},
		"patch mcptasks.mcptasks.dev/status": {"patch", "mcptasks.dev", "mcptasks/status"},
	} {
		if got := right.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
