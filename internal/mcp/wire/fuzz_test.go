package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	kjson "sigs.k8s.io/json"

	"github.com/mcptasks/mcptasks/internal/headerparam"
)

// members decodes an object as any other reader would: what the parser lets through must mean the same to both.
func members(t *testing.T, object []byte) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(object, &m); err != nil || m == nil {
		t.Fatalf("no JSON object: %v: %q", err, object)
	}
	return m
}

// checkReply checks a JSON-RPC response: JSON with the id as it was sent, and a result or an error, not both.
func checkReply(t *testing.T, reply, id json.RawMessage) {
	t.Helper()
	m := members(t, reply)
	if !bytes.Equal(m["id"], id) {
		t.Fatalf("the id %q came back as %q", id, m["id"])
	}
	_, result := m["result"]
	_, failed := m["error"]
	if string(m["jsonrpc"]) != `"2.0"` || result == failed || bytes.ContainsAny(reply, "\r\n") {
		t.Fatalf("no reply: %q", reply)
	}
}

// checkWords checks what a caller is told: a sentence of ours, with nothing of Go or of what was sent beyond a few words.
func checkWords(t *testing.T, e *Error) {
	t.Helper()
	if e.Message == "" || len(e.Message) > 1024 || !utf8.ValidString(e.Message) || strings.Contains(e.Message, "json:") {
		t.Fatalf("told %q", e.Message)
	}
}

// FuzzParse hands any body to the parser. What it refuses it refuses in words, with the id if there was one; what it accepts is
// what another reader reads, and can be answered.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":1},"_meta":{}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"\u0000","method":"notifications/x","params":{"_meta":{"progressToken":1e3}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":-9007199254740993,"method":"tasks/get","params":{"taskId":"t","_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{}}}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","ID":7}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1e1,"method":"ping"}`))
	f.Add([]byte(` [{"jsonrpc":"2.0"}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		request, refused := Parse(body)
		if refused != nil {
			checkWords(t, refused)
			var id json.RawMessage
			if request != nil {
				id = request.ID
			}
			checkReply(t, EncodeError(id, refused), id)
			return
		}
		sent := members(t, body)
		var method string
		if err := json.Unmarshal(sent["method"], &method); err != nil || method != request.Method || !utf8.Valid(body) {
			t.Fatalf("the method of %q is %q", body, request.Method)
		}
		if !bytes.Equal(sent["id"], request.ID) || request.IsNotification() && !strings.HasPrefix(method, "notifications/") {
			t.Fatalf("the id of %q is %q", body, request.ID)
		}
		params := map[string]json.RawMessage{}
		if sent["params"] != nil {
			params = members(t, sent["params"])
		}
		p := request.Params
		for name, got := range map[string]json.RawMessage{
			"_meta": p.Meta, "name": p.Name, "uri": p.URI, "arguments": p.Arguments, "cursor": p.Cursor, "taskId": p.TaskID,
			"inputResponses": p.InputResponses, "requestState": p.RequestState, "notifications": p.Notifications,
		} {
			if !bytes.Equal(params[name], got) {
				t.Fatalf("params.%s of %q is %q", name, body, got)
			}
		}
		checkMeta(t, p.Meta)
		if request.IsNotification() {
			return
		}
		checkReply(t, EncodeError(request.ID, TaskNotFound()), request.ID)
		reply, err := EncodeResult(request.ID, Server{Name: "x"}.Complete())
		if err != nil {
			t.Fatal(err)
		}
		checkReply(t, reply, request.ID)
	})
}

// FuzzReadMembers compares the reader of members with a library's, on any JSON; on what is none it only has to end.
func FuzzReadMembers(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"a":[2,"]"]},"c":"\"}"}`))
	f.Add([]byte(" {\t\"\\u0061\" : null , \"A\":[]\r\n} "))
	f.Add([]byte(`{"a":"x","b":-1e9,"a":true}`))
	f.Add([]byte(`{"":{},"b\\":"\\"}`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`[{"a":1}]`))
	f.Fuzz(func(t *testing.T, object []byte) {
		var a, b json.RawMessage
		err := ReadMembers(object, Member{"a", &a}, Member{"b", &b})
		if !json.Valid(object) {
			return // Parse lets no others through
		}
		var want struct {
			A json.RawMessage `json:"a"`
			B json.RawMessage `json:"b"`
		}
		strict, wrong := kjson.UnmarshalStrict(object, &want, kjson.DisallowDuplicateFields)
		switch {
		case kindOf(object) != kindObject || wrong != nil || len(strict) > 0:
			if err == nil {
				t.Fatalf("%q is let through, though %v%v", object, wrong, strict)
			}
		case err != nil:
			t.Fatalf("%q: %v", object, err)
		case !bytes.Equal(a, want.A) || !bytes.Equal(b, want.B):
			t.Fatalf("%q is read as %q and %q, want %q and %q", object, a, b, want.A, want.B)
		}
	})
}

