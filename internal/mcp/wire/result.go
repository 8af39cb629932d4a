package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// Values of resultType.
const (
	resultComplete = "complete"
	resultTask     = "task"
)

// Server identifies this endpoint in the _meta of every result. It stands there only for people and logs; clients do not decide
// by it.
type Server struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// ResultMeta is the _meta of a result.
type ResultMeta struct {
	Server Server `json:"io.modelcontextprotocol/serverInfo"`
}

// ResultHeader is what every result begins with; results embed it.
type ResultHeader struct {
	ResultType string     `json:"resultType"`
	Meta       ResultMeta `json:"_meta"`
}

// Complete is the header of an ordinary result, that of tasks/get included.
func (s Server) Complete() ResultHeader { return ResultHeader{resultComplete, ResultMeta{s}} }

// Task is the header of the answer to a tools/call that became a task, and of nothing else.
func (s Server) Task() ResultHeader { return ResultHeader{resultTask, ResultMeta{s}} }

// Cacheable are the fields of a result that clients may keep (server/utilities/caching). It has nothing to do with a task's
// ttlMs.
type Cacheable struct {
	// TTLMs is for how long, in milliseconds.
	TTLMs int64 `json:"ttlMs"`
	// CacheScope is "private" where the result depends on the caller.
	CacheScope string `json:"cacheScope"`
}

// Scopes of Cacheable.
const (
	ScopePublic  = "public"
	ScopePrivate = "private"
)

// DiscoverResult is the result of server/discover.
type DiscoverResult struct {
	ResultHeader
	SupportedVersions []string     `json:"supportedVersions"`
	Capabilities      Capabilities `json:"capabilities"`
	Instructions      string       `json:"instructions,omitempty"`
	Cacheable
}

// Capabilities are what the endpoint offers: tools and news of their changes, tasks, and resources where it has some.
type Capabilities struct {
	Tools ToolsCapability `json:"tools"`
	// Resources says that there are resources; nobody is told of changes of theirs.
	Resources  *struct{}           `json:"resources,omitempty"`
	Extensions map[string]struct{} `json:"extensions"`
}

// ToolsCapability says that there are tools.
type ToolsCapability struct {
	// ListChanged says that subscriptions/listen tells of changes in the list.
	ListChanged bool `json:"listChanged"`
}

// ServerCapabilities are the capabilities of an endpoint, with resources or without.
func ServerCapabilities(resources bool) Capabilities {
	c := Capabilities{Tools: ToolsCapability{ListChanged: true}, Extensions: map[string]struct{}{TasksExtension: {}}}
	if resources {
		c.Resources = &struct{}{}
	}
	return c
}

// hour is the TTLMs of what only changes with the endpoint's configuration.
const hour = 3_600_000

// halfMinute is the TTLMs of what depends on what happens in the cluster.
const halfMinute = 30_000

// Discover is the result of server/discover. It is the same for every caller, so it may be cached by anybody for an hour.
func Discover(server Server, instructions string, resources bool) DiscoverResult {
	return DiscoverResult{
		ResultHeader:      server.Complete(),
		SupportedVersions: SupportedVersions(),
		Capabilities:      ServerCapabilities(resources),
		Instructions:      instructions,
		Cacheable:         Cacheable{TTLMs: hour, CacheScope: ScopePublic},
	}
}

// Tool is one entry of tools/list.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  any             `json:"annotations,omitempty"`
}

// ListToolsResult is one page of tools/list.
type ListToolsResult struct {
	ResultHeader
	Tools      []Tool `json:"tools"`
	NextCursor string `json:"nextCursor,omitempty"`
	Cacheable
}

// ListTools is one page of tools/list. It depends on the caller, and since few clients listen to its changes, it is fresh
// for half a minute only.
func ListTools(server Server, tools []Tool, nextCursor string) ListToolsResult {
	if tools == nil {
		tools = []Tool{} // [] on the wire, not null
	}
	return ListToolsResult{
		ResultHeader: server.Complete(),
		Tools:        tools,
		NextCursor:   nextCursor,
		Cacheable:    Cacheable{TTLMs: halfMinute, CacheScope: ScopePrivate},
	}
}

// TextResult is a CallToolResult with one text block, as JSON.
func TextResult(text string, isError bool) json.RawMessage {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	result, err := Marshal(struct {
		ResultType string  `json:"resultType"`
		Content    []block `json:"content"`
		IsError    bool    `json:"isError"`
	}{resultComplete, []block{{"text", text}}, isError})
	if err != nil {
		panic(err) // strings always marshal
	}
	return result
}

// errNull is what encoding/json does not call an error.
var errNull = errors.New("it is null")

// WithServer returns a CallToolResult that is stored as JSON with the endpoint's name in its _meta. The members' values stay as
// they are, number by number.
func WithServer(result json.RawMessage, server Server) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(result, &members); err != nil || members == nil {
		return nil, fmt.Errorf("the stored result is no JSON object: %w", cmp.Or(err, errNull))
	}
	meta := map[string]json.RawMessage{}
	if raw, ok := members["_meta"]; ok {
		if err := json.Unmarshal(raw, &meta); err != nil || meta == nil {
			meta = map[string]json.RawMessage{}
		}
	}
	var err error
	if meta[MetaServerInfo], err = Marshal(server); err != nil {
		return nil, err
	}
	if members["_meta"], err = Marshal(meta); err != nil {
		return nil, err
	}
	return Marshal(members)
}

// Progress is a notifications/progress message.
func Progress(token json.RawMessage, progress int64, message string) any {
	type params struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress int64           `json:"progress"`
		Message  string          `json:"message,omitempty"`
	}
	return struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  params `json:"params"`
	}{"2.0", NotifyProgress, params{token, progress, message}}
}

// Marshal is json.Marshal without the escaping of <, > and & that only HTML needs: what a tool wrote leaves as it was.
func Marshal(value any) (json.RawMessage, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}
