package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Tool is one entry of tools/list.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
}

// Result is a CallToolResult.
type Result struct {
	ResultType        string          `json:"resultType"`
	Content           []Content       `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError"`
}

// Content is one block of a result.
type Content struct {
	Type string `json:"type"`
	Text string `json:"text"`
	URI  string `json:"uri"`
}

// Text returns the result's text blocks, joined by newlines.
func (r *Result) Text() string {
	var texts []string
	for _, block := range r.Content {
		if block.Type == "text" {
			texts = append(texts, block.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Task is a task as tools/call creates it (then without Result, Error and InputRequests) and as tasks/get shows it.
type Task struct {
	TaskID         string                     `json:"taskId"`
	Status         string                     `json:"status"`
	StatusMessage  string                     `json:"statusMessage"`
	CreatedAt      time.Time                  `json:"createdAt"`
	LastUpdatedAt  time.Time                  `json:"lastUpdatedAt"`
	TTLMs          *int64                     `json:"ttlMs"`
	PollIntervalMs int64                      `json:"pollIntervalMs"`
	InputRequests  map[string]json.RawMessage `json:"inputRequests"`
	Result         *Result                    `json:"result"`
	Error          *Error                     `json:"error"`
}

// Terminal reports whether the task has reached its end.
func (t *Task) Terminal() bool {
	return t.Status == "completed" || t.Status == "failed" || t.Status == "cancelled"
}

// Call is the answer to tools/call: exactly one of its fields is set.
type Call struct {
	Task   *Task
	Result *Result
	// InputRequests are questions. The call is to be repeated with the answers, by CallAgain.
	InputRequests map[string]json.RawMessage `json:"inputRequests"`
	// RequestState goes with InputRequests.
	RequestState string `json:"requestState"`
}

// Accept is the answer "accept" to an input request, for Update.
func Accept(content map[string]any) any {
	return map[string]any{"action": "accept", "content": content}
}

// ListTools returns all pages of tools/list.
func (c *Client) ListTools(ctx context.Context) ([]Tool, error) {
	var all []Tool
	params := map[string]any{}
	for {
		raw, err := c.Request(ctx, "tools/list", "", params)
		if err != nil {
			return nil, err
		}
		var page struct {
			Tools      []Tool  `json:"tools"`
			NextCursor *string `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, fmt.Errorf("decode tools/list: %w", err)
		}
		all = append(all, page.Tools...)
		if page.NextCursor == nil {
			return all, nil
		}
		params["cursor"] = *page.NextCursor
	}
}

// CallTool calls a tool. arguments is anything that marshals to a JSON object; a json.RawMessage keeps its tokens, though not the
// white space between them. nil sends none.
func (c *Client) CallTool(ctx context.Context, name string, arguments any) (*Call, error) {
	return c.CallAgain(ctx, name, arguments, &Call{}, nil)
}

// CallAgain repeats a call that was answered with the questions asked, with the answers by key.
func (c *Client) CallAgain(
	ctx context.Context, name string, arguments any, asked *Call, responses map[string]any,
) (*Call, error) {
	params := map[string]any{"name": name}
	if responses != nil {
		params["inputResponses"] = responses
	}
	if asked.RequestState != "" {
		params["requestState"] = asked.RequestState
	}
	if arguments != nil {
		params["arguments"] = arguments
	}
	raw, err := c.Request(ctx, "tools/call", name, params)
	if err != nil {
		return nil, err
	}
	var kind struct {
		ResultType string `json:"resultType"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return nil, fmt.Errorf("decode tools/call: %w", err)
	}
	switch kind.ResultType {
	case "task":
		call := &Call{Task: &Task{}}
		return call, json.Unmarshal(raw, call.Task)
	case "complete":
		call := &Call{Result: &Result{}}
		return call, json.Unmarshal(raw, call.Result)
	case "input_required":
		call := &Call{}
		return call, json.Unmarshal(raw, call)
	default:
		return nil, fmt.Errorf("tools/call: unexpected resultType %q", kind.ResultType)
	}
}

// Get returns the task as it is now.
func (c *Client) Get(ctx context.Context, id string) (*Task, error) {
	raw, err := c.Request(ctx, "tasks/get", id, map[string]any{"taskId": id})
	if err != nil {
		return nil, err
	}
	task := &Task{}
	if err := json.Unmarshal(raw, task); err != nil {
		return nil, fmt.Errorf("decode tasks/get: %w", err)
	}
	return task, nil
}

// Update answers input requests, by key.
func (c *Client) Update(ctx context.Context, id string, responses map[string]any) error {
	_, err := c.Request(ctx, "tasks/update", id, map[string]any{"taskId": id, "inputResponses": responses})
	return err
}

// Cancel asks for the task to be stopped.
func (c *Client) Cancel(ctx context.Context, id string) error {
	_, err := c.Request(ctx, "tasks/cancel", id, map[string]any{"taskId": id})
	return err
}

// Wait polls the task, at the interval that the server names, until it is terminal or ctx ends. onChange, which may be nil,
// sees the first state and each one that differs from the one before.
func (c *Client) Wait(ctx context.Context, id string, onChange func(*Task)) (*Task, error) {
	return c.WaitFor(ctx, id, (*Task).Terminal, onChange)
}

// WaitFor is Wait with another goal than the end.
func (c *Client) WaitFor(ctx context.Context, id string, done func(*Task) bool, onChange func(*Task)) (*Task, error) {
	var seen string
	for {
		task, err := c.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if now := task.Status + "\n" + task.StatusMessage; now != seen {
			seen = now
			if onChange != nil {
				onChange(task)
			}
		}
		if done(task) {
			return task, nil
		}
		pause := time.NewTimer(max(time.Duration(task.PollIntervalMs)*time.Millisecond, 50*time.Millisecond))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return task, fmt.Errorf("task %s is %s (%s): %w", id, task.Status, task.StatusMessage, ctx.Err())
		}
	}
}
