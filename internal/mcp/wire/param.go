package wire

import (
	"encoding/json"
	"math/big"
	"net/http"
	"regexp"
	"strings"

	"github.com/mcptasks/mcptasks/internal/headerparam"
)

// CheckParams compares the Mcp-Param- headers of a tools/call with its arguments. Other headers are ignored.
func CheckParams(header http.Header, params []headerparam.Param, arguments json.RawMessage) *Error {
	for _, param := range params {
		if err := checkParam(header, param, arguments); err != nil {
			return err
		}
	}
	return nil
}

func checkParam(header http.Header, param headerparam.Param, arguments json.RawMessage) *Error {
	name, field := headerParamPrefix+param.Name, "params.arguments."+strings.Join(param.Path, ".")
	raw, present, err := singleHeader(header, name)
	if err != nil {
		return err
	}
	argument, given := lookup(arguments, param.Path)
	switch {
	case !given && present:
		return HeaderMismatch("the header %s is there, and %s is not", name, field)
	case !given:
		return nil
	case !present:
		return HeaderMismatch("the header %s is missing; it repeats %s", name, field)
	}
	value, ok := decodeHeaderValue(raw)
	if !ok {
		return HeaderMismatch("the header %s is malformed", name)
	}
	if !sameValue(value, argument) {
		return HeaderMismatch("%s header value %s does not match %s", name, quote(value), field)
	}
	return nil
}

// lookup follows path through objects. An argument that is null counts as not given.
func lookup(arguments json.RawMessage, path []string) (json.RawMessage, bool) {
	value := arguments
	for _, name := range path {
		var object map[string]json.RawMessage
		if kindOf(value) != kindObject || json.Unmarshal(value, &object) != nil {
			return nil, false
		}
		value = object[name]
	}
	return value, value != nil && string(value) != "null"
}

// sameValue compares a header's text with a JSON value: strings and booleans exactly, integers by their value, so that 42.0
// equals 42.
func sameValue(text string, value json.RawMessage) bool {
	switch kindOf(value) {
	case kindString:
		var s string
		return json.Unmarshal(value, &s) == nil && s == text
	case 't', 'f':
		return string(value) == text
	default:
		a, okA := integer(text)
		b, okB := integer(string(value))
		return okA && okB && a.Cmp(b) == 0
	}
}

// integerFormat is an integer as JSON writes it, also one with a fraction of zeros, and of a reasonable length. It takes no
// exponents: ten characters must not make us compute a number of a million digits.
var integerFormat = regexp.MustCompile(`^(-?(?:0|[1-9][0-9]{0,62}))(?:\.0+)?$`)

func integer(text string) (*big.Int, bool) {
	match := integerFormat.FindStringSubmatch(text)
	if match == nil {
		return nil, false
	}
	return new(big.Int).SetString(match[1], 10)
}
