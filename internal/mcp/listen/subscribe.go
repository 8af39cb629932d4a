package listen

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/mcptasks/mcptasks/internal/store"
)

// subscribe gives the stream its subjects and returns what of the filter they cover. What happens to a subject after
// subscribe has looked at it is not missed.
func (s *stream) subscribe(ctx context.Context, wanted filter) (honoured accepted, err error) {
	if wanted.tools {
		if err := s.subscribeTools(ctx); err != nil {
			return accepted{}, err
		}
		honoured.ToolsListChanged = true
	}
	if wanted.tasks {
		if honoured.TaskIDs, err = s.subscribeTasks(ctx, wanted.taskIDs); err != nil {
			return accepted{}, err
		}
	}
	return honoured, nil
}

func (s *stream) subscribeTools(ctx context.Context) error {
	view := &toolsView{tools: s.service.Tools, namespace: s.caller.Namespace, of: s.of}
	tools := &subject{view: view}
	tools.stop = s.service.Tools.Watch(func() { s.pending.addAfter(tools, settle) })
	s.subjects = append(s.subjects, tools)
	// The list is as it is: only what changes from here on is news.
	_, _, err := view.look(ctx)
	return err
}

// subscribeTasks returns the ids of those that are the caller's.
func (s *stream) subscribeTasks(ctx context.Context, ids []string) ([]string, error) {
	scope := store.Scope{Namespace: s.caller.Namespace, Owner: s.caller.Owner()}
	tasks := make([]*subject, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelism)
	for i, id := range ids {
		group.Go(func() error {
			task := &subject{view: &taskView{tasks: s.service.Tasks, clock: s.service.Clock, scope: scope, id: id, of: s.of}}
			stop, err := s.service.Tasks.Watch(ctx, scope, id, func() { s.pending.add(task) })
			switch {
			case errors.Is(err, store.ErrNotFound):
				return nil
			case err != nil:
				return fmt.Errorf("listen to task %s: %w", id, err)
			}
			task.stop = stop
			tasks[i] = task
			return nil
		})
	}
	err := group.Wait()
	own := []string{}
	for i, task := range tasks {
		if task != nil {
			s.subjects = append(s.subjects, task)
			own = append(own, ids[i])
		}
	}
	return own, err
}
