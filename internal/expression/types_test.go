package expression

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"

	"github.com/mcptasks/mcptasks/internal/schema"
)

// inputSchema is what the arguments of the tests fit.
const inputSchema = `{
	"type": "object",
	"required": ["environment"],
	"properties": {
		"environment": {"type": "string", "enum": ["staging", "production"]},
		"steps": {"type": "integer"},
		"ratio": {"type": "number"},
		"dry-run": {"type": "boolean"},
		"in": {"type": "string"},
		"any": {},
		"nullable": {"type": ["string", "null"]},
		"tags": {"type": "array", "items": {"type": "string"}},
		"pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
		"target": {"type": "object", "properties": {
			"host": {"type": "string"},
			"ports": {"type": "array", "items": {"type": "object", "properties": {"number": {"type": "integer"}}}}
		}},
		"labels": {"type": "object", "additionalProperties": {"type": "string"}},
		"free": {"type": "object"},
		"open": {"type": "object", "properties": {"known": {"type": "string"}}, "additionalProperties": true},
		"closed": {"type": "object", "properties": {"known": {"type": "string"}}, "additionalProperties": false},
		"composed": {"type": "object", "properties": {"known": {"type": "string"}}, "allOf": [{"minProperties": 1}]},
		"choice": {"enum": ["a", "b"]},
		"mixed": {"enum": ["a", 1]},
		"login": {"type": "object", "additionalProperties": true, "properties": {"password": {"type": "string", "writeOnly": true}}},
		"referred": {"$ref": "#/$defs/point"}
	},
	"$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}}
}`

// eval compiles and evaluates an expression of any type over arguments that fit inputSchema.
func eval(t *testing.T, source, arguments string) (value string, compileErr, evalErr error) {
	t.Helper()
	s, err := ObjectShape([]byte(inputSchema), "arguments")
	if err != nil {
		t.Fatal(err)
	}
	env, err := NewEnv(map[string]*Shape{"arguments": s})
	if err != nil {
		t.Fatal(err)
	}
	checked, issues := env.Compile(source)
	if issues.Err() != nil {
		return "", fmt.Errorf("%s%s", firstIssue(issues), env.explain(issues)), nil
	}
	// Compiled once more with the type that it has, so that what is tested is what is used.
	e, err := Compile(env, source, checked.OutputType())
	if err != nil {
		return "", err, nil
	}
	doc, err := schema.Decode([]byte(arguments))
	if err != nil {
		t.Fatal(err)
	}
	result, err := e.Eval(map[string]any{"arguments": s.Value(doc)})
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprint(result.Value()), nil, nil
}

