package question

import (
	"strings"
	"unicode"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// cleanMessage makes what an expression returned fit to be shown to a person who decides by it. Arguments may be part of it,
// and so may whatever an attacker puts there: line ends and other control characters become a space or vanish, and so do the
// marks that make text run backwards or hide it.
func cleanMessage(text string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.IsControl(r) || invisible(r):
		default:
			b.WriteRune(r)
		}
	}
	return clip(strings.Join(strings.Fields(b.String()), " "), v1alpha1.MaxQuestionMessage)
}

// invisible reports whether r changes how the text around it is shown without being shown itself. The joiners that emoji and some
// scripts need are left.
func invisible(r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c'
	return unicode.Is(unicode.Cf, r) && r != joiner && r != nonJoiner
}

// clip shortens text that somebody else chose to limit characters.
func clip(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-1]) + "…"
}
