package wire

import (
	"bytes"
	"encoding/json"
)

// member is one that is wanted of an object: its name, and where its value goes, which stays nil where the object has none.
type member struct {
	name  string
	value *json.RawMessage
}

// readMembers finds members of an object, in one pass and without copying: every request goes through here several times, and
// most are polls. The object has to be valid JSON, as all parts of a request are that Parse let through. Names are compared
// case-sensitively, after their escapes are undone; a wanted one that is there twice is errDuplicate. All others are skipped.
func readMembers(object []byte, wanted ...member) error {
	rest := trimSpace(object)
	if len(rest) == 0 || rest[0] != '{' {
		return errType
	}
	for rest = rest[1:]; ; {
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
			if !isString(name, m.name) {
				continue
			}
			if *m.value != nil {
				return errDuplicate
			}
			*m.value = rest[:end:end]
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
