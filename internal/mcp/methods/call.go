package methods

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/mcp/catalog"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
	"github.com/mcptasks/mcptasks/internal/store"
	"github.com/mcptasks/mcptasks/internal/task"
)

// Call is a tools/call.
type Call struct {
	// Name is the tool's.
	Name string
	// Arguments is the caller's JSON object byte for byte, nil for none.
	Arguments json.RawMessage
	// Tasks tells whether the request declared the Tasks extension.
	Tasks bool
	// Forms tells whether the request declared elicitation by forms: whether its client can be asked questions.
	Forms bool
	// InputResponses are the answers that came with the call, by question, as they were sent.
	InputResponses map[string]json.RawMessage
	// RequestState is the state that was given out with the questions, empty on the first call.
	RequestState string
	// Traceparent is the W3C trace context, or empty.
	Traceparent string
	// IdempotencyKey makes equal calls one, or is empty.
	IdempotencyKey string
	// Header is where arguments are mirrored; nil in revisions that mirror nothing.
	Header http.Header
	// Recorded, which may be nil, is called with the task's id as soon as the call is on the record, or was found there, also if it
	// is then waited for.
	Recorded func(taskID string)
	// Waiting, which may be nil, is called when the call begins to be waited for, and each time that the status message changes,
	// with the message. It is never called for calls that are answered at once.
	Waiting func(message string)
}

// Outcome is the answer to a call: exactly one of Task, Result and InputRequests is set.
type Outcome struct {
	// Task is the task that the call became.
	Task *task.Created
	// Result is a CallToolResult.
	Result json.RawMessage
	// InputRequests are questions, by key. Nothing has been started; the call is to be repeated with the answers and RequestState.
	InputRequests map[string]task.InputRequest
	// RequestState goes with InputRequests.
	RequestState string
}

// CallTool calls a tool. Where the tool asks questions in answer to the call, these come first. The call becomes a task, durable
// before CallTool returns, if the request declared Tasks and the tool allows it; else CallTool waits for the result, for as long
// as the tool says. If ctx ends meanwhile, the task is cancelled.
//
// A call with an idempotency key is answered by the task that the first such call became, and waited for, also by many at once,
// as if it were the first. Its task is not cancelled if ctx ends: the key says that the caller may come back; others may wait.
func (s *Service) CallTool(ctx context.Context, caller auth.Caller, call Call) (Outcome, error) {
	if companion := s.companion(call.Name); companion != nil {
		return s.callCompanion(ctx, caller, companion, call)
	}
	tool, err := s.find(ctx, caller, call.Name)
	if err != nil {
		return Outcome{}, err
	}
	arguments := call.Arguments
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	mode := tool.Object.Spec.Execution.Mode
	if mode == v1alpha1.ModeRequired && !call.Tasks {
		return Outcome{}, wire.MissingCapabilities(true, !call.Forms && asks(tool, arguments))
	}
	if call.Header != nil {
		if err := wire.CheckParams(call.Header, tool.Params, call.Arguments); err != nil {
			return Outcome{}, err
		}
	}
	split, err := splitArguments(tool, arguments)
	if err != nil {
		text := fmt.Sprintf("The arguments of %s are not valid; nothing was started.\n%s", tool.Name, err)
		return Outcome{Result: wire.TextResult(text, true)}, nil
	}
	asked, err := s.consult(caller, tool, call, arguments, split.Public)
	if err != nil {
		return Outcome{}, err
	}
	if asked.outcome != nil {
		return *asked.outcome, nil
	}
	created, err := s.tasks.Create(ctx, scopeOf(caller), store.Call{
		Tool:              tool.Object,
		Arguments:         string(split.Public),
		Secret:            split.Secret,
		Traceparent:       call.Traceparent,
		Answers:           asked.answers,
		QuestionsDeadline: asked.deadline,
		IdempotencyKey:    call.IdempotencyKey,
	})
	switch {
	case errors.Is(err, store.ErrKeyReused):
		return Outcome{}, wire.InvalidParams("Your key in _meta[%q] belongs to an earlier call with other arguments; "+
			"nothing was started. Use a new key for each new piece of work", wire.MetaIdempotencyKey)
	case errors.Is(err, store.ErrNoKeys):
		return Outcome{}, wire.InvalidParams("This server does not support _meta[%q], and so started nothing; "+
			"the platform team can switch it on", wire.MetaIdempotencyKey)
	}
	if errors.Is(err, store.ErrUnclear) {
		return Outcome{}, unclear(call).Because(err)
	}
	if refused := (*store.RefusedError)(nil); errors.As(err, &refused) {
		return Outcome{}, wire.Internal(refused.Reason, "%s", refused.Message)
	}
	if err != nil {
		return Outcome{}, err
	}
	if call.Recorded != nil {
		call.Recorded(created.Name)
	}
	if call.Tasks && mode != v1alpha1.ModeForbidden {
		view := task.WireCreated(created, s.clock.Now())
		return Outcome{Task: &view}, nil
	}
	result, err := s.wait(ctx, caller, tool, created, call.Waiting)
	return Outcome{Result: result}, err
}

// unclear is what the caller is told when nobody knows whether the call was recorded.
func unclear(call Call) *wire.Error {
	const what = "The cluster does not answer, and it is not known whether your call was recorded. "
	if call.IdempotencyKey != "" {
		return wire.Internal("", what+"Call again with the same key in _meta[%q]: it will not be done twice",
			wire.MetaIdempotencyKey)
	}
	return wire.Internal("", what+"If it must not be done twice, have the platform team look before you call again; "+
		"calls with a key in _meta[%q] can be repeated safely", wire.MetaIdempotencyKey)
}

func (s *Service) find(ctx context.Context, caller auth.Caller, name string) (*catalog.Tool, error) {
	tool, err := s.catalog.Find(ctx, caller.Namespace, name)
	notReady := (*catalog.NotReadyError)(nil)
	switch {
	case errors.Is(err, catalog.ErrUnknown):
		return nil, wire.InvalidParams("Unknown tool; tools/list has the names that you can call")
	case errors.As(err, &notReady):
		return nil, wire.InvalidParams("%s", notReady.Error())
	default:
		return tool, err
	}
}

// splitArguments says in words why a tool cannot take the arguments, or splits them into what may be seen and what is secret.
func splitArguments(tool *catalog.Tool, arguments json.RawMessage) (job.Arguments, error) {
	if len(arguments) > v1alpha1.MaxArgumentsBytes {
		return job.Arguments{}, fmt.Errorf("they are longer than %d bytes", v1alpha1.MaxArgumentsBytes)
	}
	return tool.Blueprint.Split(arguments)
}
