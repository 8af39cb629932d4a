package schema_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/mcptasks/mcptasks/internal/schema"
)

// Whatever schema and document come in, nothing panics, errors are text, and only JSON objects fit.
func FuzzValidate(f *testing.F) {
	for _, seed := range []struct{ schema, doc string }{
		{`{"type":"object"}`, `{}`},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"integer","maximum":5}}}`, `{"a":1e3}`},
		{`{"type":"object","properties":{"a":{"pattern":"^x","default":"x"}},"additionalProperties":false}`, `{"a":"\ud83d\ude00"}`},
		{`{"type":"object","allOf":[{"if":{"required":["a"]},"then":{"minProperties":2},"else":false}]}`, `{"a":[1,2,{"b":null}]}`},
		{`{"type":"object","properties":{"a":{"prefixItems":[{"const":1}],"unevaluatedItems":false,"contains":{}}}}`,
			`{"a":[1,-0,1e-7]}`},
		{`{"type":"object","propertyNames":{"anyOf":[{"maxLength":1},{"$dynamicRef":"#n"}]},` +
			`"$defs":{"n":{"$dynamicAnchor":"n"}}}`, `{"a":true}`},
		{`{"type":"object","$ref":"#"}`, `{"a":"\u0000"}`},
	} {
		f.Add([]byte(seed.schema), []byte(seed.doc))
	}
	f.Fuzz(func(t *testing.T, doc, instance []byte) {
		s, err := schema.Compile(doc)
		if err != nil {
			checkText(t, err)
			return
		}
		for _, p := range s.Properties() {
			p.MayStartWith('-')
		}
		if err := s.Validate(instance); err != nil {
			checkText(t, err)
			return
		}
		var object map[string]any
		if err := json.Unmarshal(instance, &object); err != nil || object == nil {
			t.Errorf("%q fits %q, but is no object: %v", instance, doc, err)
		}
	})
}

func checkText(t *testing.T, err error) {
	t.Helper()
	if err.Error() == "" || !utf8.ValidString(err.Error()) {
		t.Errorf("error is no text: %q", err)
	}
}
