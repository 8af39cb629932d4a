// Package guard is what an HTTP request passes before the protocol looks at it: nothing that goes wrong further in ends the
// process, every request is logged and counted, browsers of strangers are turned away, callers prove who they are,
// and none of them takes more than its share.
//
// The handlers wrap one another in this order: Recover, Observe, CheckOrigin, PostOnly, Authenticate, Limit. They read headers
// only, never a body, and know nothing of methods or tasks.
package guard
