package methods

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
	"github.com/mcptasks/mcptasks/internal/schema"
	"github.com/mcptasks/mcptasks/internal/store"
	"github.com/mcptasks/mcptasks/internal/task"
)

// companion is a tool of the endpoint's own, by which clients without the Tasks extension can go on with a call that took longer
// than they were kept waiting. It makes no task. Its name is taken from every MCPTool that has the same.
type companion struct {
	listing wire.Tool
	input   *schema.Schema
	run     func(*Service, context.Context, auth.Caller, companionArguments, func(string)) (json.RawMessage, error)
}

// companionArguments are the arguments of all companions.
type companionArguments struct {
	TaskID string `json:"taskId"`
	// WaitSeconds is a float since JSON Schema takes 5.0 for an integer, too. nil: maxStatusWait.
	WaitSeconds *float64 `json:"waitSeconds"`
}

// maxStatusWait is how long one call of task_status waits at most, which is less than clients tend to.
const maxStatusWait = defaultBlockFor

// taskIDSchema is the property that all companions have.
const taskIDSchema = `"taskId":{"type":"string","minLength":1,"maxLength":64,` +
	`"description":"The task's id, as the answer to the call had it."}`

// companions are all there are, sorted by name.
func companions() []companion {
	return []companion{
		newCompanion(wire.Tool{
			Name:  v1alpha1.CompanionCancel,
			Title: "Stop a task",
			Description: "Stops a task that was started by a call of another tool and is still at work. " +
				"Stopping takes a moment; task_status tells when it is done. A task that has ended is left as it is.",
			InputSchema: json.RawMessage(`{"type":"object","required":["taskId"],"additionalProperties":false,"properties":{` +
				taskIDSchema + `}}`),
			Annotations: hints(false),
		}, (*Service).cancelCompanion),
		newCompanion(wire.Tool{
			Name:  v1alpha1.CompanionStatus,
			Title: "Wait for a task",
			Description: "Waits for a task that was started by a call of another tool, and gives its result as that call would have; " +
				"if the task is not done in time, says how far it is. Call it again until there is a result.",
			InputSchema: json.RawMessage(`{"type":"object","required":["taskId"],"additionalProperties":false,"properties":{` +
				taskIDSchema + `,"waitSeconds":{"type":"integer","minimum":0,"maximum":25,"default":25,` +
				`"description":"How long to wait for the result, in seconds."}}}`),
			Annotations: hints(true),
		}, (*Service).statusCompanion),
	}
}

func newCompanion(
	listing wire.Tool, run func(*Service, context.Context, auth.Caller, companionArguments, func(string)) (json.RawMessage, error),
) companion {
	input, err := schema.Compile(listing.InputSchema)
	if err != nil {
		panic(err) // it is written above
	}
	return companion{listing: listing, input: input, run: run}
}

func hints(readOnly bool) v1alpha1.ToolAnnotations {
	return v1alpha1.ToolAnnotations{
		ReadOnlyHint: ptr.To(readOnly), DestructiveHint: ptr.To(!readOnly), IdempotentHint: ptr.To(true), OpenWorldHint: ptr.To(false),
	}
}

// companion returns the companion of that name, nil where there is none.
func (s *Service) companion(name string) *companion {
	for i := range s.companions {
		if s.companions[i].listing.Name == name {
			return &s.companions[i]
		}
	}
	return nil
}

// withCompanions adds the companions to the listings of tools, which are sorted by name and stay so.
func (s *Service) withCompanions(tools []wire.Tool) []wire.Tool {
	tools = slices.DeleteFunc(tools, func(t wire.Tool) bool { return s.companion(t.Name) != nil })
	for _, c := range s.companions {
		tools = append(tools, c.listing)
	}
	slices.SortFunc(tools, func(a, b wire.Tool) int { return cmp.Compare(a.Name, b.Name) })
	return tools
}

