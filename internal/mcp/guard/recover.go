package guard

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/go-logr/logr"

	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

// Recover turns a panic into an answer and a log entry with the stack. The client learns nothing of the cause.
func Recover(logger logr.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response := observed(w)
		defer func() {
			cause := recover()
			switch cause {
			case nil:
				return
			case http.ErrAbortHandler: // how a handler breaks its connection off
				panic(cause)
			}
			logger.Error(fmt.Errorf("panic: %v", cause), "A request made the endpoint panic", "stack", string(debug.Stack()))
			if response.status == 0 {
				wire.WriteError(response, http.StatusInternalServerError, nil, wire.Internal("", "Internal error"))
			}
		}()
		next.ServeHTTP(response, r)
	})
}
