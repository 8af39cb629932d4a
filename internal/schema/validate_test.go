package schema_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcptasks/mcptasks/internal/schema"
)

func TestValidate(t *testing.T) {
	// property wraps the schema of one property "v", for most rows are about one value.
	property := func(doc string) string { return `{"type":"object","properties":{"v":` + doc + `}}` }
	tests := []struct {
		name   string
		schema string
		doc    string
		// want is the whole error; empty where the document fits.
		want string
	}{
		{"fits", `{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`, `{"a":"x"}`, ""},
		{"not an object", `{"type":"object"}`, `[]`, "/: must be an object, is an array"},
		{"missing", `{"type":"object","required":["a","b"]}`, `{"a":1}`, "/b: is required"},
		{"missing deep inside", property(`{"required":["x"]}`), `{"v":{}}`, "/v/x: is required"},
		{"unknown property", `{"type":"object","properties":{"a":{}},"additionalProperties":false}`, `{"b":1,"a":1}`,
			"/b: is not a known property"},
		{"name of a property inside", property(`{"propertyNames":{"maxLength":1},"properties":{"a":{"items":{"type":"null"}}}}`),
			`{"v":{"a":[null],"ab":1}}`, "/…/ab: is not an allowed name: it must have at most 1 character, has 2"},
		{"unevaluated property", `{"type":"object","allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`,
			`{"a":1,"b":1}`, "/b: is not allowed"},
		{"name of a property", `{"type":"object","propertyNames":{"pattern":"^[a-z]+$"}}`, `{"A":1}`,
			"/A: is not an allowed name: it must match the pattern ^[a-z]+$"},
		{"several at once", `{"type":"object","required":["c"],"properties":{"a":{"type":"integer"},"b":{"maxLength":1}}}`,
			`{"b":"xy","a":"x"}`,
			"/a: must be an integer, is a string; /b: must have at most 1 character, has 2; /c: is required"},
		{"very many", property(`{"items":{"type":"integer"}}`), `{"v":["","","","","","","",""]}`,
			"/v/0: must be an integer, is a string; /v/1: must be an integer, is a string; /v/2: must be an integer, is a string; " +
				"/v/3: must be an integer, is a string; /v/4: must be an integer, is a string; and 3 more"},
		{"pointer escapes", `{"type":"object","properties":{"a/b~c":{"type":"null"}}}`, `{"a/b~c":1}`,
			"/a~1b~0c: must be null, is a number"},
		{"long name", `{"type":"object","additionalProperties":false}`, `{"` + strings.Repeat("n", 5000) + `":1}`,
			"/" + strings.Repeat("n", 199) + "…: is not a known property"},
		{"name with a line end", `{"type":"object","additionalProperties":false}`, `{"a\nb":1}`, "/a\uFFFDb: is not a known property"},

		{"type union", property(`{"type":["string","integer"]}`), `{"v":true}`, "/v: must be an integer or a string, is a boolean"},
		{"enum", property(`{"enum":["staging","production"]}`), `{"v":"prod"}`, `/v: must be one of "staging", "production"`},
		{"long enum", property(`{"enum":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21]}`), `{"v":0}`,
			`/v: must be one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, …`},
		{"const", property(`{"const":true}`), `{"v":false}`, "/v: must be true"},
		{"pattern", property(`{"pattern":"^\\d+$"}`), `{"v":"secret value"}`, `/v: must match the pattern ^\d+$`},
		{"too short", property(`{"minLength":3}`), `{"v":"äö"}`, "/v: must have at least 3 characters, has 2"},
		{"too few items", property(`{"minItems":2}`), `{"v":[1]}`, "/v: must have at least 2 items, has 1"},
		{"too many properties", property(`{"maxProperties":1}`), `{"v":{"a":1,"b":2}}`, "/v: must have at most 1 property, has 2"},
		{"same item twice", property(`{"uniqueItems":true}`), `{"v":[1,2,1.0]}`,
			"/v: must not have the same item twice (items 0 and 2)"},
		{"too many items", property(`{"maxItems":1}`), `{"v":[1,2]}`, "/v: must have at most 1 item, has 2"},
		{"too few properties", property(`{"minProperties":1}`), `{"v":{}}`, "/v: must have at least 1 property, has 0"},
		{"contains nothing of it", property(`{"contains":{"const":1}}`), `{"v":[2]}`, "/v: has no item of the kind it must contain"},
		{"contains too few", property(`{"contains":{"const":1},"minContains":2}`), `{"v":[1,2]}`,
			"/v: must contain at least 2 items of a certain kind, has 1"},
		{"contains too many", property(`{"contains":{"const":1},"maxContains":1}`), `{"v":[1,1]}`,
			"/v: must contain at most 1 items of a certain kind, has 2"},
		{"first items", property(`{"prefixItems":[{"type":"string"}],"items":false}`), `{"v":["a",1]}`, "/v/1: is not allowed"},
		{"above", property(`{"exclusiveMinimum":0}`), `{"v":0}`, "/v: must be more than 0"},
		{"conditional", property(`{"if":{"minimum":10},"then":{"multipleOf":10},"else":{"maximum":5}}`), `{"v":7}`,
			"/v: must be at most 5"},
		{"old dependencies", `{"type":"object","dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"a":1,"c":1}`,
			`/b: is required together with "a"; /d: is required`},
		{"boolean schema", property(`false`), `{"v":1}`, "/v: is not allowed"},
		{"not", property(`{"not":{"const":1}}`), `{"v":1}`, "/v: has a value that is ruled out"},
		{"null or string", property(`{"anyOf":[{"type":"string"},{"type":"null"}]}`), `{"v":1}`,
			"/v: must be a string or null, is a number"},
		{"alternatives", property(`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`), `{"v":{}}`,
			"/v: fits none of the 2 alternatives: (/v/a: is required) or (/v/b: is required)"},
		{"many alternatives", property(`{"anyOf":[{"const":1},{"const":2},{"const":3},{"const":4}]}`), `{"v":0}`,
			"/v: fits none of the 4 alternatives: (/v: must be 1) or (/v: must be 2) or (/v: must be 3) or …"},
		{"more than one alternative", property(`{"oneOf":[{"type":"integer"},{"minimum":0}]}`), `{"v":1}`,
			"/v: fits more than one of the alternatives of which it must fit exactly one"},
		{"through a reference", `{"type":"object","properties":{"v":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`,
			`{"v":"x"}`,
			"/v: must be an integer, is a string"},
		{"dependent", `{"type":"object","dependentRequired":{"a":["b"]}}`, `{"a":1}`, `/b: is required together with "a"`},
		{"format is no assertion", property(`{"format":"email"}`), `{"v":"nobody"}`, ""},

		{"integer with an exponent", property(`{"type":"integer"}`), `{"v":1e3}`, ""},
		{"integer with a point", property(`{"type":"integer"}`), `{"v":1.0}`, ""},
		{"not an integer", property(`{"type":"integer"}`), `{"v":1.5}`, "/v: must be an integer, is a number"},
		{"integer above 2^53", property(`{"type":"integer"}`), `{"v":9007199254740993}`, ""},
		{"integer above 2^64", property(`{"type":"integer"}`), `{"v":184467440737095516150}`, ""},
		{"exactly at the maximum above 2^53", property(`{"maximum":9007199254740993}`), `{"v":9007199254740993}`, ""},
		{"one above the maximum above 2^53", property(`{"maximum":9007199254740992}`), `{"v":9007199254740993}`,
			"/v: must be at most 9007199254740992"},
		{"one below the minimum above 2^53", property(`{"minimum":9007199254740993}`), `{"v":9007199254740992}`,
			"/v: must be at least 9007199254740993"},
		{"one above int64", property(`{"maximum":9223372036854775807}`), `{"v":9223372036854775808}`,
			"/v: must be at most 9223372036854775807"},
		{"enum above 2^53", property(`{"enum":[9007199254740993]}`), `{"v":9007199254740992}`, "/v: must be 9007199254740993"},
		{"multiple of a decimal", property(`{"multipleOf":0.01}`), `{"v":19.99}`, ""},
		{"not a multiple of a decimal", property(`{"multipleOf":0.01}`), `{"v":19.999}`, "/v: must be a multiple of 0.01"},
		{"exclusive bound", property(`{"exclusiveMaximum":0.5}`), `{"v":0.5}`, "/v: must be less than 0.5"},
		{"negative zero", property(`{"minimum":0}`), `{"v":-0}`, ""},
		{"number too large", property(`{}`), `{"v":1e400}`, "/v: a number is too large or too small for a 64-bit floating point " +
			"number"},
		{"number too small", property(`{}`), `{"v":1e-400}`, "/v: a number is too large or too small for a 64-bit floating point " +
			"number"},
		{"exponent beyond memory", property(`{"minimum":0}`), `{"v":[0e999999999]}`,
			"/v/0: a number is too large or too small for a 64-bit floating point number"},
		{"endless number", property(`{}`), `{"v":` + strings.Repeat("1", 600) + `}`, "/v: a number has more than 512 characters"},

		{"not JSON", `{"type":"object"}`, `{"a":NaN}`, "the text is not JSON: invalid character 'N' looking for beginning of value " +
			"(at byte 6 of 9)"},
		{"nothing", `{"type":"object"}`, ``, "the text is not JSON: unexpected end of JSON input (at byte 0 of 0)"},
		{"two documents", `{"type":"object"}`, `{}{}`, "the text is not JSON: invalid character '{' after top-level value (at byte " +
			"3 of 4)"},
		{"key twice", `{"type":"object"}`, `{"a":{"b":1,"\u0062":2}}`, "/a/b: the key appears twice in its object"},
		{"not UTF-8", `{"type":"object"}`, "{\"a\":\"\xff\"}", "the JSON is not valid UTF-8"},
		{"surrogate pair", `{"type":"object"}`, `{"a":"\\\ud83d\ude00 \ufffd �"}`, ""},
		{"half of a surrogate pair", `{"type":"object"}`, `{"a":["\ud83d"]}`,
			"/a/0: a string has half of a surrogate pair, which is not Unicode text"},
		{"wrong half first", `{"type":"object"}`, `{"a":"\ude00\ud83d"}`,
			"/a: a string has half of a surrogate pair, which is not Unicode text"},
		{"escaped backslash is no surrogate", `{"type":"object"}`, `{"a":"\\ud83d �"}`, ""},
		{"too deep", `{"type":"object"}`, `{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`,
			"the JSON is nested deeper than 64 levels"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := compile(t, tt.schema).Validate([]byte(tt.doc))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("Validate(%.100s) = %q\nwant %q", tt.doc, got, tt.want)
			}
		})
	}
}

