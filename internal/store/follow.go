package store

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// lookAgain is how often a task that is being followed is looked at without having been heard of, for the times when the watch is
// broken. While it works, this is a read from memory.
const lookAgain = 2 * time.Second

// Watch calls changed after each change of the scope's task, its deletion included, until stop is called. A burst of changes
// may be told as one, and none is told while the watch of the API server is broken. changed must not block. The error is
// ErrNotFound where the scope has no such task.
func (s *Store) Watch(ctx context.Context, scope Scope, id string, changed func()) (stop func(), err error) {
	stop = s.hub.watch(types.NamespacedName{Namespace: scope.Namespace, Name: id}, changed)
	if _, err := s.state(ctx, scope, id); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// Follow calls see with the task's present state and then after each change, until see returns false or ctx ends. States may be
// skipped, but none is older than the one before. see gets the task without arguments and result, and must not change it.
func (s *Store) Follow(ctx context.Context, scope Scope, id string, see func(*v1alpha1.MCPTask) bool) error {
	wake := make(chan struct{}, 1)
	stop, err := s.Watch(ctx, scope, id, func() {
		select {
		case wake <- struct{}{}:
		default: // it will be looked at anyway
		}
	})
	if err != nil {
		return err
	}
	defer stop()
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
