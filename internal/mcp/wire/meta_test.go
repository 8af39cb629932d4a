package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestParseMeta(t *testing.T) {
	const version = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	const none = `"io.modelcontextprotocol/clientCapabilities":{}`
	for name, test := range map[string]struct {
		meta  string
		code  int
		tasks bool
		token string
	}{
		"complete":                        {`{` + version + `,` + none + `}`, 0, false, ``},
		"S-42: client info is not needed": {`{` + version + `,` + none + `,"io.modelcontextprotocol/clientInfo":7}`, 0, false, ``},
		"no _meta":                        {``, CodeInvalidParams, false, ``},
		"null":                            {`null`, CodeInvalidParams, false, ``},
		"array":                           {`[]`, CodeInvalidParams, false, ``},
		"no version":                      {`{` + none + `}`, CodeInvalidParams, false, ``},
		"S-41: version of another type":   {`{"io.modelcontextprotocol/protocolVersion":1,` + none + `}`, CodeInvalidParams, false, ``},
		"no capabilities":                 {`{` + version + `}`, CodeInvalidParams, false, ``},
		"capabilities of another type": {
			`{` + version + `,"io.modelcontextprotocol/clientCapabilities":[]}`, CodeInvalidParams, false, ``,
		},
		"string token": {`{` + version + `,` + none + `,"progressToken":"a"}`, 0, false, `"a"`},
		"number token": {
			`{` + version + `,` + none + `,"progressToken":9007199254740993}`, 0, false, `9007199254740993`,
		},
		"token of another type": {`{` + version + `,` + none + `,"progressToken":{}}`, CodeInvalidParams, false, ``},
		"tasks declared": {`{` + version + `,"io.modelcontextprotocol/clientCapabilities":
			{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`, 0, true, ``},
		"tasks with settings": {`{` + version + `,"io.modelcontextprotocol/clientCapabilities":
			{"extensions":{"io.modelcontextprotocol/tasks":{"x":1}}}}`, 0, true, ``},
		"A01, T-65: the capability of 2025-11-25 does not count": {`{` + version + `,"io.modelcontextprotocol/clientCapabilities":
			{"tasks":{"list":{}}}}`, 0, false, ``},
		"tasks: null": {`{` + version + `,"io.modelcontextprotocol/clientCapabilities":
			{"extensions":{"io.modelcontextprotocol/tasks":null}}}`, 0, false, ``},
		"tasks: true": {`{` + version + `,"io.modelcontextprotocol/clientCapabilities":
			{"extensions":{"io.modelcontextprotocol/tasks":true}}}`, 0, false, ``},
		"tasks beside extensions": {`{` + version + `,"io.modelcontextprotocol/clientCapabilities":
			{"io.modelcontextprotocol/tasks":{}}}`, 0, false, ``},
		"extensions of another type": {`{` + version + `,"io.modelcontextprotocol/clientCapabilities":
			{"extensions":["io.modelcontextprotocol/tasks"]}}`, 0, false, ``},
	} {
		t.Run(name, func(t *testing.T) {
			var raw []byte
			if test.meta != "" {
				raw = []byte(test.meta)
			}
			meta, err := ParseMeta(raw)
			if codeOf(err) != test.code || meta.Tasks != test.tasks || string(meta.ProgressToken) != test.token {
				t.Errorf("got %+v, %v", meta, err)
			}
		})
	}
}

func TestValidTraceparent_S51(t *testing.T) {
	const good = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
	for value, want := range map[string]string{
		good:        good,
		"":          "",
		good + "\n": "",
		"00-0AF7651916CD43DD8448EB211C80319C-00F067AA0BA902B7-01": "",
		"nonsense": "",
	} {
		if got := ValidTraceparent(value); got != want {
			t.Errorf("%q: got %q", value, got)
		}
	}
}

func TestDeclaresForms_S102(t *testing.T) {
	for capabilities, want := range map[string]bool{
		`{}`:                                    false,
		`{"elicitation":null}`:                  false,
		`{"elicitation":true}`:                  false,
		`{"elicitation":{}}`:                    true,
		`{"elicitation":{"form":{}}}`:           true,
		`{"elicitation":{"form":{},"url":{}}}`:  true,
		`{"elicitation":{"url":{}}}`:            false,
		`{"elicitation":{"form":false}}`:        false,
		`{"Elicitation":{}}`:                    false,
		`{"elicitation":{"applyDefaults":{}}}`:  true,
		`{"experimental":{"elicitation":{}}}`:   false,
		`{"elicitation":{"form":{},"form":{}}}`: false,
	} {
		meta, err := ParseMeta(json.RawMessage(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
			"io.modelcontextprotocol/clientCapabilities":` + capabilities + `}`))
		if err != nil || meta.Forms != want {
			t.Errorf("%s: got %v, %v; want %v", capabilities, meta.Forms, err, want)
		}
	}
}

// A20: keys that could be mistaken for one another, or fill the log, are none.
func TestReadIdempotencyKey_A20(t *testing.T) {
	long := strings.Repeat("x", 256)
	for raw, want := range map[string]string{
		`"order-7"`: "order-7", `"a\u0062"`: "ab", `"~!{}"`: "~!{}", `"` + long + `"`: long,
	} {
		if key, err := ReadIdempotencyKey(json.RawMessage(raw)); key != want || err != nil {
			t.Errorf("%.20s: got %q, %v", raw, key, err)
		}
	}
	if key, err := ReadIdempotencyKey(nil); key != "" || err != nil {
		t.Errorf("none: got %q, %v", key, err)
	}
	for _, raw := range []string{
		`""`, `null`, `7`, `{}`, `["a"]`, `"a b"`, `" a"`, `"a\n"`, `"a\u0000"`, `"\u007f"`, `"schön"`, `"` + long + `x"`,
		`"` + strings.Repeat("x", 10_000) + `"`,
	} {
		_, err := ReadIdempotencyKey(json.RawMessage(raw))
		if e := (*Error)(nil); !errors.As(err, &e) || e.Code != CodeInvalidParams {
			t.Errorf("%.20s: got %v", raw, err)
		}
	}
}