// checkMeta checks that a _meta that is accepted says what is read from it.
func checkMeta(t *testing.T, raw json.RawMessage) {
	t.Helper()
	meta, refused := ParseMeta(raw)
	if refused != nil {
		checkWords(t, refused)
		return
	}
	sent := members(t, raw)
	declared := members(t, sent[MetaClientCapabilities])
	version, _ := String(sent[MetaProtocolVersion])
	switch {
	case !HasProtocolVersion(raw) || version != meta.ProtocolVersion:
		t.Fatalf("%q is read as %+v", raw, meta)
	case meta.Tasks && !IsObject(members(t, declared["extensions"])[TasksExtension]):
		t.Fatalf("%q declares no tasks", raw)
	case meta.Forms && !IsObject(declared["elicitation"]):
		t.Fatalf("%q declares no forms", raw)
	case meta.ProgressToken != nil:
		if notification, err := Marshal(Progress(meta.ProgressToken, 1, "x")); err != nil || !json.Valid(notification) {
			t.Fatalf("no progress can be sent with the token %q: %v", meta.ProgressToken, err)
		}
	}
}

// FuzzDecodeHeaderValue hands any value to the decoder. What it accepts can be encoded in one way only; what the encoding rules
// produce comes back as it was.
func FuzzDecodeHeaderValue(f *testing.F) {
	f.Add("greet")
	f.Add("=?base64?YQ==?=")
	f.Add("=?base64?YR==?=")
	f.Add("=?base64??=")
	f.Add("=?base64?=")
	f.Add("=?base64?YQ\r\n==?=")
	f.Fuzz(func(t *testing.T, value string) {
		got, ok := decodeHeaderValue(value)
		isEncoded := len(value) >= len(base64Prefix+base64Suffix) &&
			strings.HasPrefix(value, base64Prefix) && strings.HasSuffix(value, base64Suffix)
		switch {
		case !ok:
		case !utf8.ValidString(got):
			t.Fatalf("%q is read as %q", value, got)
		case isEncoded && encodeHeaderValue(got) != value:
			t.Fatalf("%q is read as %q, whose encoding is another", value, got)
		case !isEncoded && got != value:
			t.Fatalf("the literal %q is read as %q", value, got)
		}
		valid := strings.ToValidUTF8(value, "?")
		if got, ok := decodeHeaderValue(encodeHeaderValue(valid)); !ok || got != valid {
			t.Fatalf("%q came back as %q, %v", valid, got, ok)
		}
		checkName(t, valid)
	})
}

// checkName checks that a value agrees with its own header in both forms, and with no other.
func checkName(t *testing.T, value string) {
	t.Helper()
	header := http.Header{"Mcp-Name": {encodeHeaderValue(value)}}
	if err := CheckName(header, "params.name", value, false); err != nil {
		t.Fatalf("%q does not agree with its own header: %v", value, err)
	}
	err := CheckName(header, "params.name", value+"x", false)
	if err == nil || err.Code != CodeHeaderMismatch {
		t.Fatalf("%q agrees with the header of another: %v", value, err)
	}
	checkWords(t, err)
}

