package expression

import (
	"encoding/json"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// A26: a number keeps its value or is an error.
func TestNumber_A26(t *testing.T) {
	const rounded = "rounded"
	for _, tt := range []struct {
		text string
		// whole is what it is where the schema says integer or nothing, double where it says number.
		whole, double any
	}{
		{"0", types.Int(0), types.Double(0)},
		{"-0", types.Int(0), types.Double(0)},
		{"7", types.Int(7), types.Double(7)},
		{"-7", types.Int(-7), types.Double(-7)},
		{"7.0", types.Int(7), types.Double(7)},
		{"70e-1", types.Int(7), types.Double(7)},
		{"1e3", types.Int(1000), types.Double(1000)},
		{"1E+3", types.Int(1000), types.Double(1000)},
		{"0.000", types.Int(0), types.Double(0)},
		{"0.1", types.Double(0.1), types.Double(0.1)},
		{"-2.5", types.Double(-2.5), types.Double(-2.5)},
		{"0.10", types.Double(0.1), types.Double(0.1)},
		{"9007199254740992", types.Int(9007199254740992), types.Double(9007199254740992)},
		{"9007199254740993", types.Int(9007199254740993), types.Int(9007199254740993)},
		{"9007199254740993.0", types.Int(9007199254740993), types.Int(9007199254740993)},
		{"9223372036854775807", types.Int(9223372036854775807), types.Int(9223372036854775807)},
		{"-9223372036854775808", types.Int(-9223372036854775808), types.Int(-9223372036854775808)},
		{"9223372036854775808", types.Uint(9223372036854775808), types.Uint(9223372036854775808)},
		{"18446744073709551615", types.Uint(18446744073709551615), types.Uint(18446744073709551615)},
		{"18446744073709551616", rounded, rounded},
		{"-9223372036854775809", rounded, rounded},
		{"1e20", types.Double(1e20), types.Double(1e20)},
		{"1e300", types.Double(1e300), types.Double(1e300)},
		{"5e-324", types.Double(5e-324), types.Double(5e-324)},
		{"1e400", rounded, rounded},
		{"1e-400", rounded, rounded},
		{"0.10000000000000000001", rounded, rounded},
		{"12345678901234567.5", rounded, rounded},
		{"1.7976931348623157e308", types.Double(1.7976931348623157e308), types.Double(1.7976931348623157e308)},
	} {
		t.Run(tt.text, func(t *testing.T) {
			check := func(kind string, got ref.Val, want any) {
				if want == rounded {
					if !types.IsError(got) {
						t.Errorf("%s: got %v of type %s, want an error", kind, got, got.Type())
					}
					return
				}
				if got != want {
					t.Errorf("%s: got %v of type %s, want %v of type %s", kind, got, got.Type(), want, want.(ref.Val).Type())
				}
			}
			check("whole", number(json.Number(tt.text), false), tt.whole)
			check("double", number(json.Number(tt.text), true), tt.double)
		})
	}
}
