package front

import (
	"encoding/json"

	"github.com/mcptasks/mcptasks/internal/mcp/listen"
	"github.com/mcptasks/mcptasks/internal/mcp/methods"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
	"github.com/mcptasks/mcptasks/internal/task"
)

func (h *Handler) discover(e *exchange) {
	h.succeed(e, wire.Discover(h.Server, h.Instructions, h.Methods.HasResources()))
}

func (h *Handler) listTools(e *exchange) {
	tools, next, err := h.Methods.ListTools(e.r.Context(), e.caller, e.request.Params.Cursor)
	if err != nil {
		h.fail(e, err)
		return
	}
	h.succeed(e, wire.ListTools(h.Server, tools, next))
}

func (h *Handler) callTool(e *exchange) {
	params := &e.request.Params
	if params.Arguments != nil && !wire.IsObject(params.Arguments) {
		h.fail(e, wire.InvalidParams("params.arguments must be an object"))
		return
	}
	responses, state, err := readRetry(params)
	if err != nil {
		h.fail(e, err)
		return
	}
	key, err := wire.ReadIdempotencyKey(e.meta.IdempotencyKey)
	if err != nil {
		h.fail(e, err)
		return
	}
	name, _ := wire.String(params.Name) // check has seen that it is a string
	answer := h.newAnswer(e)
	defer answer.close()
	outcome, err := h.Methods.CallTool(e.r.Context(), e.caller, methods.Call{
		Name:           name,
		Arguments:      params.Arguments,
		Tasks:          e.meta.Tasks,
		Forms:          e.meta.Forms,
		InputResponses: responses,
		RequestState:   state,
		Traceparent:    e.meta.Traceparent,
		IdempotencyKey: key,
		Header:         e.r.Header,
		Recorded:       func(id string) { e.record.Task = shorten(id) },
		Waiting:        answer.progress,
	})
	switch {
	case err != nil:
		answer.fail(err)
	case outcome.InputRequests != nil:
		answer.succeed(struct {
			wire.ResultHeader
			InputRequests map[string]task.InputRequest `json:"inputRequests"`
			RequestState  string                       `json:"requestState,omitempty"`
		}{h.Server.InputRequired(), outcome.InputRequests, outcome.RequestState})
	case outcome.Task != nil:
		answer.succeed(struct {
			wire.ResultHeader
			task.Created
		}{h.Server.Task(), *outcome.Task})
	default:
		result, err := wire.WithServer(outcome.Result, h.Server)
		if err != nil {
			answer.fail(err)
			return
		}
		answer.succeed(result)
	}
}

// readRetry reads what a call that was answered with questions comes back with.
func readRetry(params *wire.Params) (responses map[string]json.RawMessage, state string, err error) {
	raw := params.InputResponses
	if raw != nil && (!wire.IsObject(raw) || json.Unmarshal(raw, &responses) != nil) {
		return nil, "", wire.InvalidParams("params.inputResponses must be an object")
	}
	if params.RequestState == nil {
		return responses, "", nil
	}
	state, ok := wire.String(params.RequestState)
	if !ok || state == "" {
		return nil, "", wire.InvalidParams("params.requestState must be a string as it was given out, or left out")
	}
	return responses, state, nil
}

func (h *Handler) getTask(e *exchange) {
	id, _ := wire.String(e.request.Params.TaskID) // check has seen that it is a string
	detailed, err := h.Methods.GetTask(e.r.Context(), e.caller, id)
	if err != nil {
		h.fail(e, err)
		return
	}
	h.succeed(e, struct {
		wire.ResultHeader
		task.Detailed
	}{h.Server.Complete(), detailed})
}

func (h *Handler) updateTask(e *exchange) {
	id, _ := wire.String(e.request.Params.TaskID)
	var responses map[string]json.RawMessage
	raw := e.request.Params.InputResponses
	if !wire.IsObject(raw) || json.Unmarshal(raw, &responses) != nil {
		h.fail(e, wire.InvalidParams("params.inputResponses is required and must be an object"))
		return
	}
	h.acknowledge(e, h.Methods.UpdateTask(e.r.Context(), e.caller, id, responses))
}

func (h *Handler) cancelTask(e *exchange) {
	id, _ := wire.String(e.request.Params.TaskID)
	h.acknowledge(e, h.Methods.CancelTask(e.r.Context(), e.caller, id))
}

func (h *Handler) listResources(e *exchange) {
	if err := h.Methods.ListResources(e.request.Params.Cursor); err != nil {
		h.fail(e, err)
		return
	}
	h.succeed(e, wire.ListResources(h.Server))
}

func (h *Handler) listResourceTemplates(e *exchange) {
	if err := h.Methods.ListResources(e.request.Params.Cursor); err != nil {
		h.fail(e, err)
		return
	}
	h.succeed(e, wire.ListResourceTemplates(h.Server, h.Methods.ResourceTemplates()))
}

func (h *Handler) readResource(e *exchange) {
	uri, _ := wire.String(e.request.Params.URI) // check has seen that it is a string
	contents, err := h.Methods.ReadResource(e.r.Context(), e.caller, uri)
	if err != nil {
		h.fail(e, err)
		return
	}
	h.succeed(e, wire.ReadResource(h.Server, contents))
}

func (h *Handler) listen(e *exchange) {
	err := h.Listen.Serve(e.w, e.r, listen.Request{
		ID:            e.request.ID,
		Notifications: e.request.Params.Notifications,
		Tasks:         e.meta.Tasks,
		Caller:        e.caller,
	})
	if err != nil {
		h.fail(e, err)
	}
}

// acknowledge answers with the empty result of tasks/update and tasks/cancel.
func (h *Handler) acknowledge(e *exchange, err error) {
	if err != nil {
		h.fail(e, err)
		return
	}
	h.succeed(e, h.Server.Complete())
}
