package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// maxReported is how many places one error names.
const maxReported = 5

// An explainer puts what the library found into words.
type explainer struct {
	// withheld are the JSON pointers of the values whose parts must not be named; nil where there are none.
	withheld map[string]bool
}

// explain names the places in a stable order, each with what is wrong there.
func (e explainer) explain(err error) error {
	if err == nil {
		return nil
	}
	var verr *jsonschema.ValidationError
	if !errors.As(err, &verr) {
		return err
	}
	found := map[string]bool{}
	for _, line := range e.lines(verr) {
		found[line] = true
	}
	sorted := slices.Sorted(maps.Keys(found))
	if len(sorted) > maxReported {
		more := len(sorted) - maxReported
		sorted = append(sorted[:maxReported], fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(sorted, "; "))
}

// explainCompile is explain for a document that is not a schema.
func explainCompile(err error) error {
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		return explainer{}.explain(invalid.Err)
	}
	return fmt.Errorf("the schema cannot be compiled: %w", err)
}

// lines are the sentences about verr and its causes.
func (e explainer) lines(verr *jsonschema.ValidationError) []string {
	at := path(verr.InstanceLocation)
	var all []string
	say := func(at path, format string, args ...any) {
		all = append(all, e.place(at).String()+": "+fmt.Sprintf(format, args...))
	}
	switch k := verr.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range verr.Causes {
			all = append(all, e.lines(cause)...)
		}
	case *kind.AnyOf:
		say(at, "%s", e.alternatives(at, verr.Causes))
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			say(at, "fits more than one of the alternatives of which it must fit exactly one")
			break
		}
		say(at, "%s", e.alternatives(at, verr.Causes))
	case *kind.Required:
		for _, name := range k.Missing {
			say(at.child(name), "is required")
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			say(at.child(name), "is not a known property")
		}
	case *kind.PropertyNames:
		name := path{k.Property}
		if len(at) > 0 {
			name = path{"…", k.Property} // deep inside, the library's location is that of another value by now
			if len(e.withheld) > 0 {
				name = path{"…"}
			}
		}
		for _, cause := range verr.Causes {
			say(name, "is not an allowed name: it %s", leaf(cause.ErrorKind))
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			say(at.child(name), "is required together with %s", quote(k.Prop))
		}
	case *kind.Dependency:
		for _, name := range k.Missing {
			say(at.child(name), "is required together with %s", quote(k.Prop))
		}
	default:
		say(at, "%s", leaf(k))
	}
	return all
}

// place is at, or, where that is part of a withheld value, that value and nothing more precise.
func (e explainer) place(at path) path {
	for i := range at {
		if e.withheld[at[:i].pointer()] {
			return at[:i:i].child("…")
		}
	}
	return at
}

// alternatives says why a value fits none of several schemas. Where it only has the wrong type, that takes one sentence.
func (e explainer) alternatives(at path, causes []*jsonschema.ValidationError) string {
	var want []string
	got := ""
	for _, cause := range causes {
		k, ok := cause.ErrorKind.(*kind.Type)
		if !ok || len(cause.InstanceLocation) != len(at) {
			return e.fits(causes)
		}
		want, got = append(want, k.Want...), k.Got
	}
	return leaf(&kind.Type{Got: got, Want: want})
}

// fits lists the first few reasons why a value fits no alternative.
func (e explainer) fits(causes []*jsonschema.ValidationError) string {
	const most = 3
	var reasons []string
	for _, cause := range causes[:min(most, len(causes))] {
		reasons = append(reasons, "("+strings.Join(e.lines(cause), ", ")+")")
	}
	text := fmt.Sprintf("fits none of the %d alternatives: %s", len(causes), strings.Join(reasons, " or "))
	if len(causes) > most {
		text += " or …"
	}
	return shorten(text, 600)
}

// leaf says what is wrong with a value itself.
func leaf(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("must be %s, is %s", oneOf(k.Want), article(k.Got))
	case *kind.Enum:
		return "must be " + values(k.Want)
	case *kind.Const:
		return "must be " + values([]any{k.Want})
	case *kind.Pattern:
		return "must match the pattern " + printable(k.Want, 200)
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %s, has %d", count(k.Want, "character"), k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %s, has %d", count(k.Want, "character"), k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %s, has %d", count(k.Want, "item"), k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %s, has %d", count(k.Want, "item"), k.Got)
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %s, has %d", count(k.Want, "propert"), k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %s, has %d", count(k.Want, "propert"), k.Got)
	case *kind.Minimum:
		return "must be at least " + number(k.Want)
	case *kind.Maximum:
		return "must be at most " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + number(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + number(k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("must not have the same item twice (items %d and %d)", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return "has no item of the kind it must contain"
	case *kind.MinContains:
		return fmt.Sprintf("must contain at least %d items of a certain kind, has %d", k.Want, len(k.Got))
	case *kind.MaxContains:
		return fmt.Sprintf("must contain at most %d items of a certain kind, has %d", k.Want, len(k.Got))
	case *kind.Not:
		return "has a value that is ruled out"
	case *kind.FalseSchema:
		return "is not allowed"
	case *kind.Format: // of a keyword's value, when a schema is compiled; see install
		return fmt.Sprintf("must be a valid %s: %v", k.Want, k.Err)
	default:
		return "is not valid"
	}
}

// values lists what a value may be, as JSON, as far as that is short.
func values(allowed []any) string {
	const most = 20
	var texts []string
	for _, value := range allowed[:min(most, len(allowed))] {
		text, err := json.Marshal(value)
		if err != nil {
			continue
		}
		texts = append(texts, shorten(string(text), 80))
	}
	if len(allowed) > most {
		texts = append(texts, "…")
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "one of " + strings.Join(texts, ", ")
}

func oneOf(types []string) string {
	var texts []string
	for _, t := range types {
		if text := article(t); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, " or ")
}

// article is the name of a JSON type with its article.
func article(jsonType string) string {
	switch jsonType {
	case "null":
		return "null"
	case "integer", "array", "object":
		return "an " + jsonType
	default:
		return "a " + jsonType
	}
}

func count(n int, noun string) string {
	one, many := noun, noun+"s"
	if noun == "propert" {
		one, many = "property", "properties"
	}
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// number is the exact value of a bound.
func number(r *big.Rat) string {
	if r.IsInt() {
		return shorten(r.Num().String(), 40)
	}
	return r.FloatString(decimals(r))
}

// decimals is the number of digits after the point that r, written in decimal, has; at most 20.
func decimals(r *big.Rat) int {
	scaled := new(big.Rat).Set(r)
	ten := big.NewRat(10, 1)
	for n := range 20 {
		if scaled.IsInt() {
			return n
		}
		scaled.Mul(scaled, ten)
	}
	return 20
}

// quote is a name in quotation marks.
func quote(text string) string { return strconv.Quote(shorten(text, 120)) }

// printable is a text, cut to at most about n bytes, without line ends and other control characters.
func printable(text string, n int) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, shorten(text, n))
}

// shorten cuts a text to at most about n bytes.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
