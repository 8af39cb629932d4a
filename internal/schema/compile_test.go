package schema_test

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcptasks/mcptasks/internal/schema"
)

func TestCompile(t *testing.T) {
	tests := []struct {
		name string
		doc  string
		// want is part of the error; empty where the schema is good.
		want string
	}{
		{name: "least schema", doc: `{"type":"object"}`},
		{name: "S-52: dialect named", doc: `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`},
		{name: "id of its own", doc: `{"$id":"https://example.com/a","type":"object","properties":{"a":{"$ref":"#/$defs/a"}},` +
			`"$defs":{"a":{}}}`},
		{name: "id of the meta-schema", doc: `{"$id":"https://json-schema.org/draft/2020-12/schema","type":"object"}`},
		{name: "keyword as property name", doc: `{"type":"object","properties":{"$ref":{"type":"string"},"$id":{"type":"integer"}}}`},
		{name: "reference as constant", doc: `{"type":"object","properties":{"a":{"const":{"$ref":"http://example.com"}}}}`},
		{name: "A27: reference to true", doc: `{"type":"object","properties":{"a":{"$ref":"#/$defs/any"}},"$defs":{"any":true}}`},
		{name: "reference with escapes", doc: `{"type":"object","properties":{"a":{"$ref":"#/$defs/x~1y%20z"}},` +
			`"$defs":{"x/y z":{"type":"string"}}}`},
		{name: "anchor", doc: `{"type":"object","properties":{"a":{"$ref":"#name"}},"$defs":{"a":{"$anchor":"name","type":"string"}}}`},
		{name: "recursion through items", doc: `{"type":"object","properties":{"children":{"items":{"$ref":"#"}}}}`},
		{name: "format of any kind", doc: `{"type":"object","properties":{"a":{"type":"string","format":"no such format"}}}`},

		{name: "empty", doc: ``, want: "the text is not JSON"},
		{name: "not JSON", doc: `{"type":}`, want: "the text is not JSON"},
		{name: "two documents", doc: `{"type":"object"} {}`, want: "the text is not JSON"},
		{name: "true", doc: `true`, want: "must be a JSON object"},
		{name: "null", doc: `null`, want: "must be a JSON object"},
		{name: "S-82: no type", doc: `{"properties":{}}`, want: `"type": "object"`},
		{name: "S-82: other root type", doc: `{"type":"array"}`, want: `"type": "object"`},
		{name: "object among others", doc: `{"type":["object","null"]}`, want: `"type": "object"`},
		{name: "S-52: other dialect", doc: `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`,
			want: "/$schema: the dialect is not supported"},
		{name: "other dialect inside", doc: `{"type":"object",` +
			`"properties":{"a":{"$schema":"http://json-schema.org/draft-07/schema#"}}}`, want: "/properties/a/$schema:"},
		{name: "A27: id inside", doc: `{"type":"object","properties":{"a":{"$id":"http://example.com/","$ref":"#/b"}}}`,
			want: "/properties/a/$id:"},
		{name: "A27, S-53: network reference", doc: `{"type":"object","properties":{"a":{"$ref":"http://169.254.169.254/latest"}}}`,
			want: "/properties/a/$ref: only references within the schema"},
		{name: "A27, S-53: file reference", doc: `{"type":"object","allOf":[{"$ref":"file:///etc/passwd"}]}`,
			want: "/allOf/0/$ref: only references within the schema"},
		{name: "relative reference", doc: `{"type":"object","properties":{"a":{"$ref":"other.json#/a"}}}`,
			want: "/properties/a/$ref: only references"},
		{name: "reference to the meta-schema", doc: `{"type":"object",` +
			`"properties":{"a":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`, want: "only references"},
		{name: "A27, S-53: dynamic network reference", doc: `{"type":"object","not":{"$dynamicRef":"//example.com/x#a"}}`,
			want: "/not/$dynamicRef: only references"},
		{name: "reference in dependencies", doc: `{"type":"object","dependencies":{"a":{"$ref":"http://example.com"}}}`,
			want: "only references"},
		{name: "dangling reference", doc: `{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}}}`,
			want: "/properties/a/$ref: there is no schema"},
		{name: "unknown anchor", doc: `{"type":"object","properties":{"a":{"$ref":"#b"}}}`,
			want: "/properties/a/$ref: there is no schema"},
		{name: "reference into a value", doc: `{"type":"object","properties":{"a":{"$ref":"#/x/y"}},` +
			`"x":{"y":{"$ref":"http://example.com"}}}`, want: "there is no schema"},
		{name: "A27: refers to itself", doc: `{"type":"object","$ref":"#"}`, want: "/: the schema refers to itself"},
		{name: "refer to each other", doc: `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},` +
			`"$defs":{"x":{"anyOf":[{"$ref":"#/$defs/y"}]},"y":{"not":{"$ref":"#/$defs/x"}}}}`, want: "refers to itself"},
		{name: "type that does not exist", doc: `{"type":"object","properties":{"a":{"type":"text"}}}`, want: "/properties/a/type"},
		{name: "properties as a list", doc: `{"type":"object","properties":["a"]}`,
			want: "/properties: must be an object, is an array"},
		{name: "pattern with look-ahead", doc: `{"type":"object","properties":{"a":{"pattern":"(?=x)"}}}`,
			want: "/properties/a/pattern: must be a valid regex: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
		{name: "pattern of names with look-ahead", doc: `{"type":"object","patternProperties":{"(?!x)":{}}}`,
			want: "/…/(?!x): is not an allowed name: it must be a valid regex: "},
		{name: "default that does not fit", doc: `{"type":"object","properties":{"a":{"type":"integer","default":"1"}}}`,
			want: "/properties/a/default: the default does not fit"},
		{name: "bound with a huge exponent", doc: `{"type":"object","properties":{"a":{"maximum":1e999999999}}}`,
			want: "/properties/a/maximum: a number is too large"},
		{name: "key twice", doc: `{"type":"object","properties":{"a":{}},"properties":{"b":{}}}`,
			want: "/properties: the key appears twice"},
		{name: "too large", doc: `{"type":"object","description":"` + strings.Repeat("x", schema.MaxBytes) + `"}`,
			want: "at most 65536 are allowed"},
		{name: "A27, S-54: too many subschemas",
			doc:  `{"type":"object","allOf":[` + strings.Repeat(`{},`, schema.MaxSubschemas) + `{}]}`,
			want: "more than 2000 subschemas"},
		{name: "A27, S-54: too deep", doc: `{"type":"object","not":` + strings.Repeat(`{"not":`, 70) + `{}` + strings.Repeat(`}`, 71),
			want: "nested deeper"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := schema.Compile([]byte(tt.doc))
			checkError(t, err, tt.want)
		})
	}
}

