package methods

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

// pageSize is how many tools one page of tools/list holds.
const pageSize = 100

// ListTools returns one page of the tools that the caller can call, sorted by name, and the cursor of the next one, empty on
// the last. A cursor stands for the last name of the page before, so that it stays good when tools come and go.
func (s *Service) ListTools(ctx context.Context, caller auth.Caller, cursor json.RawMessage) ([]wire.Tool, string, error) {
	after, err := readCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	tools, err := s.catalog.List(ctx, caller.Namespace)
	if err != nil {
		return nil, "", err
	}
	listings := make([]wire.Tool, len(tools))
	for i, tool := range tools {
		listings[i] = tool.Listing
	}
	listings = s.withCompanions(listings)
	byName := func(tool wire.Tool, name string) int { return strings.Compare(tool.Name, name) }
	start, found := slices.BinarySearchFunc(listings, after, byName)
	if found {
		start++
	}
	page := listings[start:min(start+pageSize, len(listings))]
	next := ""
	if start+pageSize < len(listings) {
		next = makeCursor(page[len(page)-1].Name)
	}
	return page, next, nil
}

// cursorMark tells our cursors from other base64.
const cursorMark = "after:"

func makeCursor(name string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(cursorMark + name))
}

// readCursor returns the name that a cursor stands for. No cursor and the empty one both mean the beginning.
func readCursor(raw json.RawMessage) (string, error) {
	if raw == nil {
		return "", nil
	}
	text, ok := wire.String(raw)
	if ok && text == "" {
		return "", nil
	}
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	name, marked := strings.CutPrefix(string(decoded), cursorMark)
	if !ok || err != nil || !marked {
		return "", wire.InvalidParams("Invalid cursor: send nextCursor of the page before as it was, or none to begin")
	}
	return name, nil
}
