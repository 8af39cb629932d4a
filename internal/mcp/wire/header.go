package wire

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"
)

// Headers that mirror the body (streamable-http, "Standard Request Headers").
const (
	HeaderVersion     = "MCP-Protocol-Version"
	HeaderMethod      = "Mcp-Method"
	HeaderName        = "Mcp-Name"
	headerParamPrefix = "Mcp-Param-"
)

const (
	base64Prefix = "=?base64?"
	base64Suffix = "?="
)

// singleHeader returns a header's value. The same value twice counts once; differing values are refused, since somebody on the
// way may have routed by the other one.
func singleHeader(header http.Header, name string) (value string, present bool, err *Error) {
	values := header.Values(name)
	if len(values) == 0 {
		return "", false, nil
	}
	for _, other := range values[1:] {
		if other != values[0] {
			return "", true, HeaderMismatch("the header %s is there twice, with different values", name)
		}
	}
	return values[0], true, nil
}

// CheckMirror compares a header with the value of the body that it mirrors, case-sensitively and without decoding. field names
// that value in the error.
func CheckMirror(header http.Header, name, field, want string) *Error {
	got, present, err := singleHeader(header, name)
	switch {
	case err != nil:
		return err
	case !present:
		return HeaderMismatch("the required header %s is missing; it repeats %s", name, field)
	case got != want:
		return HeaderMismatch("%s header value %s does not match %s, which is %s", name, quote(got), field, quote(want))
	default:
		return nil
	}
}

// CheckName compares Mcp-Name, after decoding, with the value of the body that it mirrors. With lenient a missing header is let
// through, a differing one never: several clients leave it out on tasks/*.
func CheckName(header http.Header, field, want string, lenient bool) *Error {
	raw, present, err := singleHeader(header, HeaderName)
	if err != nil {
		return err
	}
	if !present {
		if lenient {
			return nil
		}
		return HeaderMismatch("the required header %s is missing; it repeats %s", HeaderName, field)
	}
	got, ok := decodeHeaderValue(raw)
	if !ok {
		return HeaderMismatch("the header %s is malformed", HeaderName)
	}
	if got != want {
		return HeaderMismatch("%s header value %s does not match %s, which is %s", HeaderName, quote(got), field, quote(want))
	}
	return nil
}

// decodeHeaderValue undoes SEP-2243's encoding of a header value. Without both markers, which are exactly lower-case, the value
// is literal. ok is false for bad base64, for bytes that are not UTF-8, and for a literal with characters that need encoding.
func decodeHeaderValue(raw string) (value string, ok bool) {
	if !isPrintableASCII(raw) { // among others line ends, which the base64 decoder would skip
		return "", false
	}
	encoded, hasPrefix := strings.CutPrefix(raw, base64Prefix)
	encoded, hasSuffix := strings.CutSuffix(encoded, base64Suffix)
	if !hasPrefix || !hasSuffix {
		return raw, true
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || !utf8.Valid(decoded) {
		return "", false
	}
	return string(decoded), true
}

func isPrintableASCII(s string) bool {
	for i := range len(s) {
		if (s[i] < ' ' && s[i] != '\t') || s[i] > '~' {
			return false
		}
	}
	return true
}

// quote shows a value in an error message, cut so that nobody can make us send their text back at length.
func quote(value string) string {
	const most = 64
	if utf8.RuneCountInString(value) > most {
		value = string([]rune(value)[:most]) + "…"
	}
	return "'" + value + "'"
}
