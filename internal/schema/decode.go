package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits on every document that this package reads.
const (
	// maxDepth is how deep objects and arrays may be nested.
	maxDepth = 64
	// maxNumberBytes is how long the text of one number may be.
	maxNumberBytes = 512
	// maxExponent is how far from 0 the exponent of a number may be. With it the exact value of any number stays small.
	maxExponent = 400
)

// Decode reads one JSON value into nil, bool, string, json.Number, []any and map[string]any, and refuses what different
// readers would read differently: a repeated key, a string that is not Unicode, a number that a 64-bit floating point number
// cannot come near. A json.Number is the text of the document.
func Decode(doc []byte) (any, error) {
	if !utf8.Valid(doc) {
		return nil, errors.New("the JSON is not valid UTF-8")
	}
	if err := checkSyntax(doc); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	r := reader{doc: doc, dec: dec}
	return r.value(nil)
}

// checkSyntax says where and why doc is not exactly one JSON value.
func checkSyntax(doc []byte) error {
	var raw json.RawMessage
	err := json.Unmarshal(doc, &raw)
	if bad := (*json.SyntaxError)(nil); errors.As(err, &bad) {
		return fmt.Errorf("the text is not JSON: %s (at byte %d of %d)", bad.Error(), bad.Offset, len(doc))
	}
	return err
}

// A reader turns the tokens of a document, which is known to be JSON, into values.
type reader struct {
	doc []byte
	dec *json.Decoder
}

func (r *reader) value(at path) (any, error) {
	token, err := r.token(at)
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		if len(at) >= maxDepth {
			return nil, fmt.Errorf("the JSON is nested deeper than %d levels", maxDepth)
		}
		if token == '{' {
			return r.object(at)
		}
		return r.array(at)
	case json.Number:
		if err := checkNumber(token.String()); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		return token, nil
	default:
		return token, nil
	}
}

func (r *reader) object(at path) (any, error) {
	object := map[string]any{}
	for r.dec.More() {
		token, err := r.token(at)
		if err != nil {
			return nil, err
		}
		key, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("%s: key is a %T", at, token)
		}
		inner := at.child(key)
		if _, ok := object[key]; ok {
			return nil, fmt.Errorf("%s: the key appears twice in its object", inner)
		}
		if object[key], err = r.value(inner); err != nil {
			return nil, err
		}
	}
	_, err := r.token(at)
	return object, err
}

func (r *reader) array(at path) (any, error) {
	array := []any{}
	for r.dec.More() {
		item, err := r.value(at.child(strconv.Itoa(len(array))))
		if err != nil {
			return nil, err
		}
		array = append(array, item)
	}
	_, err := r.token(at)
	return array, err
}

// token is the next token. encoding/json reads half of a surrogate pair as U+FFFD; token refuses it.
func (r *reader) token(at path) (json.Token, error) {
	start := r.dec.InputOffset()
	token, err := r.dec.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	text, ok := token.(string)
	if ok && strings.ContainsRune(text, utf8.RuneError) && halfPair(r.doc[start:r.dec.InputOffset()]) {
		return nil, fmt.Errorf("%s: a string has half of a surrogate pair, which is not Unicode text", at)
	}
	return token, nil
}

// halfPair reports whether a JSON string literal, possibly with punctuation before it, has an escape \uD800 to \uDFFF without
// its partner.
func halfPair(literal []byte) bool {
	unit := func(i int) (uint64, bool) {
		if i+6 > len(literal) || literal[i] != '\\' || literal[i+1] != 'u' {
			return 0, false
		}
		u, err := strconv.ParseUint(string(literal[i+2:i+6]), 16, 16)
		return u, err == nil && u>>11 == 0xD800>>11
	}
	const low = 0xDC00
	for i := 0; i < len(literal); i++ {
		if literal[i] != '\\' {
			continue
		}
		first, ok := unit(i)
		if !ok {
			i++ // an escape of another kind: skip the character it escapes
			continue
		}
		second, ok := unit(i + 6)
		if first >= low || !ok || second < low {
			return true
		}
		i += 11
	}
	return false
}

// checkNumber refuses numbers that no 64-bit floating point number comes near, and those whose exact value would take much
// memory.
func checkNumber(text string) error {
	if len(text) > maxNumberBytes {
		return fmt.Errorf("a number has more than %d characters", maxNumberBytes)
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if exponent != "" {
		e, err := strconv.Atoi(exponent)
		if err != nil || e > maxExponent || e < -maxExponent {
			return errors.New("a number is too large or too small for a 64-bit floating point number")
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || (f == 0 && strings.ContainsAny(mantissa, "123456789")) {
		return errors.New("a number is too large or too small for a 64-bit floating point number")
	}
	return nil
}
