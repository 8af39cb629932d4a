// Package methods is what the MCP methods of the endpoint do, whatever protocol revision a request came in: list and call
// tools, read, answer and cancel tasks.
//
// It says yes or no in terms of the protocol (results, and *wire.Error for refusals), and knows tools and tasks; it knows neither
// HTTP exchanges nor the MCP SDK. Errors that are no *wire.Error are trouble of ours: callers log them and tell the client
// nothing of them.
//
// The endpoint needs these rights:
//
// +kubebuilder:rbac:groups=mcptasks.dev,resources=mcptools,verbs=get;list;watch
// +kubebuilder:rbac:groups=mcptasks.dev,resources=mcptasks,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
package methods