// callCompanion calls a companion. Models rather than programs read its answers, so what goes wrong is a result with isError.
func (s *Service) callCompanion(ctx context.Context, caller auth.Caller, c *companion, call Call) (Outcome, error) {
	arguments := call.Arguments
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	var in companionArguments
	err := c.input.Validate(arguments)
	if err == nil {
		err = json.Unmarshal(arguments, &in)
	}
	if err != nil {
		text := fmt.Sprintf("The arguments of %s are not valid.\n%s", c.listing.Name, err)
		return Outcome{Result: wire.TextResult(text, true)}, nil
	}
	if call.Recorded != nil {
		call.Recorded(in.TaskID)
	}
	result, err := c.run(s, ctx, caller, in, call.Waiting)
	if errors.Is(err, store.ErrNotFound) {
		result, err = wire.TextResult(wire.TaskNotFound().Message, true), nil
	}
	return Outcome{Result: result}, err
}

// statusCompanion waits for a task. A caller that hangs up meanwhile only stops waiting: this call did not start the work.
func (s *Service) statusCompanion(
	ctx context.Context, caller auth.Caller, in companionArguments, waiting func(string),
) (json.RawMessage, error) {
	known, err := s.tasks.Get(ctx, scopeOf(caller), in.TaskID)
	if err != nil {
		return nil, err
	}
	wait := maxStatusWait
	if in.WaitSeconds != nil {
		wait = min(wait, time.Duration(*in.WaitSeconds)*time.Second)
	}
	last := known
	if wait > 0 {
		patience, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		defer context.AfterFunc(s.draining, cancel)()
		last, err = s.follow(patience, caller, known, waiting)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil && patience.Err() == nil {
			return nil, err
		}
	}
	switch view := task.WireCreated(last, s.clock.Now()); view.Status {
	case v1alpha1.StateCompleted, v1alpha1.StateFailed:
		result, err := s.ending(ctx, caller, in.TaskID)
		if failure := (*wire.Error)(nil); errors.As(err, &failure) {
			return wire.TextResult(fmt.Sprintf("Task %s failed: %s", in.TaskID, failure.Message), true), nil
		}
		return result, err
	case v1alpha1.StateCancelled:
		text := fmt.Sprintf("Task %s was cancelled before it had a result.", in.TaskID)
		return wire.TextResult(sentence(text, view.StatusMessage), true), nil
	case v1alpha1.StateInputRequired:
		text := fmt.Sprintf("Task %s waits for an answer that this client cannot give.", in.TaskID)
		return wire.TextResult(sentence(text, view.StatusMessage), false), nil
	default:
		text := sentence(fmt.Sprintf("Task %s is still at work.", in.TaskID), view.StatusMessage)
		return wire.TextResult(text+fmt.Sprintf("\nCall %s again to wait for its result, or %s to stop it.",
			v1alpha1.CompanionStatus, v1alpha1.CompanionCancel), false), nil
	}
}

// cancelCompanion cancels a task as tasks/cancel does.
func (s *Service) cancelCompanion(
	ctx context.Context, caller auth.Caller, in companionArguments, _ func(string),
) (json.RawMessage, error) {
	if err := s.tasks.Cancel(ctx, scopeOf(caller), in.TaskID, ""); err != nil {
		return nil, err
	}
	t, err := s.tasks.Get(ctx, scopeOf(caller), in.TaskID)
	if err != nil {
		return nil, err
	}
	if view := task.WireCreated(t, s.clock.Now()); view.Status.Terminal() {
		text := fmt.Sprintf("Task %s had ended already (%s), and is left as it is. %s has its result.",
			in.TaskID, view.Status, v1alpha1.CompanionStatus)
		return wire.TextResult(text, false), nil
	}
	text := fmt.Sprintf("Task %s is being stopped; %s tells when it has ended.", in.TaskID, v1alpha1.CompanionStatus)
	return wire.TextResult(text, false), nil
}
