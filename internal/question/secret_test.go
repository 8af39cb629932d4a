package question

import (
	"slices"
	"testing"
)

// B28, S-101: forms do not ask for secrets.
func TestAsksForSecret_B28_S101(t *testing.T) {
	for _, name := range []string{
		"password", "Password", "dbPassword", "db_password", "DB-PASSWORD", "newPassword2", "password_confirmation", "passwordRepeat",
		"token", "apiToken", "GITHUB_TOKEN", "secret", "clientSecret", "apiKey", "api_key", "APIKey", "apikey", "x-api-key",
		"privateKey", "sshKey", "accessKey", "secret_key", "credentials", "pin", "cardNumber", "credit card", "cvv", "passphrase",
		"Your password", "token value",
	} {
		if !asksForSecret(name) {
			t.Errorf("%q is not taken for a secret", name)
		}
	}
	for _, name := range []string{
		"", "_", "name", "secretName", "secret_ref", "tokenCount", "maxTokens", "passwordPolicy", "keyword", "key", "primaryKey",
		"monkey", "pinned", "spin", "tokenizer", "Secret to rotate", "rotateSecretAfterDays", "value", "confirm",
	} {
		if asksForSecret(name) {
			t.Errorf("%q is taken for a secret", name)
		}
	}
}

func TestWordsOf(t *testing.T) {
	for name, want := range map[string][]string{
		"":              nil,
		"apiKey":        {"api", "key"},
		"APIKey":        {"api", "key"},
		"DB_PASSWORD":   {"db", "password"},
		"password2":     {"password", "2"},
		"a.b-c d":       {"a", "b", "c", "d"},
		"sha256Digest":  {"sha", "256", "digest"},
		"größeInMeter":  {"größe", "in", "meter"},
		"__x__":         {"x"},
		"ÄnderungsCode": {"änderungs", "code"},
	} {
		if got := wordsOf(name); !slices.Equal(got, want) {
			t.Errorf("wordsOf(%q) = %q, want %q", name, got, want)
		}
	}
}
