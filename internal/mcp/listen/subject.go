package listen

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/store"
	"github.com/mcptasks/mcptasks/internal/task"
)

// subject is something that a stream tells of: a task, or the client's list of tools.
type subject struct {
	view
	// stop ends the wake-ups.
	stop func()
	// over says that nothing can follow.
	over bool
	// failures is how often in a row it could not be looked at.
	failures int

	queued, postponed bool // pending's
}

// end frees what a subject holds, once.
func (s *subject) end() {
	if !s.over {
		s.over = true
		s.stop()
	}
}

// view is how a stream sees a subject.
type view interface {
	// look returns what is to be said now, if anything is, and whether nothing can follow. It takes for granted that what it
	// returns is said.
	look(ctx context.Context) (news *message, last bool, err error)
}

// taskView is a task, as its owner sees it.
type taskView struct {
	tasks Tasks
	clock clock.PassiveClock
	scope store.Scope
	id    string
	of    subscription

	uid     types.UID
	version string            // the resource version that was looked at last
	said    [sha256.Size]byte // what was said last, but for what only time changes
}

func (v *taskView) look(ctx context.Context) (news *message, last bool, err error) {
	now, err := v.tasks.Get(ctx, v.scope, v.id)
	switch {
	case errors.Is(err, store.ErrNotFound): // deleted since
		return nil, true, nil
	case err != nil:
		return nil, false, fmt.Errorf("read task %s: %w", v.id, err)
	case v.uid != "" && v.uid != now.UID: // deleted since, and its name was given again
		return nil, true, nil
	case v.version != "" && !newer(now.ResourceVersion, v.version):
		return nil, false, nil
	}
	v.uid, v.version = now.UID, now.ResourceVersion
	last = now.Status.State.Terminal()
	said, err := v.sum(now)
	switch {
	case err != nil:
		return nil, false, err
	case said == v.said: // something changed that clients do not see
		return nil, last, nil
	}
	changed, err := taskChanged(v.of, task.Wire(now, v.clock.Now()))
	if err != nil {
		return nil, false, fmt.Errorf("encode task %s: %w", v.id, err)
	}
	v.said = said
	return &changed, last, nil
}

// sum identifies what there is to say of the task. The time that it is said at is none of it, be it always the same: that a
// client may poll less often by now is no news.
func (v *taskView) sum(t *v1alpha1.MCPTask) (sum [sha256.Size]byte, err error) {
	said, err := taskChanged(v.of, task.Wire(t, t.CreationTimestamp.Time))
	if err != nil {
		return sum, fmt.Errorf("encode task %s: %w", v.id, err)
	}
	return sha256.Sum256(said.body), nil
}

// newer reports whether version a comes after b.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}

// toolsView is the client's list of tools.
type toolsView struct {
	tools     Tools
	namespace string
	of        subscription

	version string // that of the list which was looked at last
}

func (v *toolsView) look(ctx context.Context) (news *message, last bool, err error) {
	version, err := v.tools.Version(ctx, v.namespace)
	if err != nil {
		return nil, false, fmt.Errorf("look at the tools of namespace %s: %w", v.namespace, err)
	}
	if version == v.version {
		return nil, false, nil
	}
	v.version = version
	changed, err := toolsChanged(v.of)
	if err != nil {
		return nil, false, fmt.Errorf("encode the news of tools: %w", err)
	}
	return &changed, false, nil
}
