package methods

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
	"github.com/mcptasks/mcptasks/internal/store"
	"github.com/mcptasks/mcptasks/internal/task"
)

// GetTask returns what the caller may see of its task. It changes nothing.
func (s *Service) GetTask(ctx context.Context, caller auth.Caller, id string) (task.Detailed, error) {
	t, err := s.tasks.Get(ctx, scopeOf(caller), id)
	if err != nil {
		return task.Detailed{}, refused(err)
	}
	return task.Wire(t, s.clock.Now()), nil
}

// UpdateTask records answers to the task's open questions. Other keys are ignored, whatever they hold.
func (s *Service) UpdateTask(ctx context.Context, caller auth.Caller, id string, responses map[string]json.RawMessage) error {
	return refused(s.tasks.Answer(ctx, scopeOf(caller), id, responses))
}

// CancelTask records the wish to stop the task, which may have ended already.
func (s *Service) CancelTask(ctx context.Context, caller auth.Caller, id string) error {
	return refused(s.tasks.Cancel(ctx, scopeOf(caller), id, ""))
}

// refused turns what concerns the caller into protocol errors.
func refused(err error) error {
	bad := (*store.AnswerError)(nil)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return wire.TaskNotFound()
	case errors.As(err, &bad):
		return wire.InvalidParams("%s; the question is still open", bad.Error())
	default:
		return err
	}
}
