package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcptasks/mcptasks/internal/schema"
)

const secretText = `{"type":"string","writeOnly":true}`

func TestWithhold(t *testing.T) {
	tests := []struct {
		name, schema, value string
		// rest is what is left; "" where nothing is withheld.
		rest string
	}{
		{"no marks", `"properties":{"a":{"type":"string"}}`, `{"a":"x"}`, ""},
		{"false is no mark", `"properties":{"a":{"writeOnly":false}}`, `{"a":"x"}`, ""},
		{"absent", `"properties":{"a":` + secretText + `}`, `{"b":1}`, ""},
		{"property", `"properties":{"a":` + secretText + `,"b":true}`, `{"a":"x","b":"x"}`, `{"b":"x"}`},
		{"null, too", `"properties":{"a":{"writeOnly":true}}`, `{"a":null}`, `{}`},
		{"numbers are kept as written", `"properties":{"a":` + secretText + `}`, `{"a":"x","n":9007199254740993.10}`,
			`{"n":9007199254740993.10}`},
		{"object inside", `"properties":{"db":{"properties":{"password":` + secretText + `}}}`,
			`{"db":{"user":"u","password":"x"}}`, `{"db":{"user":"u"}}`},
		{"whole object", `"properties":{"db":{"writeOnly":true,"properties":{"user":{}}}}`, `{"db":{"user":"u"},"b":1}`, `{"b":1}`},
		{"items keep their places", `"properties":{"l":{"items":{"properties":{"t":` + secretText + `}}}}`,
			`{"l":[{"t":"x","n":1},2]}`, `{"l":[{"n":1},2]}`},
		{"items themselves", `"properties":{"l":{"items":` + secretText + `}}`, `{"l":["x","y"]}`, `{"l":[null,null]}`},
		{"prefix items", `"properties":{"l":{"prefixItems":[true,` + secretText + `],"items":{"type":"integer"}}}`,
			`{"l":["u","x",3]}`, `{"l":["u",null,3]}`},
		{"behind the prefix", `"properties":{"l":{"prefixItems":[true],"items":` + secretText + `}}`,
			`{"l":["u","x"]}`, `{"l":["u",null]}`},
		{"contains", `"properties":{"l":{"contains":` + secretText + `}}`, `{"l":["x",1]}`, `{"l":[null,null]}`},
		{"by reference", `"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":` + secretText + `}`, `{"a":"x"}`, `{}`},
		{"allOf beside the property", `"properties":{"a":{"type":"string"}},"allOf":[{"properties":{"a":{"writeOnly":true}}}]`,
			`{"a":"x"}`, `{}`},
		{"a branch that does not fit", `"properties":{"a":{"anyOf":[{"type":"integer","writeOnly":true},{"type":"string"}]}}`,
			`{"a":"x"}`, `{}`},
		{"then", `"if":{"required":["b"]},"then":{"properties":{"a":{"writeOnly":true}}}`, `{"a":"x","b":1}`, `{"b":1}`},
		{"dependent schema", `"dependentSchemas":{"b":{"properties":{"a":{"writeOnly":true}}}}`, `{"a":"x","b":1}`, `{"b":1}`},
		{"pattern", `"patternProperties":{"_token$":` + secretText + `}`, `{"git_token":"x","git":"y"}`, `{"git":"y"}`},
		{"additional", `"properties":{"a":{}},"additionalProperties":` + secretText, `{"a":"y","b":"x"}`, `{"a":"y"}`},
		{"unevaluated", `"properties":{"a":{}},"unevaluatedProperties":` + secretText, `{"b":"x"}`, `{}`},
		{"names", `"properties":{"a":{"propertyNames":{"writeOnly":true}},"b":{}}`, `{"a":{"x":1},"b":2}`, `{"b":2}`},
		{"recursive", `"properties":{"c":{"items":{"$ref":"#"}},"a":` + secretText + `}`,
			`{"c":[{"a":"x","c":[{"a":"x"}]}]}`, `{"c":[{"c":[{}]}]}`},
		{"all of it", `"writeOnly":true`, `{"a":1}`, `null`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := compile(t, `{"type":"object",`+tt.schema+`}`)
			value := decode(t, tt.value)
			rest, withheld := s.Withhold(value)
			got := marshal(t, rest)
			if tt.rest == "" {
				tt.rest = string(marshal(t, value))
				if withheld {
					t.Error("something is withheld")
				}
			} else if !withheld {
				t.Error("nothing is withheld")
			}
			if string(got) != tt.rest {
				t.Errorf("left %s, want %s", got, tt.rest)
			}
			if again := string(marshal(t, value)); again != string(marshal(t, decode(t, tt.value))) {
				t.Errorf("the value was changed to %s", again)
			}
		})
	}
}

