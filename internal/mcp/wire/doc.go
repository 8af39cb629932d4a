// Package wire is MCP 2026-07-28 over Streamable HTTP as bytes and headers: the JSON-RPC envelope, the _meta fields that every
// request carries, the headers that mirror the body, the error codes with their HTTP statuses, and the shapes of results.
//
// It knows the protocol and nothing else: no tasks store, no Kubernetes, no MCP SDK. Everything in it is a pure function of what
// came over the wire, so all of it can be read and tested beside the specification.
package wire

// The protocol revisions that an endpoint serves. Modern is stateless, with everything in the request; the legacy ones begin with
// an initialize handshake.
const (
	// Modern is the revision that this package implements.
	Modern = "2026-07-28"
	// Legacy20251125 is the newest revision with a handshake.
	Legacy20251125 = "2025-11-25"
	// Legacy20250618 is a revision with a handshake.
	Legacy20250618 = "2025-06-18"
	// Legacy20250326 is the first revision of Streamable HTTP. Its clients send no version header.
	Legacy20250326 = "2025-03-26"
	// Legacy20241105 is the oldest revision that the handshake can agree on.
	Legacy20241105 = "2024-11-05"
)

// SupportedVersions lists what server/discover offers, newest first.
func SupportedVersions() []string {
	return []string{Modern, Legacy20251125, Legacy20250618, Legacy20250326, Legacy20241105}
}

// IsLegacyVersion reports whether version is one that begins with an initialize handshake.
func IsLegacyVersion(version string) bool {
	switch version {
	case Legacy20251125, Legacy20250618, Legacy20250326, Legacy20241105:
		return true
	default:
		return false
	}
}

// TasksExtension is the id of the Tasks extension (SEP-2663), in client and server capabilities. Its settings are always exactly
// {}: official clients take anything else for a server without tasks.
const TasksExtension = "io.modelcontextprotocol/tasks"

// Method names. The Tasks extension defines the three of tasks/; there is no tasks/list and no tasks/result in this revision.
const (
	MethodInitialize   = "initialize"
	MethodPing         = "ping"
	MethodDiscover     = "server/discover"
	MethodListTools    = "tools/list"
	MethodCallTool     = "tools/call"
	MethodGetTask      = "tasks/get"
	MethodUpdateTask   = "tasks/update"
	MethodCancelTask   = "tasks/cancel"
	MethodGetPrompt    = "prompts/get"
	MethodReadResource = "resources/read"

	MethodListResources         = "resources/list"
	MethodListResourceTemplates = "resources/templates/list"

	MethodListen      = "subscriptions/listen"
	NotifyProgress    = "notifications/progress"
	notificationSpace = "notifications/"
)