func TestValidateDoesNotRepeatValues(t *testing.T) {
	const secret = "canary-1f9"
	for _, doc := range []string{
		`{"type":"integer"}`, `{"enum":["a"]}`, `{"const":"a"}`, `{"pattern":"^a$"}`, `{"maxLength":1}`, `{"not":{}}`,
		`{"anyOf":[{"type":"string","maxLength":2},{"enum":[1]}]}`, `{"type":"array"}`, `false`,
	} {
		s := compile(t, `{"type":"object","properties":{"v":`+doc+`}}`)
		err := s.Validate([]byte(`{"v":"` + secret + `"}`))
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: error = %v, want one without the value", doc, err)
		}
	}
}

// Schemas whose work doubles at every level of the schema or of the value end soon, with an error, whichever keyword doubles
// it. Without a bound they would not end at all.
func TestValidateEffortIsBounded_S54(t *testing.T) {
	ladder := func(step string) string {
		var b strings.Builder
		b.WriteString(`{"type":"object","properties":{"v":{"$ref":"#/$defs/0"}},"$defs":{`)
		for i := range 60 {
			fmt.Fprintf(&b, `"%d":%s,`, i, strings.ReplaceAll(step, "NEXT", fmt.Sprintf(`{"$ref":"#/$defs/%d"}`, i+1)))
		}
		b.WriteString(`"60":{"type":"string"}}}`)
		return b.String()
	}
	nested := `{"v":` + strings.Repeat(`{"a":`, 60) + `1` + strings.Repeat(`}`, 61)
	numbers := `{"v":[` + strings.Repeat("1,", 30000) + `1]}`
	var enum strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&enum, "%d,", i+2)
	}
	var properties strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&properties, `"%d":1,`, i)
	}
	tests := []struct{ name, schema, doc string }{
		{"allOf", ladder(`{"allOf":[NEXT,NEXT]}`), `{"v":1}`},
		{"anyOf", ladder(`{"anyOf":[NEXT,NEXT]}`), `{"v":1}`},
		{"if and else", ladder(`{"if":NEXT,"else":NEXT}`), `{"v":1}`},
		{"not, not", ladder(`{"allOf":[{"not":NEXT},{"not":NEXT}]}`), `{"v":1}`},
		{"properties", ladder(`{"properties":{"a":NEXT},"patternProperties":{"^a$":NEXT}}`), nested},
		{"properties within not", `{"type":"object","properties":{"v":{"not":{"$ref":"#/$defs/x"}}},"$defs":{"x":{"type":"object",` +
			`"properties":{"a":{"$ref":"#/$defs/x"}},"patternProperties":{"a":{"$ref":"#/$defs/x"}}}}}`, nested},
		{"large enum for many items", `{"type":"object","properties":{"v":{"items":{"enum":[` + enum.String() + `0]}}}}`, numbers},
		{"large enum for many properties", `{"type":"object","properties":{"v":{"additionalProperties":{"enum":[` + enum.String() +
			`0]}}}}`, `{"v":{` + properties.String() + `"x":1}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := schema.Compile([]byte(tt.schema)) // refuses the worst ones itself
			if err == nil {
				err = s.Validate([]byte(tt.doc))
				checkError(t, s.Validate([]byte(`{}`)), "")
			}
			checkError(t, err, "takes too long to check")
		})
	}
	t.Run("largest honest arguments", func(t *testing.T) {
		s := compile(t, `{"type":"object","properties":{"v":{"type":"array","items":{"type":"integer","minimum":0}}}}`)
		checkError(t, s.Validate([]byte(`{"v":[`+strings.Repeat("1,", 65000)+`1]}`)), "")
	})
}

func TestValidateConcurrently(t *testing.T) {
	s := compile(t, `{"type":"object","properties":{"v":{"type":"integer","maximum":10}}}`)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			for range 50 {
				err := s.Validate(fmt.Appendf(nil, `{"v":%d}`, i))
				if (err == nil) != (i <= 10) {
					t.Errorf("Validate(%d) = %v", i, err)
				}
			}
		})
	}
	wg.Wait()
}
