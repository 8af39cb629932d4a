package wire

import (
	"bytes"
	"encoding/json"
)

// Member is one that is wanted of an object.
type Member struct {
	// Name is the member's.
	Name string
	// Value is where its value goes, which stays nil where the object has no such member.
	Value *json.RawMessage
}

// ReadMembers finds members of an object, in one pass and without copying: every request goes through here several times, and
// most are polls. The object has to be valid JSON, as all parts of a request are that Parse let through. Names are compared
// case-sensitively, after their escapes are undone; a wanted one that is there twice is an error. All others are skipped. Errors
// show nothing of what was sent, and continue a sentence whose subject is the object.
func ReadMembers(object []byte, wanted ...Member) error {
	if kindOf(object) != kindObject {
		return errType
	}
	for rest := trimSpace(object)[1:]; ; {
		rest = trimSpace(rest)
		if len(rest) > 0 && rest[0] == ',' {
			rest = trimSpace(rest[1:])
		}
		if len(rest) > 0 && rest[0] == '}' {
			return nil
		}
		end := stringEnd(rest)
		if end < 0 {
			return errSyntax
		}
		name := rest[:end]
		rest = trimSpace(rest[end:])
		if len(rest) == 0 || rest[0] != ':' {
			return errSyntax
		}
		rest = trimSpace(rest[1:])
		if end = valueEnd(rest); end <= 0 {
			return errSyntax
		}
		for _, m := range wanted {
			if !isString(name, m.Name) {
				continue
			}
			if *m.Value != nil {
				return errDuplicate
			}
			*m.Value = rest[:end:end]
		}
		rest = rest[end:]
	}
}

// isString reports whether a JSON string has this value.
func isString(quoted []byte, value string) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:len(quoted)-1]) == value
	}
	var decoded string
	return json.Unmarshal(quoted, &decoded) == nil && decoded == value
}

// stringEnd is where a JSON string at the beginning of data ends, behind its last quote; -1: there is none.
func stringEnd(data []byte) int {
	if len(data) == 0 || data[0] != '"' {
		return -1
	}
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// valueEnd is where a JSON value at the beginning of data ends; -1: it does not.
func valueEnd(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			n := stringEnd(data[i:])
			if n < 0 {
				return -1
			}
			i += n - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 {
				return i // of what the value is in
			}
			depth--
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue // within a number or a literal, or what separates members
		}
		if depth == 0 {
			return i + 1
		}
	}
	return -1
}

func trimSpace(data []byte) []byte {
	for len(data) > 0 {
		switch data[0] {
		case ' ', '\t', '\r', '\n':
			data = data[1:]
		default:
			return data
		}
	}
	return data
}
