package question

import (
	"strings"
	"testing"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

const everythingSchema = `{"type":"object","required":["flag"],"properties":{
	"flag":{"type":"boolean"},
	"text":{"type":"string","minLength":2,"maxLength":4},
	"mail":{"type":"string","format":"email"},
	"link":{"type":"string","format":"uri"},
	"day":{"type":"string","format":"date"},
	"time":{"type":"string","format":"date-time"},
	"ratio":{"type":"number","minimum":0,"maximum":1},
	"count":{"type":"integer","minimum":1,"maximum":9007199254740993},
	"one":{"type":"string","oneOf":[{"const":"x","title":"X"},{"const":"y","title":"Y"}]},
	"old":{"type":"string","enum":["x","y"],"enumNames":["X","Y"]},
	"some":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["x","y","z"]}},
	"more":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}}
}}`

// A13: what clients send in answer to a question.
func TestValidateAnswer_A13(t *testing.T) {
	const fits = ""
	for _, tt := range []struct {
		name    string
		schema  string
		action  v1alpha1.AnswerAction
		content string
		want    string
	}{
		{"accepted", confirmSchema, "accept", `{"confirm":true}`, fits},
		{"accepted with no", confirmSchema, "accept", `{"confirm":false}`, fits},
		{"accepted without the field", confirmSchema, "accept", `{}`, "/confirm: is required"},
		{"accepted without content", confirmSchema, "accept", ``, "/confirm: is required"},
		{"accepted with null", confirmSchema, "accept", `null`, "/confirm: is required"},
		{"accepted with another type", confirmSchema, "accept", `{"confirm":"yes"}`, "/confirm: "},
		{"accepted with a list", confirmSchema, "accept", `[true]`, "content does not fit"},
		{"accepted with a text", confirmSchema, "accept", `"yes"`, "content does not fit"},
		{"accepted with no JSON", confirmSchema, "accept", `{confirm:true}`, "not JSON"},
		{"accepted with two values", confirmSchema, "accept", `{"confirm":true}{}`, "not JSON"},
		{"accepted twice over", confirmSchema, "accept", `{"confirm":false,"confirm":true}`, "twice"},
		{"more than asked", confirmSchema, "accept", `{"confirm":true,"name":"Alice","deep":{"a":[1]}}`, fits},
		{"a form without fields", emptyForm, "accept", ``, fits},
		{"a form without fields, with content", emptyForm, "accept", `{"a":1}`, fits},
		{"declined", confirmSchema, "decline", ``, fits},
		{"declined with content", confirmSchema, "decline", `{"confirm":"junk"}`, fits},
		{"cancelled with null", confirmSchema, "cancel", `null`, fits},
		{"cancelled with junk", confirmSchema, "cancel", `}`, fits},
		{"unknown word", confirmSchema, "reject", `{"confirm":true}`, `the action "reject" is unknown`},
		{"other case", confirmSchema, "Accept", `{"confirm":true}`, `the action "Accept" is unknown`},
		{"no word", confirmSchema, "", `{"confirm":true}`, `"action" is missing`},
		{"as large as may be", confirmSchema, "accept", padded(v1alpha1.MaxAnswerBytes), fits},
		{"too large", confirmSchema, "accept", padded(v1alpha1.MaxAnswerBytes + 1), "at most 65536"},
		{"a megabyte, declined", confirmSchema, "decline", strings.Repeat(" ", 1<<20), "at most 65536"},
		{"bad schema on the record", `{}`, "accept", `{}`, "the question's own schema"},

		{"text", everythingSchema, "accept", `{"flag":true,"text":"äöü"}`, fits},
		{"text too short", everythingSchema, "accept", `{"flag":true,"text":"ä"}`, "/text: "},
		{"text too long", everythingSchema, "accept", `{"flag":true,"text":"äöüßé"}`, "/text: "},
		{"email", everythingSchema, "accept", `{"flag":true,"mail":"a@example.com"}`, fits},
		{"no email", everythingSchema, "accept", `{"flag":true,"mail":"a"}`, "/mail: is not of the format email"},
		{"email with a name", everythingSchema, "accept", `{"flag":true,"mail":"A <a@example.com>"}`, "/mail: "},
		{"uri", everythingSchema, "accept", `{"flag":true,"link":"https://example.com/a"}`, fits},
		{"relative uri", everythingSchema, "accept", `{"flag":true,"link":"/a"}`, "/link: is not of the format uri"},
		{"date", everythingSchema, "accept", `{"flag":true,"day":"2028-02-29"}`, fits},
		{"no such day", everythingSchema, "accept", `{"flag":true,"day":"2027-02-29"}`, "/day: is not of the format date"},
		{"date-time", everythingSchema, "accept", `{"flag":true,"time":"2026-11-30T01:02:03.5+01:00"}`, fits},
		{"date-time without zone", everythingSchema, "accept", `{"flag":true,"time":"2026-11-30T01:02:03"}`, "/time: is not of"},
		{"number", everythingSchema, "accept", `{"flag":true,"ratio":1}`, fits},
		{"number too high", everythingSchema, "accept", `{"flag":true,"ratio":1.000000000000000000001}`, "/ratio: "},
		{"integer", everythingSchema, "accept", `{"flag":true,"count":2.0}`, fits},
		{"no integer", everythingSchema, "accept", `{"flag":true,"count":2.5}`, "/count: "},
		{"large integer", everythingSchema, "accept", `{"flag":true,"count":9007199254740993}`, fits},
		{"too large by one", everythingSchema, "accept", `{"flag":true,"count":9007199254740994}`, "/count: "},
		{"choice", everythingSchema, "accept", `{"flag":true,"one":"y","old":"x"}`, fits},
		{"no choice", everythingSchema, "accept", `{"flag":true,"one":"Y"}`, "/one: "},
		{"no old choice", everythingSchema, "accept", `{"flag":true,"old":"Y"}`, "/old: "},
		{"several", everythingSchema, "accept", `{"flag":true,"some":["x","z"],"more":[]}`, fits},
		{"too many", everythingSchema, "accept", `{"flag":true,"some":["x","y","z"]}`, "/some: "},
		{"too few", everythingSchema, "accept", `{"flag":true,"some":[]}`, "/some: "},
		{"not one of several", everythingSchema, "accept", `{"flag":true,"more":["x","q"]}`, "/more/1: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := ValidateAnswer(tt.schema, tt.action, []byte(tt.content))
			switch {
			case tt.want == fits && err != nil:
				t.Errorf("got the error %v, want none", err)
			case tt.want != fits && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got the error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// padded is an answer that takes so many bytes.
func padded(size int) string {
	const frame = `{"confirm":true,"note":""}`
	return `{"confirm":true,"note":"` + strings.Repeat("a", size-len(frame)) + `"}`
}

func TestRenderAnswers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers map[string]v1alpha1.Answer
		want    string
	}{
		{"none", nil, `{}`},
		{"sorted", map[string]v1alpha1.Answer{"b": accept(`{}`), "a": accept(`{"z":1,"a":2}`)},
			`{"a":{"action":"accept","content":{"z":1,"a":2}},"b":{"action":"accept","content":{}}}`},
		{"without content", map[string]v1alpha1.Answer{"a": accept("")}, `{"a":{"action":"accept","content":{}}}`},
		{"numbers and signs as they were", answers{"a": accept("{ \"n\": 9007199254740993,\n\"s\": \"<&>\u2028é\" }")},
			"{\"a\":{\"action\":\"accept\",\"content\":{\"n\":9007199254740993,\"s\":\"<&>\u2028é\"}}}"},
		{"not accepted", map[string]v1alpha1.Answer{"a": decline, "b": {Action: v1alpha1.AnswerCancel, Content: `{"x":1}`}},
			`{"a":{"action":"decline"},"b":{"action":"cancel"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := RenderAnswers(tt.answers)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	if got, err := RenderAnswers(map[string]v1alpha1.Answer{"a": accept(`{`)}); err == nil {
		t.Errorf("an answer that is not JSON is rendered as %s", got)
	}
}

func TestEnvName(t *testing.T) {
	for _, tt := range []struct{ key, property, want string }{
		{"confirm", "confirm", "MCP_ANSWER_CONFIRM_CONFIRM"},
		{"user_name", "first-name.v2", "MCP_ANSWER_USER_NAME_FIRST_NAME_V2"},
	} {
		if got := EnvName(tt.key, tt.property); got != tt.want {
			t.Errorf("EnvName(%q, %q) = %s, want %s", tt.key, tt.property, got, tt.want)
		}
	}
}
