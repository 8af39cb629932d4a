package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcptasks/mcptasks/internal/schema"
)

func TestExampleArguments(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"none are needed", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{}`},
		{"the schema has an example", `{"type":"object","required":["a"],"examples":[{"a":1},{"a":"x"}],
			"properties":{"a":{"type":"string"}}}`, `{"a":"x"}`},
		{"the schema has a default", `{"type":"object","required":["a"],"default":{"a":"y"},
			"properties":{"a":{"type":"string","pattern":"^y$"}}}`, `{"a":"y"}`},
		{"the least of each type", `{"type":"object","required":["s","i","n","b","l","o"],"properties":{
			"s":{"type":"string"},"i":{"type":"integer"},"n":{"type":"number","minimum":2.5},
			"b":{"type":"boolean"},"l":{"type":"array"},"o":{"type":"object"},"optional":{"type":"string"}}}`,
			`{"b":false,"i":1,"l":[],"n":2.5,"o":{},"s":"example"}`},
		{"what the properties say", `{"type":"object","required":["e","d","x","long"],"properties":{
			"e":{"enum":["b","a"]},"d":{"type":"string","default":"z","pattern":"^z$"},
			"x":{"type":"string","examples":["0a1b"],"pattern":"^[0-9a-f]{4}$"},"long":{"type":"string","minLength":9}}}`,
			`{"d":"z","e":"b","long":"examplexx","x":"0a1b"}`},
		{"none can be found", `{"type":"object","required":["a"],"properties":{"a":{"type":"string","pattern":"^[0-9]{3}-x$"}}}`, ``},
	} {
		if got := string(exampleArguments([]byte(c.schema))); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestWithoutDemands(t *testing.T) {
	const demanding = `{"type":"object","required":["a"],"minProperties":3,"allOf":[{"required":["b"]}],
		"$defs":{"t":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/t"},"b":{"type":"integer"}}}`
	doc, err := withoutDemands([]byte(demanding))
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile(doc)
	if err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	if err := s.Validate([]byte(`{}`)); err != nil {
		t.Errorf("an empty object does not fit: %v", err)
	}
	var names []string
	for _, p := range s.Properties() {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}
