// Package rights finds out if the program's service account may do what the program has to do, and says so loudly where it may
// not: a missing right shows otherwise only when it is needed, in the middle of somebody's task.
//
// It knows how to ask the API server; which rights are needed is for its callers to say.
package rights

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// interval is the pause between two looks while a right is missing, or it could not be found out.
	interval = 15 * time.Second
	// rarely is the pause while all is well. A right that is taken away is reported where it is needed, too.
	rarely = 10 * time.Minute
)

// Right is the right to do something in all namespaces.
type Right struct {
	Verb string
	// Group is the API group, empty for the core one.
	Group string
	// Resource may have a subresource, as in "pods/log".
	Resource string
}

// String is the right in the words of RBAC, such as "delete jobs.batch".
func (r Right) String() string {
	if r.Group == "" {
		return r.Verb + " " + r.Resource
	}
	resource, sub, divided := strings.Cut(r.Resource, "/")
	name := r.Verb + " " + resource + "." + r.Group
	if divided {
		name += "/" + sub
	}
	return name
}

// Of are the rights to do all of the verbs.
func Of(group, resource string, verbs ...string) []Right {
	all := make([]Right, len(verbs))
	for i, verb := range verbs {
		all[i] = Right{Verb: verb, Group: group, Resource: resource}
	}
	return all
}

// List joins rights.
func List(all ...[]Right) []Right { return slices.Concat(all...) }

// Check looks after some rights. It is a manager.Runnable that every replica runs.
type Check struct {
	client client.Client
	needed []Right
	clock  clock.Clock
	logger logr.Logger
	gauge  prometheus.Gauge

	mu      sync.Mutex
	missing []Right
}

// NewCheck makes a Check of the needed rights and registers its metric. The client needs no more than every account may do.
func NewCheck(c client.Client, needed []Right, registerer prometheus.Registerer, logger logr.Logger) (*Check, error) {
	check := &Check{
		client: c, needed: needed, clock: clock.RealClock{}, logger: logger,
		gauge: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "mcptasks_missing_rights",
			Help: "Rights that this program needs and its service account does not have; the log names them.",
		}),
	}
	return check, registerer.Register(check.gauge)
}

// NeedLeaderElection says that every replica looks after its rights: it may lead next.
func (c *Check) NeedLeaderElection() bool { return false }

// Start looks at the rights until ctx ends.
func (c *Check) Start(ctx context.Context) error {
	for {
		pause := rarely
		if missing, err := c.look(ctx); err != nil {
			// What keeps the API server from answering is somebody else's to tell; it would be told without this, too.
			c.logger.V(1).Info("Could not find out whether a right is missing", "cause", err.Error())
			pause = interval
		} else if c.note(missing); len(missing) > 0 {
			pause = interval
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.clock.After(pause):
		}
	}
}

// look asks the API server for each right.
func (c *Check) look(ctx context.Context) (missing []Right, err error) {
	for _, right := range c.needed {
		resource, sub, _ := strings.Cut(right.Resource, "/")
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: right.Verb, Group: right.Group, Resource: resource, Subresource: sub,
			},
		}}
		if err := c.client.Create(ctx, review); err != nil {
			return nil, fmt.Errorf("ask for the right to %s: %w", right, err)
		}
		if !review.Status.Allowed {
			missing = append(missing, right)
		}
	}
	return missing, nil
}

// note remembers what is missing, and tells about it when that has changed.
func (c *Check) note(missing []Right) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gauge.Set(float64(len(missing)))
	if slices.Equal(missing, c.missing) {
		return
	}
	c.missing = missing
	if len(missing) == 0 {
		c.logger.Info("No right is missing any more")
		return
	}
	c.logger.Error(describe(missing), "Some of the work will fail")
}

// Ready is a readiness check: no right is known to be missing.
func (c *Check) Ready(*http.Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.missing) == 0 {
		return nil
	}
	return describe(c.missing)
}

func describe(missing []Right) error {
	names := make([]string, len(missing))
	for i, right := range missing {
		names[i] = right.String()
	}
	return errors.New("the service account has no right to " + strings.Join(names, ", ") +
		": bring its roles up to date with those of the chart")
}
