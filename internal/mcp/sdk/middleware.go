package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/go-logr/logr"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/mcp/methods"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

// middleware answers the methods of tools itself and lets the SDK shake hands.
type middleware struct {
	service *methods.Service
	logger  logr.Logger
}

func (m *middleware) wrap(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (result mcp.Result, err error) {
		// The SDK runs methods on goroutines of its own, where a panic would end the process.
		defer func() {
			if cause := recover(); cause != nil {
				result = nil
				err = m.explain(ctx, method, fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
			}
		}()
		result, err = m.serve(ctx, method, request, next)
		if err != nil {
			return nil, m.explain(ctx, method, err)
		}
		return result, nil
	}
}

func (m *middleware) serve(ctx context.Context, method string, request mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	switch params := request.GetParams().(type) {
	case *mcp.ListToolsParams:
		return m.listTools(ctx, params)
	case *mcp.CallToolParamsRaw:
		return m.callTool(ctx, request, params)
	}
	if result, served, err := m.serveResources(ctx, request); served {
		return result, err
	}
	switch method {
	case wire.MethodInitialize, wire.MethodPing:
		return next(ctx, method, request)
	default: // the SDK would answer for features that are not offered
		return nil, wire.MethodNotFound()
	}
}

// listToolsResult has the tools as they are: the SDK's own type would decode and encode their schemas.
type listToolsResult struct {
	mcp.ResultBase
	Tools      []wire.Tool `json:"tools"`
	NextCursor string      `json:"nextCursor,omitempty"`
}

func (m *middleware) listTools(ctx context.Context, params *mcp.ListToolsParams) (mcp.Result, error) {
	var cursor json.RawMessage
	if params != nil {
		cursor = rawCursor(params.Cursor)
	}
	tools, next, err := m.service.ListTools(ctx, auth.CallerFrom(ctx), cursor)
	if err != nil {
		return nil, err
	}
	return &listToolsResult{Tools: tools, NextCursor: next}, nil
}

// callToolResult is a CallToolResult as it is on the record, number by number.
type callToolResult struct {
	mcp.ResultBase
	stored json.RawMessage
}

// MarshalJSON implements json.Marshaler.
func (r *callToolResult) MarshalJSON() ([]byte, error) { return r.stored, nil }

func (m *middleware) callTool(ctx context.Context, request mcp.Request, params *mcp.CallToolParamsRaw) (mcp.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(exchangeOf(ctx).http, cancel)()
	arguments := params.Arguments
	if string(arguments) == "null" {
		arguments = nil
	}
	if arguments != nil && !wire.IsObject(arguments) {
		return nil, wire.InvalidParams("params.arguments must be an object")
	}
	key, err := idempotencyKey(params)
	if err != nil {
		return nil, err
	}
	outcome, err := m.service.CallTool(ctx, auth.CallerFrom(ctx), methods.Call{
		Name:           params.Name,
		Arguments:      arguments,
		IdempotencyKey: key,
		Recorded:       func(id string) { exchangeOf(ctx).task.Store(id) },
		Waiting:        progress(ctx, request, params),
	})
	if err != nil {
		return nil, err
	}
	result := outcome.Result
	if knowsNoLinks(exchangeOf(ctx).version) {
		if result, err = withoutLinks(result); err != nil {
			return nil, err
		}
	}
	return &callToolResult{stored: result}, nil
}

// idempotencyKey reads the key that a call carries in its _meta, as in the modern revision.
func idempotencyKey(params *mcp.CallToolParamsRaw) (string, error) {
	value, ok := params.Meta[wire.MetaIdempotencyKey]
	if !ok {
		return "", nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	return wire.ReadIdempotencyKey(raw)
}

// progress returns a function that sends messages as progress notifications, or nil where the client wants none.
func progress(ctx context.Context, request mcp.Request, params *mcp.CallToolParamsRaw) func(string) {
	token := params.GetProgressToken()
	session, ok := request.GetSession().(*mcp.ServerSession)
	if token == nil || !ok {
		return nil
	}
	var told float64
	return func(message string) {
		told++
		// An error means that the client has gone, which the exchange's context says too.
		_ = session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: told, Message: message})
	}
}

// explain turns an error into what the client is told. What is no *wire.Error is logged, and the client told no more than that it
// happened.
func (m *middleware) explain(ctx context.Context, method string, err error) error {
	answer := (*wire.Error)(nil)
	if !errors.As(err, &answer) {
		if !errors.Is(err, context.Canceled) {
			m.logger.Error(err, "A request could not be carried out", "rpc", method)
		}
		answer = wire.Unexpected()
	}
	if cause := answer.Cause(); cause != nil {
		m.logger.Error(cause, "A request could not be carried out", "rpc", method)
	}
	answer = inWordsOfTheEra(answer)
	exchangeOf(ctx).code.Store(int64(answer.Code))
	translated := &jsonrpc.Error{Code: int64(answer.Code), Message: answer.Message}
	if answer.Data != nil {
		if data, err := wire.Marshal(answer.Data); err == nil {
			translated.Data = data
		}
	}
	return translated
}