func encodeHeaderValue(value string) string {
	return base64Prefix + base64.StdEncoding.EncodeToString([]byte(value)) + base64Suffix
}

// wholeNumber is an integer as a header may have it.
var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,62})(\.0+)?$`)

// FuzzCheckParams compares any header with any arguments. A header is let through if and only if another reader finds the same
// value in both.
func FuzzCheckParams(f *testing.F) {
	f.Add([]byte(`{"a":"eu"}`), "eu")
	f.Add([]byte(`{"a":42}`), "42.0")
	f.Add([]byte(`{"a":9007199254740993}`), "9007199254740992")
	f.Add([]byte(`{"a":true}`), "true")
	f.Add([]byte(`{"a":null,"a":"\u00e4"}`), "=?base64?w6Q=?=")
	f.Add([]byte(`{"a":{"a":1}}`), "+1")
	f.Add([]byte(`{"a":-0}`), "0")
	f.Fuzz(func(t *testing.T, arguments []byte, raw string) {
		if !json.Valid(arguments) {
			return // Parse lets no others through
		}
		mirrored := []headerparam.Param{{Path: []string{"a"}, Name: "A", Type: "string"}}
		refused := CheckParams(http.Header{"Mcp-Param-A": {raw}}, mirrored, arguments)
		if refused != nil {
			checkWords(t, refused)
		}
		text, decodable := decodeHeaderValue(raw)
		if same := decodable && sameAsArgument(t, arguments, text); same != (refused == nil) {
			t.Fatalf("header %q, arguments %q: %v", raw, arguments, refused)
		}
	})
}

// sameAsArgument reports whether the member "a" of the arguments has the value that the text stands for.
func sameAsArgument(t *testing.T, arguments []byte, text string) bool {
	t.Helper()
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	decoder.UseNumber()
	if decoder.Decode(&object) != nil {
		return false
	}
	switch value := object["a"].(type) {
	case string:
		return value == text
	case bool:
		return text == "true" && value || text == "false" && !value
	case json.Number:
		if !wholeNumber.MatchString(text) || !wholeNumber.MatchString(value.String()) {
			return false
		}
		a, okA := new(big.Rat).SetString(text)
		b, okB := new(big.Rat).SetString(value.String())
		return okA && okB && a.Cmp(b) == 0
	default:
		return false
	}
}

// FuzzWithServer puts the endpoint's name into any stored result: all else stays as it is, value by value.
func FuzzWithServer(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"<a> & \u2028"}],"structuredContent":{"id":9007199254740993,"x":1.0e2}}`))
	f.Add([]byte(`{"_meta":{"a":1,"io.modelcontextprotocol/serverInfo":7},"isError":true}`))
	f.Add([]byte(`{"_meta":null}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, stored []byte) {
		result, err := WithServer(stored, Server{Name: "x", Version: "1"})
		if err != nil {
			return
		}
		before, after := members(t, stored), members(t, result)
		meta := map[string]json.RawMessage{}
		_ = json.Unmarshal(before["_meta"], &meta) // one of another type is replaced
		if got := members(t, after["_meta"]); string(got[MetaServerInfo]) != `{"name":"x","version":"1"}` {
			t.Fatalf("the server is %q", got[MetaServerInfo])
		} else {
			checkSame(t, meta, got, MetaServerInfo)
		}
		checkSame(t, before, after, "_meta")
	})
}

// checkSame checks that two objects have the same members, but for one.
func checkSame(t *testing.T, before, after map[string]json.RawMessage, except string) {
	t.Helper()
	delete(before, except)
	delete(after, except)
	if len(before) != len(after) {
		t.Fatalf("%d members became %d", len(before), len(after))
	}
	for name, value := range before {
		var want bytes.Buffer
		if err := json.Compact(&want, value); err != nil || !bytes.Equal(want.Bytes(), after[name]) {
			t.Fatalf("%s was %q and is %q", name, value, after[name])
		}
	}
}
