package expression

import (
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// Expressions come from whoever may write an MCPTool, and are evaluated in processes that all tenants share. CEL stops an
// evaluation between two steps once it has cost too much, but it cannot stop one step. So no single step may be large: no value
// may be much larger than what it was made from, and nothing may walk through values in values. Macros that follow one another
// can make, of [l, l] or l + l, lists of exponential size within a line of text, as long as nobody looks at all of them. What
// could is refused when the tool is compiled:
//
//   - lists joined with +, which has the length of the list counted through all its parts;
//   - comparing lists and objects, and using them as keys, which walk them or print them;
//   - replace, which can multiply the lengths of two strings;
//   - regular expressions that are not constants, or compile to a large program;
//   - optional elements of lists and objects, and objects of named types.

// bounded is the check of these rules, as a validator of CEL.
type bounded struct{}

// Name implements cel.ASTValidator.
func (bounded) Name() string { return "mcptasks.bounded" }

// Validate implements cel.ASTValidator.
func (bounded) Validate(_ *cel.Env, _ cel.ValidatorConfig, checked *ast.AST, issues *cel.Issues) {
	for _, e := range ast.MatchDescendants(ast.NavigateAST(checked), ast.AllMatcher()) {
		if problem := unbounded(checked, e); problem != "" {
			issues.ReportErrorAtID(e.ID(), "%s", problem)
		}
	}
}

// unbounded says why one part of an expression is refused, or nothing.
func unbounded(checked *ast.AST, e ast.NavigableExpr) string {
	switch e.Kind() {
	case ast.CallKind:
		return unboundedCall(checked, e.AsCall(), e.Type())
	case ast.StructKind:
		return "objects of named types cannot be made here"
	case ast.ListKind:
		if len(e.AsList().OptionalIndices()) > 0 {
			return "a list cannot have optional elements here"
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			if entry.AsMapEntry().IsOptional() {
				return "an object cannot have optional entries here"
			}
			if !scalar(checked.GetType(entry.AsMapEntry().Key().ID())) {
				return "a key " + mustBeScalar
			}
		}
	}
	return ""
}

const mustBeScalar = "must be known to be a string, number, bool or null; say so with string(), int(), double() or bool()"

func unboundedCall(checked *ast.AST, call ast.CallExpr, result *types.Type) string {
	args := call.Args()
	isScalar := func(i int) bool { return scalar(checked.GetType(args[i].ID())) }
	switch call.FunctionName() {
	case "replace":
		return "the function replace is not available here"
	case overloads.Matches:
		return unboundedRegex(args[len(args)-1])
	case operators.Add:
		// Macros such as map add each element to a list of their own, which no expression can name.
		own := args[0].Kind() == ast.IdentKind && strings.HasPrefix(args[0].AsIdent(), "@")
		if !own && (result.Kind() == types.ListKind || result.Kind() == types.DynKind) {
			return "+ is for strings and numbers here; if these are, say so with string(), int() or double()"
		}
	case operators.Equals, operators.NotEquals:
		if !isScalar(0) && !isScalar(1) {
			return "one side of a comparison " + mustBeScalar
		}
	case operators.Index, operators.OptIndex:
		if !isScalar(1) {
			return "an index " + mustBeScalar
		}
	case operators.In:
		elements := checked.GetType(args[1].ID()).Parameters()
		if !isScalar(0) && (len(elements) == 0 || !scalar(elements[0])) {
			return "what is looked for with in " + mustBeScalar
		}
	}
	return ""
}

// maxRegexProgram is how many instructions a regular expression may compile to. Matching takes time in proportion to it and to
// the length of the text.
const maxRegexProgram = 500

// unboundedRegex says why a regular expression is refused, or nothing. CEL has a limit of its own on the size of the program, but
// compiles to find it out what it has not simplified, and repetitions like a{30} make that panic.
func unboundedRegex(pattern ast.Expr) string {
	if pattern.Kind() != ast.LiteralKind {
		return "the regular expression must be a constant"
	}
	text, _ := pattern.AsLiteral().Value().(string)
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return "the regular expression is not one of RE2: " + err.Error()
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(program.Inst) > maxRegexProgram {
		return "the regular expression is too large"
	}
	return ""
}

// scalar reports whether all values of a type are compared in one go.
func scalar(t *types.Type) bool {
	switch t.Kind() {
	case types.BoolKind, types.BytesKind, types.DoubleKind, types.DurationKind, types.IntKind, types.NullTypeKind, types.StringKind,
		types.TimestampKind, types.TypeKind, types.UintKind:
		return true
	}
	return false
}

// cost charges functions for what they read and write, one unit for a hundred characters or elements. CEL itself takes most
// functions of libraries for free, and others for dearer than they are beside a step of an evaluation.
type cost struct{}

// CallCost implements interpreter.ActualCostEstimator. nil leaves it to CEL.
func (cost) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	// The names of operators have "_" where their operands go.
	if function == overloads.Matches || strings.Contains(function, "_") {
		return nil
	}
	size := sizeOf(result)
	for _, arg := range args {
		size += sizeOf(arg)
	}
	units := 1 + size/100
	return &units
}

func sizeOf(value ref.Val) uint64 {
	if sized, ok := value.(traits.Sizer); ok {
		if n, ok := sized.Size().(types.Int); ok && n > 0 {
			return uint64(n)
		}
	}
	return 1
}

// maxJoined is how long a joined string may be, in bytes.
const maxJoined = 64 << 10

// joinFunction declares join as CEL's strings extension has it, but the length of what it makes is bounded.
func joinFunction() cel.EnvOption {
	texts := cel.ListType(cel.StringType)
	return cel.Function("join",
		cel.MemberOverload("list_join", []*cel.Type{texts}, cel.StringType,
			cel.UnaryBinding(func(list ref.Val) ref.Val { return join(list, "") })),
		cel.MemberOverload("list_join_string", []*cel.Type{texts, cel.StringType}, cel.StringType,
			cel.BinaryBinding(func(list, separator ref.Val) ref.Val {
				text, ok := separator.(types.String)
				if !ok {
					return types.MaybeNoSuchOverloadErr(separator)
				}
				return join(list, string(text))
			})))
}

func join(list ref.Val, separator string) ref.Val {
	lister, ok := list.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(list)
	}
	var b strings.Builder
	for it, first := lister.Iterator(), true; it.HasNext() == types.True; first = false {
		text, ok := it.Next().(types.String)
		if !ok {
			return types.WrapErr(fmt.Errorf("join: an element is not a string"))
		}
		if !first {
			b.WriteString(separator)
		}
		b.WriteString(string(text))
		if b.Len() > maxJoined {
			return types.WrapErr(fmt.Errorf("join: the text is longer than %d bytes", maxJoined))
		}
	}
	return types.String(b.String())
}
