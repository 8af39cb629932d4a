package question

import (
	"errors"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// answersRead finds the questions whose answers an expression reads. So that this can be known beforehand, answers may stand only
// where the next name is that of a question.
func answersRead(checked *ast.AST) ([]string, error) {
	var keys []string
	root := ast.NavigateAST(checked)
	for _, e := range ast.MatchDescendants(root, ast.KindMatcher(ast.IdentKind)) {
		if e.AsIdent() != varAnswers {
			continue
		}
		key, ok := selectedFrom(e)
		if !ok {
			return nil, errors.New("answers can only be read as answers.<key>")
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// selectedFrom is the name in x.name, has(x.name) and x.?name, where e is x.
func selectedFrom(e ast.NavigableExpr) (string, bool) {
	parent, ok := e.Parent()
	if !ok {
		return "", false
	}
	switch parent.Kind() {
	case ast.SelectKind:
		return parent.AsSelect().FieldName(), true
	case ast.CallKind:
		call := parent.AsCall()
		if call.FunctionName() != operators.OptSelect || len(call.Args()) != 2 || call.Args()[0].ID() != e.ID() {
			return "", false
		}
		name, ok := call.Args()[1].AsLiteral().Value().(string)
		return name, ok
	}
	return "", false
}
