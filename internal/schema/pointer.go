package schema

import (
	"net/url"
	"strings"
)

// A path leads from the root of a document to one of its values.
type path []string

// child is the path with one step more. It shares no memory with other children of p.
func (p path) child(step string) path {
	return append(p[:len(p):len(p)], step)
}

// String is the path as a JSON pointer (RFC 6901), cut where it would be long; "/" for the root.
func (p path) String() string {
	if len(p) == 0 {
		return "/"
	}
	return printable(p.pointer(), 200)
}

// pointer is the path as a JSON pointer; "" for the root.
func (p path) pointer() string {
	var b strings.Builder
	for _, step := range p {
		b.WriteByte('/')
		b.WriteString(escapeStep.Replace(step))
	}
	return b.String()
}

var escapeStep = strings.NewReplacer("~", "~0", "/", "~1")

// pointerOf is the JSON pointer in the fragment of a URL; "/" for the root.
func pointerOf(location string) string {
	_, fragment, _ := strings.Cut(location, "#")
	if pointer, err := url.PathUnescape(fragment); err == nil {
		fragment = pointer
	}
	if fragment == "" {
		return "/"
	}
	return fragment
}
