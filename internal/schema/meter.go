package schema

import (
	"errors"
	"fmt"
)

// maxEffort is what one validation may spend. The largest arguments, an array of 65,000 numbers, spend a quarter of it; a
// schema whose branches double at every level is stopped within a second.
const maxEffort = 500_000

// errTooMuch is what becomes of a validation that spends more.
var errTooMuch = errors.New(
	"the value takes too long to check against the schema: the value is too large or the schema too intricate")

// An effort is what it takes to apply one schema to one value, in comparisons and applications of a subschema.
type effort struct {
	once    int // for the value
	perPart int // for every item or property of the value
}

// format is the name of the format that reports the effort.
func (e effort) format() string { return fmt.Sprintf("mcptasks-effort-%d-%d", e.once, e.perPart) }

// A meter holds what is left to spend in one validation.
type meter struct{ left int }

func (m *meter) reset()      { m.left = maxEffort }
func (m *meter) empty() bool { return m.left < 0 }

// spend counts that a schema of that effort is applied to v. Once nothing is left it fails every schema, so that the
// validation ends at once.
func (m *meter) spend(e effort, v any) error {
	cost := e.once
	switch v := v.(type) {
	case map[string]any:
		cost += e.perPart * len(v)
	case []any:
		cost += e.perPart * len(v)
	case string:
		cost += len(v) >> 8 // for patterns and lengths
	}
	m.left -= cost
	if m.empty() {
		return errTooMuch
	}
	return nil
}
