package expression

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
)

func TestUnboundedExpressionsAreRefused(t *testing.T) {
	const scalar = "must be known to be a string, number, bool or null"
	for _, tt := range []struct{ source, want string }{
		{`arguments.tags + arguments.tags`, "+ is for strings and numbers"},
		{`[[1]].map(l, l + l).size()`, "+ is for strings and numbers"},
		{`arguments.any + arguments.any`, "+ is for strings and numbers"},
		{`arguments.tags == ['a']`, "one side of a comparison " + scalar},
		{`[[1]].map(l, [l, l]).map(l, [l, l]).map(l, l == l)`, "one side of a comparison " + scalar},
		{`arguments == arguments`, "one side of a comparison " + scalar},
		{`arguments.any != arguments.free.x`, "one side of a comparison " + scalar},
		{`arguments.any in arguments.free.list`, "what is looked for with in " + scalar},
		{`[1] in [[1]]`, "what is looked for with in " + scalar},
		{`arguments.free[arguments.any]`, "an index " + scalar},
		{`[[1]].map(l, {'a': 1}[dyn([l, l])])`, "an index " + scalar},
		{`arguments.free[?arguments.any]`, "an index " + scalar},
		{`{dyn([1]): 1}`, "a key " + scalar},
		{`[?arguments.?steps]`, "a list cannot have optional elements"},
		{`{?'a': arguments.?steps}`, "an object cannot have optional entries"},
		{`google.protobuf.Value{}`, "objects of named types"},
		{"arguments.environment.replace('', arguments.`in`)", "the function replace is not available"},
		{"arguments.environment.matches(arguments.`in`)", "the regular expression must be a constant"},
		{`arguments.environment.matches('(a{30}){30}')`, "the regular expression is too large"},
		{`arguments.environment.matches('a{1000}')`, "the regular expression is too large"},
	} {
		t.Run(tt.source, func(t *testing.T) {
			_, err, _ := eval(t, tt.source, `{}`)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got the error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// largeArguments are about as large as arguments may be.
func largeArguments(t *testing.T) string {
	t.Helper()
	doc, err := json.Marshal(map[string]any{"environment": strings.Repeat("a", 60_000), "tags": make([]string, 20_000)})
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

// Each of these would take seconds to for ever, or gigabytes, without a limit.
func TestEvaluationIsStopped(t *testing.T) {
	arguments := largeArguments(t)
	for _, source := range []string{
		`arguments.tags.all(a, arguments.tags.all(b, a == b))`,
		`arguments.tags.filter(a, a != '').size() > 0`,
		`arguments.tags.map(a, arguments.tags.map(b, [a, b])).size() > 0`,
		`arguments.tags.all(a, arguments.environment.lowerAscii() != '')`,
		`arguments.tags.all(a, arguments.environment.split('').size() > 0)`,
		`arguments.tags.map(a, arguments.environment + arguments.environment).size() > 0`,
		`[arguments.environment].map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).map(a, a + a).size() > 0`,
		`arguments.environment.matches('^(([ab]*a){20})b$')`,
	} {
		t.Run(source, func(t *testing.T) {
			_, compileErr, err := eval(t, source, arguments)
			if compileErr != nil {
				t.Fatal(compileErr)
			}
			if err == nil || !strings.Contains(err.Error(), "takes too long") {
				t.Errorf("got the error %v, want one that it takes too long", err)
			}
		})
	}
}

func TestJoinIsBounded(t *testing.T) {
	_, compileErr, err := eval(t, `arguments.tags.join(arguments.environment)`, largeArguments(t))
	if compileErr != nil {
		t.Fatal(compileErr)
	}
	if err == nil || !strings.Contains(err.Error(), "the text is longer than") {
		t.Errorf("got the error %v, want one about the length", err)
	}
}

func TestSensibleExpressionsOverLargeArgumentsAreNotStopped(t *testing.T) {
	arguments := largeArguments(t)
	for _, source := range []string{
		`arguments.environment.lowerAscii().contains('drop table')`,
		`arguments.environment.startsWith('b')`,
		`'x' in arguments.tags`,
		`arguments.tags.size() > 100000`,
		`arguments.environment.substring(0, 100).matches('^[b-z]+$')`,
	} {
		t.Run(source, func(t *testing.T) {
			value, compileErr, err := eval(t, source, arguments)
			if compileErr != nil || err != nil {
				t.Fatalf("compile: %v, eval: %v", compileErr, err)
			}
			if value != "false" {
				t.Errorf("got %s, want false", value)
			}
		})
	}
}

// The last two take the type checker ten seconds where nesting is allowed to be three times as deep.
func TestCompilationIsBounded(t *testing.T) {
	for _, tt := range []struct{ name, source, want string }{
		{"long", "'" + strings.Repeat("a", MaxLength) + "'", "size exceeds limit"},
		{"many terms", "1" + strings.Repeat("+1", 900), "recursion"},
		{"many selections", "arguments.free" + strings.Repeat(".a", 900), "recursion"},
		{"many macros that repeat what they are applied to", "arguments.?steps" + strings.Repeat(".optMap(a,a)", 160), "recursion"},
		{"deep lists", strings.Repeat("[", 150) + "1" + strings.Repeat("]", 150), "recursion limit"},
		{"deep macros", strings.Repeat("[1].map(a,", 150) + "a" + strings.Repeat(")", 150), "recursion limit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err, _ := eval(t, tt.source, `{}`)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got the error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// Whatever the checker does with a source, the process lives.
func TestCompileDoesNotPanic(t *testing.T) {
	env, err := NewEnv(nil)
	if err != nil {
		t.Fatal(err)
	}
	env.Env, err = env.Extend(cel.ASTValidators(cel.ValidateRegexProgramSizeLimit(10)))
	if err != nil {
		t.Fatal(err)
	}
	// That validator of the library panics on repetitions.
	_, err = Compile(env, `'a'.matches('a{2}')`, cel.BoolType)
	if err == nil || !strings.Contains(err.Error(), "cannot be compiled") {
		t.Errorf("got the error %v, want one that it cannot be compiled", err)
	}
}