// A schema of 1,900 references, each to the next, is the longest that the limits allow.
func TestCompileChain_A27(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/0"}},"$defs":{`)
	const n = 1900
	for i := range n {
		fmt.Fprintf(&b, `"%d":{"$ref":"#/$defs/%d"},`, i, i+1)
	}
	fmt.Fprintf(&b, `"%d":{"type":"integer"}}}`, n)
	s, err := schema.Compile([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	checkError(t, s.Validate([]byte(`{"a":1}`)), "")
	checkError(t, s.Validate([]byte(`{"a":"1"}`)), "/a: must be an integer, is a string")
}

func TestCompileFetchesNothing_A27_S53(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var connections atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			_ = conn.Close()
		}
	}()
	for _, doc := range []string{
		`{"type":"object","properties":{"a":{"$ref":"%s/a"}}}`,
		`{"$id":"%s/b","type":"object","properties":{"a":{"$ref":"other"}}}`,
		`{"$schema":"%s/c","type":"object"}`,
		`{"type":"object","$defs":{"a":{"$id":"%s/d"}},"properties":{"a":{"$ref":"#/$defs/a"}}}`,
		`{"type":"object","$dynamicRef":"%s/e"}`,
	} {
		doc = fmt.Sprintf(doc, "http://"+listener.Addr().String())
		if _, err := schema.Compile([]byte(doc)); err == nil {
			t.Errorf("Compile(%s) succeeded", doc)
		}
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	<-done
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// compile compiles a schema that the test takes for granted.
func compile(t testing.TB, doc string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile([]byte(doc))
	if err != nil {
		t.Fatalf("Compile(%s): %v", doc, err)
	}
	return s
}

// checkError checks that err contains want, or is nil where want is empty.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("unexpected error: %v", err)
	case want != "" && err == nil:
		t.Errorf("no error, want %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("error = %q, want it to contain %q", err, want)
	}
}
