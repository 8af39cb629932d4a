package expression

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
)

// MaxLength is how long an expression may be, in characters, as in the API.
const MaxLength = 2048

const (
	// maxNesting and maxNodes are how deep the parts of an expression may be nested and how many there may be, after macros have
	// been replaced by what they stand for. The type checker takes time with the square and more of both.
	maxNesting, maxNodes = 48, 2000
	// costLimit is what one evaluation may cost, in CEL's units; a step or a comparison is about one. It is far more than a sensible
	// condition needs, and even the worst takes a fraction of a second: the accounting itself takes time with the square of a list's
	// length.
	costLimit = 10_000
)

// Expression is a compiled and type-checked CEL expression. It is safe for concurrent use.
type Expression struct {
	program cel.Program
	checked *ast.AST
}

// AST is the checked expression, for those who look at what it refers to. It must not be changed.
func (e *Expression) AST() *ast.AST { return e.checked }

// baseEnv has the functions that every expression may use: CEL's own, optional values, strings and math. It is made once
// because that takes some milliseconds.
var baseEnv = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.OptionalTypes(cel.OptionalTypesVersion(2)),
		ext.Strings(ext.StringsVersion(0)),
		ext.Math(ext.MathVersion(2)),
		joinFunction(),
		cel.EnableIdentifierEscapeSyntax(),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(MaxLength),
		cel.ParserRecursionLimit(maxNesting),
		cel.ExpressionNodeLimit(maxNodes),
		cel.ExtendedValidations(),
		cel.ASTValidators(bounded{}),
	)
})

// Env is what expressions are checked against: the variables and functions that there are. It is safe for concurrent use.
type Env struct {
	*cel.Env
	types *typeSet
}

// NewEnv is an environment with variables of the given shapes.
func NewEnv(variables map[string]*Shape) (*Env, error) {
	base, err := baseEnv()
	if err != nil {
		return nil, fmt.Errorf("prepare CEL: %w", err)
	}
	shapes := make([]*Shape, 0, len(variables))
	options := make([]cel.EnvOption, 0, len(variables)+1)
	for name, s := range variables {
		shapes = append(shapes, s)
		options = append(options, cel.Variable(name, s.celType()))
	}
	set := newTypeSet(base.CELTypeProvider(), shapes...)
	env, err := base.Extend(append(options, cel.CustomTypeProvider(set))...)
	if err != nil {
		return nil, fmt.Errorf("declare variables: %w", err)
	}
	return &Env{Env: env, types: set}, nil
}

// Compile checks source, which must have one of the types want.
func Compile(env *Env, source string, want ...*cel.Type) (compiled *Expression, err error) {
	// The source is a stranger's, and the checker is large; its mistakes must not become those of the process.
	defer func() {
		if r := recover(); r != nil {
			compiled, err = nil, fmt.Errorf("the expression cannot be compiled: %v", r)
		}
	}()
	checked, issues := env.Compile(source)
	if issues.Err() != nil {
		return nil, fmt.Errorf("%s%s, in the expression %s", firstIssue(issues), env.explain(issues), clip(source, 200))
	}
	if got := checked.OutputType(); !slices.ContainsFunc(want, got.IsExactType) {
		return nil, fmt.Errorf("its type must be %s but is %s, in the expression %s", oneOf(want), got, clip(source, 200))
	}
	program, err := env.Program(checked, cel.CostTracking(cost{}), cel.CostLimit(costLimit), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, fmt.Errorf("%w, in the expression %s", err, clip(source, 200))
	}
	return &Expression{program: program, checked: checked.NativeRep()}, nil
}

// oneOf lists types for a message.
func oneOf(want []*cel.Type) string {
	texts := make([]string, len(want))
	for i, t := range want {
		texts[i] = t.String()
	}
	return strings.Join(texts, " or ")
}

// firstIssue is what is wrong first, on one line and with its place. What follows is often only a consequence.
func firstIssue(issues *cel.Issues) string {
	first := issues.Errors()[0]
	message := clip(strings.Join(strings.Fields(first.Message), " "), 300)
	if first.Location.Line() < 1 {
		// Limits are exceeded nowhere in particular.
		return message
	}
	return fmt.Sprintf("%s at line %d, column %d", message, first.Location.Line(), first.Location.Column()+1)
}

// undefinedField is what CEL says of a property that a struct does not have.
var undefinedField = regexp.MustCompile(`^undefined field '(.*)'$`)

// explain says why a property that the schema declares cannot be read.
func (env *Env) explain(issues *cel.Issues) string {
	if found := undefinedField.FindStringSubmatch(issues.Errors()[0].Message); found != nil && env.types.hides(found[1]) {
		return " (it is writeOnly, which no expression can read)"
	}
	return ""
}

// Eval evaluates the expression. Whatever goes wrong is an error, never a panic.
func (e *Expression) Eval(variables map[string]any) (ref.Val, error) {
	value, _, err := e.program.Eval(variables)
	if err != nil {
		var cancelled interpreter.EvalCancelledError
		if errors.As(err, &cancelled) {
			return nil, errors.New("it takes too long to evaluate for these arguments")
		}
		return nil, errors.New(clip(strings.Join(strings.Fields(err.Error()), " "), 300))
	}
	return value, nil
}

// Bool evaluates an expression of type bool.
func (e *Expression) Bool(variables map[string]any) (bool, error) {
	value, err := e.Eval(variables)
	if err != nil {
		return false, err
	}
	b, ok := value.(types.Bool)
	if !ok {
		return false, fmt.Errorf("it is a %s, not a bool", value.Type().TypeName())
	}
	return bool(b), nil
}

// String evaluates an expression of type string.
func (e *Expression) String(variables map[string]any) (string, error) {
	value, err := e.Eval(variables)
	if err != nil {
		return "", err
	}
	s, ok := value.(types.String)
	if !ok {
		return "", fmt.Errorf("it is a %s, not a string", value.Type().TypeName())
	}
	return string(s), nil
}

// clip shortens text that somebody else chose to limit characters.
func clip(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-1]) + "…"
}
