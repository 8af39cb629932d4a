package guard

import (
	"errors"
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

// Authenticate lets only callers through that are known and have a tenant; auth.CallerFrom finds them in the context.
func Authenticate(logger logr.Logger, authenticator auth.Authenticator, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := authenticator.Authenticate(r)
		known, limited := (*auth.Error)(nil), (*auth.LimitedError)(nil)
		switch {
		case errors.As(err, &known):
			if known.Challenge != "" {
				w.Header().Set("WWW-Authenticate", known.Challenge)
			}
			refuse(w, r, known.Status, known.Message)
			return
		case errors.As(err, &limited):
			turnAway(w, r, wire.Limited("RateLimited", limited.RetryAfter, "%s", limited.Error()))
			return
		case err != nil:
			if r.Context().Err() == nil {
				logger.Error(err, "A caller could not be authenticated")
			}
			turnAway(w, r, wire.Unavailable("", time.Second, "It cannot be checked who you are just now; try again in a moment"))
			return
		}
		RecordOf(r.Context()).Caller = caller
		next.ServeHTTP(w, r.WithContext(auth.WithCaller(r.Context(), caller)))
	})
}
