package question

import (
	"slices"
	"strings"
	"unicode"
)

// secretWords are what a field must not ask for, as the last word or the last two words of its name.
var secretWords = []string{
	"password", "passwords", "passwd", "pwd", "passphrase", "passcode", "pin", "otp",
	"secret", "secrets", "token", "credential", "credentials",
	"apikey", "accesskey", "secretkey", "privatekey", "encryptionkey", "sshkey",
	"creditcard", "cardnumber", "cvv", "cvc", "securitycode",
}

// trailers may follow the word that says what a field asks for.
var trailers = []string{"value", "text", "string", "confirmation", "confirm", "repeat", "again", "input", "1", "2"}

// asksForSecret reports whether a field of that name or title asks for something that a form must not ask for (MCP 2026-07-28,
// client/elicitation, form mode: no passwords, keys, tokens or payment credentials). In a name the last word says what the
// thing is: an apiToken is a token, a secretName is a name.
func asksForSecret(name string) bool {
	words := wordsOf(name)
	for len(words) > 1 && slices.Contains(trailers, words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	for n := 1; n <= 2 && n <= len(words); n++ {
		if slices.Contains(secretWords, strings.Join(words[len(words)-n:], "")) {
			return true
		}
	}
	return false
}

// wordsOf splits a name at punctuation, before capitals, and between letters and digits, in lower case.
func wordsOf(name string) []string {
	runes := []rune(name)
	var words []string
	start := 0
	cut := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(string(runes[start:end])))
		}
		start = end
	}
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			cut(i)
			start = i + 1
			continue
		}
		if i == start {
			continue
		}
		last := runes[i-1]
		nextLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		switch {
		case unicode.IsDigit(r) != unicode.IsDigit(last):
			cut(i)
		case unicode.IsUpper(r) && (!unicode.IsUpper(last) || nextLower):
			cut(i)
		}
	}
	cut(len(runes))
	return words
}
