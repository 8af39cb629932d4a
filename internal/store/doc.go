// Package store keeps tasks for the endpoint: it creates, reads, answers, cancels and follows MCPTasks, each of them only for the
// caller that owns it.
//
// Reads come from an informer that leaves large results out; they are never older than what this process has itself written or
// shown, a miss is read live before anybody is told that a task does not exist, and while the watch is broken everything that may
// still change is read live. Writes touch spec only.
//
// The package knows Kubernetes and the API types, but neither MCP nor HTTP nor how callers prove who they are.
package store
