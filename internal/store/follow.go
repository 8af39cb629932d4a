package store

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// lookAgain is how often a task that is being followed is looked at without having been woken, for the times when the watch is
// broken. While it works, this is a read from memory.
const lookAgain = 2 * time.Second

// Follow calls see with the task's present state and then after each change, until see returns false or ctx ends. States may be
// skipped, but none is older than the one before. see gets the task without arguments and result, and must not change it.
func (s *Store) Follow(ctx context.Context, scope Scope, id string, see func(*v1alpha1.MCPTask) bool) error {
	wake, unsubscribe := s.hub.subscribe(types.NamespacedName{Namespace: scope.Namespace, Name: id})
	defer unsubscribe()
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	seen := ""
	for {
		t, err := s.state(ctx, scope, id)
		if err != nil {
			return err
		}
		if t.ResourceVersion != seen {
			seen = t.ResourceVersion
			if !see(t) {
				return nil
			}
		}
		select {
		case <-wake:
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
