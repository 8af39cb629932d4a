package job

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/mcptasks/mcptasks/internal/schema"
)

// A toolResult is an MCP CallToolResult (MCP 2026-07-28, server/tools).
type toolResult struct {
	ResultType        string            `json:"resultType"`
	Content           []json.RawMessage `json:"content"`
	StructuredContent json.RawMessage   `json:"structuredContent,omitempty"`
	IsError           bool              `json:"isError"`
}

// complete is the only resultType of a tool that has ended.
const complete = "complete"

func newToolResult(isError bool, text string) toolResult {
	return toolResult{ResultType: complete, Content: []json.RawMessage{textBlock(text)}, IsError: isError}
}

// TextResult is a CallToolResult that says one thing, as JSON.
func TextResult(text string, isError bool) string { return LinkedResult(text, isError, "") }

// LinkedResult is TextResult with a link to the log beside it; without where logURI is "".
func LinkedResult(text string, isError bool, logURI string) string {
	return string(encode(newToolResult(isError, text).withLog(logURI, 0)))
}

// withLog is r with a link to the log of so many bytes; r itself where uri is "".
func (r toolResult) withLog(uri string, size int64) toolResult {
	if uri == "" {
		return r
	}
	r.Content = append(slices.Clip(r.Content), encode(struct {
		Type     string `json:"type"`
		URI      string `json:"uri"`
		Name     string `json:"name"`
		Title    string `json:"title"`
		MIMEType string `json:"mimeType"`
		Size     int64  `json:"size,omitempty"`
	}{"resource_link", uri, "log", "The whole log, while the Job is kept", LogMIMEType, size}))
	return r
}

func textBlock(text string) json.RawMessage {
	return encode(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", text})
}

// encode is v as JSON. Unlike json.Marshal it leaves <, > and & as they are.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// Strings, booleans and JSON that has been parsed can be encoded.
		panic(fmt.Sprintf("job: encode a result: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// stored is the size of a JSON text within an object at the API server: as a JSON string, where quotes and backslashes take
// two bytes, and <, > and &, as encoding/json has it, six.
func stored(text []byte) int {
	n := len(`""`)
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		n += escaped(r, size, true)
		text = text[size:]
	}
	return n
}

// storedText is what one character of a text block takes there: it is escaped twice.
func storedText(r rune, size int) int {
	if r == 0 || r == utf8.RuneError && size == 1 {
		return len(string(utf8.RuneError))
	}
	switch once := escaped(r, size, false); {
	case once == size:
		return escaped(r, size, true)
	case r == '"' || r == '\\':
		return 4
	default:
		return once + 1 // the backslash is escaped
	}
}

// escaped is the size of a character within a JSON string.
func escaped(r rune, size int, html bool) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
		return 2
	case r < ' ', r == '\u2028', r == '\u2029':
		return 6
	case html && (r == '<' || r == '>' || r == '&'):
		return 6
	default:
		return size
	}
}

// parseToolResult reads a text that is a CallToolResult: a JSON object with content blocks. Other objects that happen to have
// a "content" do not pass: all blocks must be valid, and a list without any is not enough. Only content, structuredContent and
// isError are taken over; _meta and what else there is are the server's to say.
func parseToolResult(text []byte) (toolResult, bool) {
	if _, err := schema.Decode(text); err != nil {
		return toolResult{}, false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil || fields["content"] == nil {
		return toolResult{}, false
	}
	r := toolResult{ResultType: complete}
	if value, ok := fields["resultType"]; ok && string(value) != `"complete"` {
		return toolResult{}, false
	}
	if value, ok := fields["isError"]; ok && json.Unmarshal(value, &r.IsError) != nil {
		return toolResult{}, false
	}
	if value := fields["structuredContent"]; string(value) != "null" {
		r.StructuredContent = value
	}
	if json.Unmarshal(fields["content"], &r.Content) != nil || r.Content == nil {
		return toolResult{}, false
	}
	for _, block := range r.Content {
		if !validBlock(block) {
			return toolResult{}, false
		}
	}
	if len(r.Content) == 0 && r.StructuredContent != nil {
		r.Content = append(r.Content, textBlock(string(r.StructuredContent)))
	}
	return r, len(r.Content) > 0
}

// validBlock reports whether JSON is a content block (MCP 2026-07-28, schema "ContentBlock").
func validBlock(block json.RawMessage) bool {
	value, err := schema.Decode(block)
	if err != nil {
		return false
	}
	b, ok := value.(map[string]any)
	if !ok || !optionalObjects(b, "annotations", "_meta") {
		return false
	}
	switch b["type"] {
	case "text":
		return isString(b, "text")
	case "image", "audio":
		return isBase64(b, "data") && isString(b, "mimeType")
	case "resource_link":
		return isString(b, "uri") && isString(b, "name")
	case "resource":
		resource, ok := b["resource"].(map[string]any)
		if !ok || !isString(resource, "uri") {
			return false
		}
		return isString(resource, "text") != isBase64(resource, "blob")
	default:
		return false
	}
}

func optionalObjects(fields map[string]any, names ...string) bool {
	for _, name := range names {
		if value, ok := fields[name]; ok {
			if _, ok := value.(map[string]any); !ok {
				return false
			}
		}
	}
	return true
}

func isString(fields map[string]any, name string) bool {
	_, ok := fields[name].(string)
	return ok
}

func isBase64(fields map[string]any, name string) bool {
	text, ok := fields[name].(string)
	if !ok {
		return false
	}
	_, err := base64.StdEncoding.DecodeString(text)
	return err == nil
}