func TestArgumentsInExpressions(t *testing.T) {
	for _, tt := range []struct {
		source, arguments, want string
	}{
		{`arguments.environment + '!'`, `{"environment":"staging"}`, "staging!"},
		{`string(arguments.steps + 1)`, `{"steps":12}`, "13"},
		{`string(arguments.steps)`, `{"steps":12.0}`, "12"},
		{`string(arguments.steps)`, `{"steps":9007199254740993}`, "9007199254740993"},
		{`string(arguments.any)`, `{"any":9007199254740993}`, "9007199254740993"},
		{`string(arguments.any)`, `{"any":18446744073709551615}`, "18446744073709551615"},
		{`arguments.steps > 9223372036854775807`, `{"steps":18446744073709551615}`, "true"},
		{`arguments.ratio * 2.0`, `{"ratio":2}`, "4"},
		{`arguments.ratio * 2.0`, `{"ratio":0.25}`, "0.5"},
		{`arguments.ratio > 1`, `{"ratio":9007199254740993}`, "true"},
		{`has(arguments.steps)`, `{}`, "false"},
		{`has(arguments.steps)`, `{"steps":0}`, "true"},
		{`!has(arguments.steps) || arguments.steps > 10`, `{}`, "true"},
		{`arguments.?steps.orValue(7)`, `{}`, "7"},
		{`arguments.?target.?host.orValue('none')`, `{}`, "none"},
		{`arguments.?target.?host.orValue('none')`, `{"target":{"host":"a"}}`, "a"},
		{`has(arguments.target) && has(arguments.target.host)`, `{}`, "false"},
		{`arguments.target.ports[1].number`, `{"target":{"ports":[{"number":1},{"number":443}]}}`, "443"},
		{`arguments.target.ports.exists(p, p.number < 1024)`, `{"target":{"ports":[{"number":443}]}}`, "true"},
		{`arguments.target.ports.filter(p, p.number < 80).size()`, `{"target":{"ports":[{"number":22}]}}`, "1"},
		{"arguments.`dry-run` ? 'try' : 'do'", `{"dry-run":true}`, "try"},
		{"arguments.`in`", `{"in":"x"}`, "x"},
		{`arguments.tags.join(', ')`, `{"tags":["a","b"]}`, "a, b"},
		{`arguments.tags.map(t, t.upperAscii()).join()`, `{"tags":["a","b"]}`, "AB"},
		{`'b' in arguments.tags`, `{"tags":["a","b"]}`, "true"},
		{`string(arguments.pair[1])`, `{"pair":["a",1]}`, "1"},
		{`arguments.any in ['a', 'b']`, `{"any":"b"}`, "true"},
		{`arguments.?choice.orValue('b').upperAscii()`, `{"choice":"a"}`, "A"},
		{`arguments.mixed == 1`, `{"mixed":1}`, "true"},
		{`arguments.any == 'b'`, `{"any":["b"]}`, "false"},
		{`arguments.nullable == null`, `{"nullable":null}`, "true"},
		{`arguments.labels['app']`, `{"labels":{"app":"db"}}`, "db"},
		{`arguments.labels.all(name, name.startsWith('a'))`, `{"labels":{"app":"db"}}`, "true"},
		{`string(arguments.free.a.b)`, `{"free":{"a":{"b":2}}}`, "2"},
		{`string(arguments.open.unknown)`, `{"open":{"unknown":3}}`, "3"},
		{`string(arguments.composed.unknown)`, `{"composed":{"unknown":3}}`, "3"},
		{`string(arguments.referred.x)`, `{"referred":{"x":1.5}}`, "1.5"},
		{`math.greatest(arguments.steps, 3)`, `{"steps":4}`, "4"},
		{`arguments.environment.matches('^[a-z]{3,20}$')`, `{"environment":"staging"}`, "true"},
		{`timestamp(arguments.environment).getDayOfWeek()`, `{"environment":"2026-11-27T12:00:00+01:00"}`, "5"},
	} {
		t.Run(tt.source+" "+tt.arguments, func(t *testing.T) {
			got, compileErr, evalErr := eval(t, tt.source, tt.arguments)
			if compileErr != nil || evalErr != nil {
				t.Fatalf("compile: %v, eval: %v", compileErr, evalErr)
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestMistakesFoundWhenCompiling(t *testing.T) {
	for _, tt := range []struct{ source, want string }{
		{`arguments.enviroment == 'staging'`, "undefined field 'enviroment' at line 1, column 10"},
		{`arguments.closed.unknown`, "undefined field 'unknown'"},
		{`arguments.login.password`, "undefined field 'password' at line 1, column 16 (it is writeOnly, which no expression can read)"},
		{`has(arguments.login.password)`, "undefined field 'password'"},
		{`arguments.choice == 1`, "no matching overload"},
		{`arguments.target.ports.all(p, p.name == '')`, "undefined field 'name'"},
		{`arguments.steps + arguments.environment`, "no matching overload for '_+_' applied to '(int, string)'"},
		{`arguments.steps == '3'`, "no matching overload"},
		{`arguments.steps.startsWith('3')`, "no matching overload"},
		{`answer.confirm`, "undeclared reference to 'answer'"},
		{`now() > 3`, "undeclared reference to 'now'"},
		{`arguments.environment ==`, "Syntax error"},
		{``, "Syntax error"},
		{`"` + strings.Repeat("a", MaxLength) + `"`, "size exceeds limit"},
		{`duration('soon')`, "invalid duration argument"},
		{`['a', 1]`, "expected type 'string' but found 'int'"},
		{`arguments.environment.matches('(')`, "regular expression is not one of RE2"},
	} {
		t.Run(clip(tt.source, 60), func(t *testing.T) {
			_, err, _ := eval(t, tt.source, `{}`)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got the error %v, want one with %q", err, tt.want)
			}
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("the error has several lines: %q", err)
			}
		})
	}
}

func TestMistakesFoundWhenEvaluating(t *testing.T) {
	for _, tt := range []struct{ source, arguments, want string }{
		{`string(arguments.steps)`, `{}`, `arguments has no "steps"`},
		{`arguments.target.host`, `{"target":{}}`, `arguments["target"] has no "host"`},
		{`has(arguments.target.host)`, `{}`, `arguments has no "target"`},
		{`arguments.labels.app`, `{"labels":{}}`, "no such key: app"},
		{`arguments.free.a.b`, `{"free":{}}`, "no such key: a"},
		{`arguments.tags[2]`, `{"tags":["a"]}`, "index out of bounds: 2"},
		{`1 / arguments.steps`, `{"steps":0}`, "division by zero"},
		{`arguments.steps + 1`, `{"steps":9223372036854775807}`, "integer overflow"},
		{`int(arguments.environment)`, `{"environment":"x"}`, "type conversion error"},
		{`arguments.?steps.value()`, `{}`, "optional.none() dereference"},
		// A26: what cannot be kept is not rounded, wherever it stands.
		{`string(arguments.ratio)`, `{"ratio":0.10000000000000000001}`, "cannot be held without rounding"},
		{`arguments.any.x > 1`, `{"any":{"x":18446744073709551616}}`, "cannot be held without rounding"},
		{`arguments.any[0] > 1`, `{"any":[18446744073709551616]}`, "cannot be held without rounding"},
		{`arguments.any.exists(x, x > 1)`, `{"any":[18446744073709551616]}`, "cannot be held without rounding"},
		{`string(arguments.steps)`, `{"steps":18446744073709551615}`, "no such overload"},
		// Arguments that do not fit the schema.
		{`arguments.environment + 'x'`, `{"environment":7}`, "no such overload"},
		{`arguments.environment.size()`, `{"environment":7}`, "no such overload"},
		{`arguments.target.host`, `{"target":7}`, `arguments["target"] has no "host"`},
		{`arguments.tags.join()`, `{"tags":["a",1]}`, "an element is not a string"},
		{`arguments.tags.join()`, `{"tags":1}`, "no such overload"},
	} {
		t.Run(tt.source+" "+tt.arguments, func(t *testing.T) {
			value, compileErr, err := eval(t, tt.source, tt.arguments)
			if compileErr != nil {
				t.Fatal(compileErr)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q and the error %v, want one with %q", value, err, tt.want)
			}
		})
	}
}

func TestShapeDepthIsBounded(t *testing.T) {
	doc := `{"type":"string"}`
	for range maxTypeDepth + 2 {
		doc = `{"type":"object","properties":{"a":` + doc + `}}`
	}
	s, err := ObjectShape([]byte(doc), "arguments")
	if err != nil {
		t.Fatal(err)
	}
	for range maxTypeDepth + 1 {
		s = s.fields["a"]
	}
	if s.celType() != cel.DynType {
		t.Errorf("the type %d levels down is %v, want dyn", maxTypeDepth+1, s.celType())
	}
}
