package sdk

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

// The results of resources/*, as the endpoint's own types have their entries.
type (
	listResourcesResult struct {
		mcp.ResultBase
		Resources []struct{} `json:"resources"`
	}
	listTemplatesResult struct {
		mcp.ResultBase
		ResourceTemplates []wire.ResourceTemplate `json:"resourceTemplates"`
	}
	readResourceResult struct {
		mcp.ResultBase
		Contents []wire.ResourceContents `json:"contents"`
	}
)

// serveResources answers resources/*, if they are offered.
func (m *middleware) serveResources(ctx context.Context, request mcp.Request) (result mcp.Result, served bool, err error) {
	if !m.service.HasResources() {
		return nil, false, nil
	}
	switch params := request.GetParams().(type) {
	case *mcp.ListResourcesParams:
		var cursor json.RawMessage
		if params != nil {
			cursor = rawCursor(params.Cursor)
		}
		return &listResourcesResult{Resources: []struct{}{}}, true, m.service.ListResources(cursor)
	case *mcp.ListResourceTemplatesParams:
		var cursor json.RawMessage
		if params != nil {
			cursor = rawCursor(params.Cursor)
		}
		return &listTemplatesResult{ResourceTemplates: m.service.ResourceTemplates()}, true, m.service.ListResources(cursor)
	case *mcp.ReadResourceParams:
		contents, err := m.service.ReadResource(ctx, auth.CallerFrom(ctx), params.URI)
		return &readResourceResult{Contents: []wire.ResourceContents{contents}}, true, err
	}
	return nil, false, nil
}

// rawCursor is a cursor as the methods take it; nil for none.
func rawCursor(cursor string) json.RawMessage {
	if cursor == "" {
		return nil
	}
	raw, _ := wire.Marshal(cursor) // a string can be encoded
	return raw
}

// knowsNoLinks reports whether a revision has no resource_link among the content of results, which came with 2025-06-18: its
// clients may refuse the whole result.
func knowsNoLinks(version string) bool {
	return version == "" || version == wire.Legacy20250326 || version == wire.Legacy20241105
}

// withoutLinks is a CallToolResult in which texts say what links say.
func withoutLinks(result json.RawMessage) (json.RawMessage, error) {
	const link = "resource_link"
	if !bytes.Contains(result, []byte(link)) {
		return result, nil
	}
	var members map[string]json.RawMessage
	var content []json.RawMessage
	if err := json.Unmarshal(result, &members); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(members["content"], &content); err != nil {
		return nil, err
	}
	for i, block := range content {
		var b struct {
			Type, Name, Title, URI string
		}
		if err := json.Unmarshal(block, &b); err != nil || b.Type != link {
			continue
		}
		name := b.Title
		if name == "" {
			name = b.Name
		}
		text, err := wire.Marshal(map[string]string{"type": "text", "text": name + ": " + b.URI})
		if err != nil {
			return nil, err
		}
		content[i] = text
	}
	var err error
	if members["content"], err = wire.Marshal(content); err != nil {
		return nil, err
	}
	return wire.Marshal(members)
}
