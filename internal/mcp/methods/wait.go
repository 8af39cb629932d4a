package methods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/mcp/catalog"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
	"github.com/mcptasks/mcptasks/internal/store"
	"github.com/mcptasks/mcptasks/internal/task"
)

// defaultBlockFor is the default of execution.blockFor, for objects that were written without it.
const defaultBlockFor = 25 * time.Second

// wait answers a call that did not become a task for its caller: with the task's result, or, when the time is up or the task
// asks a question, with words about how to go on. A caller that hangs up wants nothing more, so its task is cancelled, unless it
// can come back by an idempotency key.
func (s *Service) wait(
	ctx context.Context, caller auth.Caller, tool *catalog.Tool, created *v1alpha1.MCPTask, waiting func(string),
) (json.RawMessage, error) {
	blockFor := created.Spec.Execution.BlockFor.Duration
	if blockFor <= 0 {
		blockFor = defaultBlockFor
	}
	patience, cancel := context.WithTimeout(ctx, blockFor)
	defer cancel()
	defer context.AfterFunc(s.draining, cancel)()

	last, err := s.follow(patience, caller, created, waiting)
	switch {
	case ctx.Err() != nil:
		if created.Spec.Idempotency == nil { // else the caller may come back with its key
			if err := s.abandon(ctx, caller, created.Name); err != nil {
				return nil, err
			}
		}
		return nil, context.Cause(ctx)
	case errors.Is(err, store.ErrNotFound):
		return nil, wire.Internal(v1alpha1.ReasonOutcomeUnknown, "Task %s was deleted before it had a result", created.Name)
	case err != nil && patience.Err() == nil:
		return nil, fmt.Errorf("follow task %s: %w", created.Name, err)
	}
	switch view := task.WireCreated(last, s.clock.Now()); view.Status {
	case v1alpha1.StateCompleted, v1alpha1.StateFailed:
		return s.ending(ctx, caller, created.Name)
	case v1alpha1.StateCancelled:
		return wire.TextResult(sentence("The call was cancelled before it had a result.", view.StatusMessage), true), nil
	case v1alpha1.StateInputRequired:
		return s.unfinished(tool, caller, last, "waits for an answer that this client cannot give"), nil
	default:
		return s.unfinished(tool, caller, last, "is still at work"), nil
	}
}

// follow watches the task until it has ended, asks something, or ctx ends, and returns the last state seen.
func (s *Service) follow(
	ctx context.Context, caller auth.Caller, created *v1alpha1.MCPTask, waiting func(string),
) (last *v1alpha1.MCPTask, err error) {
	last = created
	var told string
	err = s.tasks.Follow(ctx, scopeOf(caller), created.Name, func(t *v1alpha1.MCPTask) bool {
		last = t
		view := task.WireCreated(t, s.clock.Now())
		if view.Status != v1alpha1.StateWorking {
			return false
		}
		if waiting != nil && view.StatusMessage != told {
			told = view.StatusMessage
			waiting(told)
		}
		return true
	})
	return last, err
}

// ending is the answer of a task that has a result or an error: exactly what the call would have said.
func (s *Service) ending(ctx context.Context, caller auth.Caller, id string) (json.RawMessage, error) {
	t, err := s.tasks.Get(ctx, scopeOf(caller), id)
	if err != nil {
		return nil, fmt.Errorf("read the end of task %s: %w", id, err)
	}
	view := task.Wire(t, s.clock.Now())
	if view.Error != nil {
		failure := &wire.Error{Code: int(view.Error.Code), Message: view.Error.Message}
		if view.Error.Data != nil {
			failure.Data = view.Error.Data
		}
		return nil, failure
	}
	return view.Result, nil
}

// unfinished says that the work goes on, and how to come back to it.
func (s *Service) unfinished(tool *catalog.Tool, caller auth.Caller, t *v1alpha1.MCPTask, state string) json.RawMessage {
	view := task.WireCreated(t, s.clock.Now())
	again := "calling the tool again would start it a second time"
	if t.Spec.Idempotency != nil {
		again = "calling the tool again with the same idempotency key waits on, without it would start it a second time"
	}
	back := "A client with support for MCP tasks gets the result by tasks/get"
	if len(s.companions) > 0 {
		back = fmt.Sprintf("Call the tool %s with {\"taskId\": %q} to wait for its result, or %s to stop it",
			v1alpha1.CompanionStatus, view.TaskID, v1alpha1.CompanionCancel)
	}
	text := fmt.Sprintf("%s %s. %s\nIt goes on as task %s; %s. %s; a person finds it with: kubectl get mcptask %s -n %s",
		tool.Name, state, view.StatusMessage, view.TaskID, again, back, view.TaskID, caller.Namespace)
	// Clients refuse a success without structured content where the tool promises some.
	promised := tool.Object.Spec.OutputSchema != nil
	return wire.TextResult(text, promised)
}

func sentence(first, second string) string {
	if second == "" {
		return first
	}
	return first + " " + second
}

// abandon cancels the task of a caller that hung up.
func (s *Service) abandon(ctx context.Context, caller auth.Caller, id string) error {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := s.tasks.Cancel(ctx, scopeOf(caller), id, "the caller hung up")
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("cancel task %s of a caller that hung up: %w", id, err)
	}
	return nil
}
