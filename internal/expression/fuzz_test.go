package expression

import (
	"encoding/json"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/google/cel-go/common/types"

	"github.com/mcptasks/mcptasks/internal/schema"
)

// tooLong is far more than any one evaluation takes on a busy machine.
const tooLong = 5 * time.Second

// FuzzExpression compiles any source and evaluates it if it can be. It is an error or a value, in time.
func FuzzExpression(f *testing.F) {
	for _, source := range []string{
		"arguments.steps > 3 && has(arguments.target.host)",
		"arguments.tags.map(t, t + t).filter(t, t in ['a', \"b\"]).size() == 2",
		"arguments.any == {'a': 1}.a ? [1, 2][0] > 1 : !true",
		"arguments.?target.?host.orValue('x').matches(r'(a{3}|b)*$')",
		"[[1]].map(l, [l, l]).map(l, [l, l]).map(l, dyn(l))[0].size() > 1",
		"[1, 2].optMap(x, x) == null || {1: 2u}[1] < 3 || b'a' + b'b' == b''",
		"math.greatest(1, 2.0) > duration('1h').getHours() && timestamp('2026-11-30T00:00:00Z').getFullYear('UTC') == 1",
		"arguments.environment.split('').map(c, c.charAt(0)).join(',').substring(1).lowerAscii().trim() != `x`",
		"arguments.`dry-run` || answers.a.confirm || answer.confirm",
	} {
		f.Add(source, `{"steps":7,"tags":["a","b"],"any":[[1]],"environment":"abc","target":{"host":"a"}}`)
	}
	s, err := ObjectShape([]byte(inputSchema), "arguments")
	if err != nil {
		f.Fatal(err)
	}
	env, err := NewEnv(map[string]*Shape{"arguments": s})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, source, arguments string) {
		checked, issues := env.Parse(source)
		if issues.Err() != nil {
			return
		}
		if checked, issues = env.Check(checked); issues.Err() != nil {
			return
		}
		e, err := Compile(env, source, checked.OutputType())
		if err != nil {
			return
		}
		doc, err := schema.Decode([]byte(arguments))
		if err != nil {
			return
		}
		start := time.Now()
		value, err := e.Eval(map[string]any{"arguments": s.Value(doc)})
		if took := time.Since(start); took > tooLong {
			t.Fatalf("it took %v", took)
		}
		if (value == nil) == (err == nil) {
			t.Fatalf("the value %v with the error %v", value, err)
		}
	})
}

// FuzzNumber: a number that an expression sees is the one in the document.
func FuzzNumber(f *testing.F) {
	for _, text := range []string{
		"0", "-0.0", "9007199254740993", "18446744073709551615", "1e20", "0.1", "12345678901234567.5", "-1.5E-7",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := schema.Decode([]byte(text))
		n, ok := doc.(json.Number)
		if err != nil || !ok {
			return
		}
		want, _ := new(big.Rat).SetString(n.String())
		for _, double := range []bool{false, true} {
			got := new(big.Rat)
			switch v := number(n, double).(type) {
			case types.Int:
				got.SetInt64(int64(v))
			case types.Uint:
				got.SetUint64(uint64(v))
			case types.Double:
				// A double stands for the shortest decimal that is nearest to it: 0.1, not what is stored for it.
				got.SetString(fmt.Sprint(float64(v)))
			default:
				continue
			}
			if got.Cmp(want) != 0 {
				t.Fatalf("%s became %s", text, got.RatString())
			}
		}
	})
}
