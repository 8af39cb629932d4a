package auth

import (
	"net/http"
	"strings"
)

// bearerToken returns the token of a request, or "" where it has none. Tokens in the query string are not looked at: they end
// up in logs.
func bearerToken(header http.Header) (string, *Error) {
	values := header.Values("Authorization")
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 {
		return "", malformed("The request has more than one Authorization header")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", nil
	}
	token = strings.TrimSpace(token)
	if token == "" || strings.ContainsAny(token, " \t,") {
		return "", malformed("The Authorization header has no single token after Bearer")
	}
	return token, nil
}
