package expression

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// number is a JSON number as a CEL value. It keeps the value or it is an error: an expression never sees a rounded number.
//
// Whole numbers become int, or uint beyond int's range; others become double. Where the schema says "number" it is double
// first, so that arithmetic does not depend on whether the caller wrote 2 or 2.0, and int only for what a double cannot hold,
// such as 2^53+1.
func number(n json.Number, double bool) ref.Val {
	text := n.String()
	if double {
		if f, ok := exactDouble(text); ok {
			return types.Double(f)
		}
	}
	if whole, ok := decimalOf(text).whole(); ok {
		if i, err := strconv.ParseInt(whole, 10, 64); err == nil {
			return types.Int(i)
		}
		if u, err := strconv.ParseUint(whole, 10, 64); err == nil {
			return types.Uint(u)
		}
	}
	if f, ok := exactDouble(text); ok {
		return types.Double(f)
	}
	return types.WrapErr(fmt.Errorf("the number %s cannot be held without rounding", clip(text, 40)))
}

// exactDouble is the double that text denotes, and whether it prints as the same decimal number. 0.1 does; 2^53+1, 1e400 and a
// fraction with more digits than a double has do not.
func exactDouble(text string) (float64, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return 0, false
	}
	return f, decimalOf(text) == decimalOf(strconv.FormatFloat(f, 'e', -1, 64))
}

// decimal is ±0.digits × 10^exponent in its only normal form: digits neither begins nor ends with a zero, and zero is the zero
// value.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// decimalOf reads the syntax of JSON numbers, with an exponent that an int holds; schema.Decode has seen to both.
func decimalOf(text string) decimal {
	text, negative := strings.CutPrefix(text, "-")
	mantissa, power, _ := strings.Cut(strings.ToLower(text), "e")
	integer, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(integer+fraction, "0")
	point := len(integer) - (len(integer) + len(fraction) - len(digits))
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return decimal{}
	}
	exponent := 0
	if power != "" {
		exponent, _ = strconv.Atoi(power)
	}
	return decimal{negative: negative, digits: digits, exponent: exponent + point}
}

// whole is the number written out, if it is a whole one of at most 20 digits, as many as 64 bits can need.
func (d decimal) whole() (string, bool) {
	if d.digits == "" {
		return "0", true
	}
	if d.exponent < len(d.digits) || d.exponent > 20 {
		return "", false
	}
	whole := d.digits + strings.Repeat("0", d.exponent-len(d.digits))
	if d.negative {
		whole = "-" + whole
	}
	return whole, true
}
