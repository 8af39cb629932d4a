package methods

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

func TestCursor_S74(t *testing.T) {
	for _, name := range []string{"a", "a/b.c-d_e", "日本"} {
		raw, err := json.Marshal(makeCursor(name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readCursor(raw); got != name || err != nil {
			t.Errorf("%q came back as %q, %v", name, got, err)
		}
	}
	for raw, ok := range map[string]bool{
		"": true, `""`: true, `"x"`: false, `"****"`: false, `7`: false, `null`: false, `{}`: false,
		`"bm90IG91cnM"`: false, // base64, but not ours
	} {
		var cursor json.RawMessage
		if raw != "" {
			cursor = json.RawMessage(raw)
		}
		name, err := readCursor(cursor)
		if name != "" || (err == nil) != ok {
			t.Errorf("%s: %q, %v", raw, name, err)
		}
		if e := (*wire.Error)(nil); err != nil && (!errors.As(err, &e) || e.Code != wire.CodeInvalidParams) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