func TestWithholds(t *testing.T) {
	s := compile(t, `{"type":"object","patternProperties":{"^x-":{"writeOnly":true}},"properties":{
		"a":{"$ref":"#/$defs/s"},"db":{"properties":{"password":`+secretText+`,"user":{}}}},"$defs":{"s":`+secretText+`}}`)
	for names, want := range map[string]bool{
		"": false, "a": true, "a/b": true, "x-y": true, "db": false, "db/user": false, "db/password": true, "unknown": false,
	} {
		var steps []string
		if names != "" {
			steps = strings.Split(names, "/")
		}
		if got := s.Withholds(steps...); got != want {
			t.Errorf("Withholds(%s) = %t, want %t", names, got, want)
		}
	}
}

// B28: an error says where a value is wrong, and nothing of what is withheld, the names in it included.
func TestValidate_B28_ErrorsTellNothingOfWhatIsWithheld(t *testing.T) {
	const canary = "canary7Jx"
	s := compile(t, `{"type":"object","properties":{
		"text":{"type":"string","minLength":30,"pattern":"^[a-z]+$","writeOnly":true},
		"number":{"type":"integer","maximum":5,"multipleOf":2,"writeOnly":true},
		"choice":{"enum":["a","b"],"writeOnly":true},
		"env":{"writeOnly":true,"propertyNames":{"maxLength":3},"additionalProperties":{"type":"integer"}},
		"strict":{"writeOnly":true,"type":"object","additionalProperties":false},
		"list":{"type":"array","uniqueItems":true,"items":{"writeOnly":true,"anyOf":[{"type":"null"},
			{"properties":{"k":{"type":"integer"}},"propertyNames":{"maxLength":3}}]}}}}`)
	for _, value := range []string{
		`{"text":"` + canary + `"}`, `{"text":{"` + canary + `":1}}`, `{"number":777123}`, `{"choice":"` + canary + `"}`,
		`{"env":{"` + canary + `":"x"}}`, `{"strict":{"` + canary + `":"` + canary + `"}}`,
		`{"list":["` + canary + `",{"` + canary + `":1}]}`, `{"list":[{"k":"` + canary + `"},{"k":"` + canary + `"}]}`,
	} {
		err := s.Validate([]byte(value))
		if err == nil {
			t.Errorf("%s is valid", value)
			continue
		}
		if strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), "777123") {
			t.Errorf("%s: the error shows it: %v", value, err)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(value, `{"`), `"`)
		if !strings.Contains(err.Error(), "/"+name) {
			t.Errorf("%s: the error does not name the property: %v", value, err)
		}
	}
}

func TestValidateRest(t *testing.T) {
	s := compile(t, `{"type":"object","required":["a","p"],"minProperties":3,"properties":{
		"a":{"type":"string","pattern":"^[^-]"},"p":`+secretText+`,
		"db":{"type":"object","minProperties":2,"properties":{"p":`+secretText+`}}}}`)
	for rest, want := range map[string]string{
		`{"a":"x"}`:                 "",
		`{}`:                        "",
		`{"a":"x","db":{"u":1}}`:    "",
		`{"a":"x","p":7}`:           "", // nothing that Withhold leaves; it is checked for nothing
		`{"a":"-x","db":{"u":1}}`:   "/a: does not fit its schema",
		`{"a":7}`:                   "/a: does not fit its schema",
		`[]`:                        "/: must be an object",
		`{"a":"x","a":"y"}`:         "/a",
		`{"a":"x","n":1e999999999}`: "/n",
	} {
		err := s.ValidateRest([]byte(rest))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("ValidateRest(%s) = %v, want %q", rest, err, want)
		}
	}
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	doc, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func decode(t *testing.T, doc string) any {
	t.Helper()
	value, err := schema.Decode([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return value
}
