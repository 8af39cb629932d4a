package job

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseToolResult(t *testing.T) {
	const text = `{"type":"text","text":"hello"}`
	tests := []struct {
		name string
		text string
		want string // the result as JSON; empty where the text is none
	}{
		{"text", `{"content":[` + text + `]}`, `{"resultType":"complete","content":[` + text + `],"isError":false}`},
		{"pretty-printed", " {\n  \"content\": [\n    " + text + "\n  ]\n}\n",
			`{"resultType":"complete","content":[` + text + `],"isError":false}`},
		{"error", `{"content":[` + text + `],"isError":true}`, `{"resultType":"complete","content":[` + text + `],"isError":true}`},
		{"resultType", `{"content":[` + text + `],"resultType":"complete"}`,
			`{"resultType":"complete","content":[` + text + `],"isError":false}`},
		{"_meta and others are dropped", `{"content":[` + text + `],` +
			`"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"x"}},"other":1}`,
			`{"resultType":"complete","content":[` + text + `],"isError":false}`},
		{"structured content", `{"content":[` + text + `],"structuredContent":{"id":9007199254740993}}`,
			`{"resultType":"complete","content":[` + text + `],"structuredContent":{"id":9007199254740993},"isError":false}`},
		{"structured content only", `{"content":[],"structuredContent":{"a":"<"}}`,
			`{"resultType":"complete","content":[{"type":"text","text":"{\"a\":\"<\"}"}],"structuredContent":{"a":"<"},"isError":false}`},
		{"image", `{"content":[{"type":"image","data":"AAEC","mimeType":"image/png","annotations":{"priority":1}}]}`,
			`{"resultType":"complete","content":[{"type":"image","data":"AAEC","mimeType":"image/png","annotations":{"priority":1}}],` +
				`"isError":false}`},
		{"audio, link, resources", `{"content":[{"type":"audio","data":"","mimeType":"audio/wav"},{"type":"resource_link",` +
			`"uri":"a:b","name":"n"},` +
			`{"type":"resource","resource":{"uri":"a:b","text":""}},{"type":"resource","resource":{"uri":"a:b","blob":"AA=="}}]}`,
			`{"resultType":"complete","content":[{"type":"audio","data":"","mimeType":"audio/wav"},{"type":"resource_link",` +
				`"uri":"a:b","name":"n"},` +
				`{"type":"resource","resource":{"uri":"a:b","text":""}},{"type":"resource","resource":{"uri":"a:b","blob":"AA=="}}],` +
				`"isError":false}`},

		{"no object", `[]`, ""},
		{"no JSON", `hello`, ""},
		{"two objects", `{"content":[` + text + `]} {}`, ""},
		{"no content", `{"isError":true}`, ""},
		{"null content", `{"content":null,"structuredContent":{}}`, ""},
		{"content of another kind", `{"content":"hello"}`, ""},
		{"Content in capitals", `{"Content":[` + text + `]}`, ""},
		{"page of nothing", `{"content":[],"totalPages":0}`, ""},
		{"page of records", `{"content":[{"id":1,"text":"a"}],"totalPages":1}`, ""},
		{"one block of another kind", `{"content":[` + text + `,{"type":"video"}]}`, ""},
		{"text without text", `{"content":[{"type":"text"}]}`, ""},
		{"text that is no string", `{"content":[{"type":"text","text":1}]}`, ""},
		{"image that is not base64", `{"content":[{"type":"image","data":"?","mimeType":"image/png"}]}`, ""},
		{"image without a type", `{"content":[{"type":"image","data":"AAEC"}]}`, ""},
		{"resource with both", `{"content":[{"type":"resource","resource":{"uri":"a:b","text":"","blob":""}}]}`, ""},
		{"resource with neither", `{"content":[{"type":"resource","resource":{"uri":"a:b"}}]}`, ""},
		{"resource that is no object", `{"content":[{"type":"resource","resource":"a:b"}]}`, ""},
		{"annotations of another kind", `{"content":[{"type":"text","text":"a","annotations":[]}]}`, ""},
		{"isError of another kind", `{"content":[` + text + `],"isError":"no"}`, ""},
		{"another resultType", `{"content":[` + text + `],"resultType":"task"}`, ""},
		{"key twice", `{"content":[` + text + `],"content":[` + text + `]}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, ok := parseToolResult([]byte(tt.text))
			got := ""
			if ok {
				got = string(encode(r))
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// What a text takes at the API server is what encoding/json makes of it there.
func TestStored(t *testing.T) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if r > 0x3000 && r%97 != 0 || !utf8.ValidRune(r) {
			continue
		}
		checkStored(t, string(r))
	}
	for _, text := range []string{"", "\xff", "a\xc3", "\xe2\x82", `"\<>&`, "\u2028\u2029", strings.Repeat("\x01\n\"", 100)} {
		checkStored(t, text)
	}
}

func checkStored(t *testing.T, text string) {
	t.Helper()
	sanitized := tail{data: []byte(text)}.text()
	block := textBlock(sanitized)
	size := func(v any) int {
		doc, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return len(doc)
	}
	// encoding/json has a short escape for two more characters than are counted here.
	if got, want := stored(block), size(string(block)); got < want || got > want+5*len(text) {
		t.Errorf("stored(%q) = %d, want %d", text, got, want)
	}
	price := 0
	for data := []byte(text); len(data) > 0; {
		r, n := utf8.DecodeRune(data)
		price += storedText(r, n)
		data = data[n:]
	}
	if want := size(string(block)) - size(string(textBlock(""))); price < want {
		t.Errorf("price of %q = %d, want at least %d", text, price, want)
	}
}
