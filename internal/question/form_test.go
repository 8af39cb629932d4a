package question

import (
	"strings"
	"testing"
)

// Contract 2.5: everything that MCP's form elicitation allows.
func TestFormsThatAreAllowed_S100(t *testing.T) {
	for name, doc := range map[string]string{
		"no schema":    ``,
		"no fields":    `{"type":"object","properties":{}}`,
		"dialect":      `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{}}`,
		"bool":         confirmSchema,
		"bool default": `{"type":"object","properties":{"a":{"type":"boolean","default":false,"title":"A","description":"B"}}}`,
		"text":         `{"type":"object","properties":{"a":{"type":"string","minLength":1,"maxLength":5,"default":"x"}}}`,
		"email":        `{"type":"object","properties":{"a":{"type":"string","format":"email"}}}`,
		"uri":          `{"type":"object","properties":{"a":{"type":"string","format":"uri"}}}`,
		"date":         `{"type":"object","properties":{"a":{"type":"string","format":"date"}}}`,
		"date-time":    `{"type":"object","properties":{"a":{"type":"string","format":"date-time"}}}`,
		"number":       `{"type":"object","properties":{"a":{"type":"number","minimum":0.5,"maximum":1.5,"default":1}}}`,
		"integer":      `{"type":"object","properties":{"a":{"type":"integer","minimum":1,"maximum":1}}}`,
		"choice":       `{"type":"object","properties":{"a":{"type":"string","enum":["x","y"],"default":"y"}}}`,
		"named choice": `{"type":"object","properties":{"a":{"type":"string","enum":["x","y"],"enumNames":["X","Y"]}}}`,
		"titled choice": `{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"x","title":"X"},
			{"const":"y","title":"Y"}]}}}`,
		"several": `{"type":"object","properties":{"a":{"type":"array","minItems":1,"maxItems":2,"default":["x"],
			"items":{"type":"string","enum":["x","y"]}}}}`,
		"several titled": `{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}}}}`,
		"secret chosen from a list": `{"type":"object","properties":{"token":{"type":"string","enum":["old","new"]},
			"secret":{"type":"boolean"}}}`,
		"name of a secret": `{"type":"object","properties":{"secretName":{"type":"string"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			f, err := newForm([]byte(doc))
			if err != nil {
				t.Fatal(err)
			}
			if strings.ContainsAny(f.doc, "\n\t") || f.doc == "" {
				t.Errorf("the schema is not compact: %q", f.doc)
			}
		})
	}
}

func TestFormsThatAreRefused_S100(t *testing.T) {
	for _, tt := range []struct{ name, doc, want string }{
		{"not JSON", `{`, "not JSON"},
		{"not an object", `[]`, "must be a JSON object"},
		{"no type", `{"properties":{}}`, `"type": "object"`},
		{"no properties", `{"type":"object"}`, `"properties" is missing`},
		{"too long", `{"type":"object","properties":{"a":{"type":"string","title":"` + strings.Repeat("a", 16<<10) + `"}}}`, "16384"},
		{"title at the root", `{"type":"object","properties":{},"title":"A"}`, `the keyword "title" has no place here`},
		{"closed", `{"type":"object","properties":{},"additionalProperties":false}`, `"additionalProperties" has no place here`},
		{"composed", `{"type":"object","properties":{},"allOf":[{}]}`, `the keyword "allOf" has no place here`},
		{"nested", `{"type":"object","properties":{"a":{"type":"object","properties":{}}}}`, `the property "a": a form is flat`},
		{"reference", `{"type":"object","properties":{"a":{"$ref":"#/properties/b"},"b":{"type":"string"}}}`, `"type" must be`},
		{"no type of a field", `{"type":"object","properties":{"a":{}}}`, `"type" must be`},
		{"two types", `{"type":"object","properties":{"a":{"type":["string","null"]}}}`, `"type" must be`},
		{"true as a field", `{"type":"object","properties":{"a":true}}`, "it must be an object"},
		{"pattern", `{"type":"object","properties":{"a":{"type":"string","pattern":"x"}}}`, `the keyword "pattern" has no place here`},
		{"length of a choice", `{"type":"object","properties":{"a":{"type":"string","enum":["x"],"minLength":1}}}`, `"minLength" has`},
		{"minimum of a text", `{"type":"object","properties":{"a":{"type":"string","minimum":1}}}`, `"minimum" has no place here`},
		{"hostname", `{"type":"object","properties":{"a":{"type":"string","format":"hostname"}}}`, `the format "hostname" is not`},
		{"numbers to choose from", `{"type":"object","properties":{"a":{"type":"string","enum":[1]}}}`, `"enum" must list strings`},
		{"names missing", `{"type":"object","properties":{"a":{"type":"string","enum":["x","y"],"enumNames":["X"]}}}`, "1 names for 2"},
		{"nothing to choose", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","enum":[]}}}}`, "enum"},
		{"option without title", `{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"x"}]}}}`, `each entry of`},
		{"option with more", `{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"x","title":"X","not":{}}]}}}`,
			`each entry of "oneOf"`},
		{"option that is a number", `{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":1,"title":"X"}]}}}`,
			`each entry of "oneOf"`},
		{"free list", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`, `"items" of an array must be`},
		{"list of anything", `{"type":"object","properties":{"a":{"type":"array"}}}`, `"items" of an array must be`},
		{"list of numbers", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"number","enum":[1]}}}}`,
			`"items" of an array must be`},
		{"unique items", `{"type":"object","properties":{"a":{"type":"array","uniqueItems":true,
			"items":{"type":"string","enum":["x"]}}}}`, `"uniqueItems" has no place here`},
		{"items with more", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","enum":["x"],"title":"X"}}}}`,
			`"title" has no place here`},
		{"requires what is not there", `{"type":"object","properties":{},"required":["a"]}`, `"required" names "a"`},
		{"default that does not fit", `{"type":"object","properties":{"a":{"type":"boolean","default":"yes"}}}`, "default"},
		{"no number fits", `{"type":"object","properties":{"a":{"type":"number","minimum":2,"maximum":1}}}`, "no answer can fit"},
		{"no length fits", `{"type":"object","properties":{"a":{"type":"string","minLength":2,"maxLength":1}}}`, "no answer can fit"},
		{"minimum that is no number", `{"type":"object","properties":{"a":{"type":"number","minimum":"1"}}}`, "minimum"},
		{"name with a space", `{"type":"object","properties":{"a b":{"type":"string"}}}`, "the name must be"},
		{"no name", `{"type":"object","properties":{"":{"type":"string"}}}`, "the name must be"},
		{"repeated key", `{"type":"object","properties":{},"properties":{"a":{"type":"string"}}}`, "twice"},

		// B28, S-101: forms do not ask for secrets.
		{"B28 password", `{"type":"object","properties":{"password":{"type":"string"}}}`, "must not ask for passwords, keys, tokens"},
		{"B28 API key", `{"type":"object","properties":{"apiKey":{"type":"string"}}}`, "must not ask for passwords, keys, tokens"},
		{"B28 token by title", `{"type":"object","properties":{"value":{"type":"string","title":"Your token"}}}`, "must not ask for"},
		{"B28 PIN", `{"type":"object","properties":{"pin":{"type":"integer"}}}`, "must not ask for passwords, keys, tokens"},
		{"B28 format password", `{"type":"object","properties":{"a":{"type":"string","format":"password"}}}`, "must not ask for"},
		{"B28 write-only", `{"type":"object","properties":{"a":{"type":"string","writeOnly":true}}}`, "must not ask for secrets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newForm([]byte(tt.doc))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got the error %v, want one with %q", err, tt.want)
			}
		})
	}
}
