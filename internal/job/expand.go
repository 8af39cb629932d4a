package job

import (
	"slices"
	"strings"
)

// A part is a piece of text that Kubernetes expands before a container starts: literal text, or the name of a variable.
type part struct {
	literal  string
	variable string
}

// split reads text as the kubelet does: $(NAME) stands for a variable, $$ for one $, and every other $ for itself.
func split(text string) []part {
	var parts []part
	literal := func(s string) {
		if n := len(parts); n > 0 && parts[n-1].variable == "" {
			parts[n-1].literal += s
		} else {
			parts = append(parts, part{literal: s})
		}
	}
	for text != "" {
		before, after, found := strings.Cut(text, "$")
		if before != "" {
			literal(before)
		}
		if !found {
			break
		}
		text = after
		switch name, rest, closed := strings.Cut(text, ")"); {
		case strings.HasPrefix(text, "$"):
			literal("$")
			text = text[1:]
		case strings.HasPrefix(text, "(") && closed && name != "(":
			parts = append(parts, part{variable: name[1:]})
			text = rest
		default:
			literal("$")
		}
	}
	return parts
}

// A makeup says which variables of MCP_ARG_ a text is made of once it is expanded.
type makeup struct {
	// uses are all of them, in order of their first appearance.
	uses []string
	// leads are those that the text may begin with: what comes before them is empty or may be.
	leads []string
	// solid reports whether the text has something besides.
	solid bool
}

// compose is the makeup of a text, given that of the variables it refers to. Unknown variables stay in the text as they are
// written, and those of other origin are taken for text.
func compose(text string, variables map[string]makeup) makeup {
	var m makeup
	for _, p := range split(text) {
		inner := makeup{solid: true}
		if p.variable != "" {
			if known, ok := variables[p.variable]; ok {
				inner = known
			}
		}
		m.uses = union(m.uses, inner.uses)
		if !m.solid {
			m.leads = union(m.leads, inner.leads)
		}
		m.solid = m.solid || inner.solid
	}
	return m
}

// union is a and those entries of b that it lacks.
func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a[:len(a):len(a)], s)
		}
	}
	return a
}
