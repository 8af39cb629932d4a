// Package mcpclient is a small MCP client (protocol 2026-07-28, Streamable HTTP) that speaks the Tasks extension. The tests and
// the demo use it to drive an endpoint from outside, as an agent would; no Go SDK can do that yet.
//
// It knows the wire only: nothing of Kubernetes and nothing of the server's packages, so that a mistake made there cannot hide
// here. It is no product: it follows the happy path closely and hands every error back as it came.
package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
)

// ProtocolVersion is the only revision this client speaks.
const ProtocolVersion = "2026-07-28"

// TasksExtension is the id of the Tasks extension (SEP-2663).
const TasksExtension = "io.modelcontextprotocol/tasks"

// Client calls one MCP endpoint. The zero value of every field but URL is usable; a Client is safe for concurrent use as long as
// nobody changes its fields.
type Client struct {
	// URL of the endpoint, for instance http://127.0.0.1:8080/mcp.
	URL string
	// Token is sent as a bearer token where it is not empty.
	Token string
	// WithoutTasks leaves the Tasks extension out of the declared capabilities: the endpoint then has to block.
	WithoutTasks bool
	// Capabilities are declared besides Tasks, for instance {"elicitation": {}}.
	Capabilities map[string]any
	// Meta is added to the _meta of every request, for instance {"progressToken": 1}.
	Meta map[string]any
	// OnProgress is called for each notifications/progress that arrives before a reply.
	OnProgress func(Progress)
	// HTTP does the requests. Default: http.DefaultClient.
	HTTP *http.Client

	lastID atomic.Int64
}

// Progress is the payload of notifications/progress.
type Progress struct {
	ProgressToken json.RawMessage `json:"progressToken"`
	Progress      float64         `json:"progress"`
	Total         float64         `json:"total"`
	Message       string          `json:"message"`
}

// Error is a JSON-RPC error together with the HTTP status it came with.
type Error struct {
	HTTPStatus int             `json:"-"`
	Code       int             `json:"code"`
	Message    string          `json:"message"`
	Data       json.RawMessage `json:"data"`
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (JSON-RPC %d, HTTP %d)", e.Message, e.Code, e.HTTPStatus)
}

// Discover returns the raw result of server/discover.
func (c *Client) Discover(ctx context.Context) (json.RawMessage, error) {
	return c.Request(ctx, "server/discover", "", nil)
}

// Request sends one request and returns the raw result. name is mirrored in Mcp-Name where it is not empty. A JSON-RPC error
// comes back as *Error.
func (c *Client) Request(ctx context.Context, method, name string, params map[string]any) (json.RawMessage, error) {
	body, header, err := c.Encode(method, name, params)
	if err != nil {
		return nil, err
	}
	response, err := c.Send(ctx, body, header)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	defer func() { _ = response.Body.Close() }()
	return c.decode(response)
}

// Encode returns the body and the headers of a request as Request would send them, for tests that want to change them first.
func (c *Client) Encode(method, name string, params map[string]any) ([]byte, http.Header, error) {
	message := map[string]any{"jsonrpc": "2.0", "id": c.lastID.Add(1), "method": method, "params": c.withMeta(params)}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(message); err != nil {
		return nil, nil, fmt.Errorf("encode %s: %w", method, err)
	}
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	header.Set("MCP-Protocol-Version", ProtocolVersion)
	header.Set("Mcp-Method", method)
	if name != "" {
		header.Set("Mcp-Name", headerValue(name))
	}
	if c.Token != "" {
		header.Set("Authorization", "Bearer "+c.Token)
	}
	return body.Bytes(), header, nil
}

// Send posts a body with exactly the given headers. The caller closes the response's body.
func (c *Client) Send(ctx context.Context, body []byte, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	return client.Do(request)
}

func (c *Client) withMeta(params map[string]any) map[string]any {
	capabilities := map[string]any{}
	for name, value := range c.Capabilities {
		capabilities[name] = value
	}
	if !c.WithoutTasks {
		capabilities["extensions"] = map[string]any{TasksExtension: map[string]any{}}
	}
	meta := map[string]any{
		"io.modelcontextprotocol/protocolVersion":    ProtocolVersion,
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "mcptasks-test", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": capabilities,
	}
	for name, value := range c.Meta {
		meta[name] = value
	}
	all := map[string]any{"_meta": meta}
	for name, value := range params {
		all[name] = value
	}
	return all
}

// decode reads the reply, as one JSON object or as the last event of a stream.
func (c *Client) decode(response *http.Response) (json.RawMessage, error) {
	contentType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if contentType == "text/event-stream" {
		return c.decodeStream(response)
	}
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read the reply: %w", err)
	}
	var message message
	if contentType != "application/json" || json.Unmarshal(data, &message) != nil {
		return nil, fmt.Errorf("HTTP %s with %q and no JSON-RPC reply: %.200q", response.Status, contentType, data)
	}
	return message.outcome(response.StatusCode)
}

func (c *Client) decodeStream(response *http.Response) (json.RawMessage, error) {
	events := bufio.NewReader(response.Body)
	for {
		message, err := readEvent(events)
		if err != nil {
			return nil, fmt.Errorf("the stream ended without a reply: %w", err)
		}
		switch {
		case message.Method == "":
			return message.outcome(response.StatusCode)
		case message.Method == "notifications/progress" && c.OnProgress != nil:
			var progress Progress
			if err := json.Unmarshal(message.Params, &progress); err != nil {
				return nil, fmt.Errorf("decode a progress notification: %w", err)
			}
			c.OnProgress(progress)
		}
	}
}

// readEvent returns the next message of a stream.
func readEvent(events *bufio.Reader) (message, error) {
	for {
		line, err := events.ReadString('\n')
		if err != nil {
			return message{}, err
		}
		data, isData := strings.CutPrefix(line, "data: ")
		if !isData {
			continue // an event's name, a keep-alive comment, or the blank line that ends an event
		}
		var m message
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			return message{}, fmt.Errorf("decode an event: %w", err)
		}
		return m, nil
	}
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

func (m message) outcome(status int) (json.RawMessage, error) {
	switch {
	case m.Error != nil:
		m.Error.HTTPStatus = status
		return nil, m.Error
	case m.Result == nil:
		return nil, fmt.Errorf("HTTP %d with neither a result nor an error", status)
	default:
		return m.Result, nil
	}
}

// headerValue encodes a value as SEP-2243 asks: as it is where a header can carry it, else in the base64 form.
func headerValue(value string) string {
	plain := value == strings.TrimSpace(value) && !strings.HasPrefix(value, "=?base64?")
	for _, r := range value {
		plain = plain && r >= ' ' && r <= '~'
	}
	if plain {
		return value
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
}
