package endpoint

import "github.com/mcptasks/mcptasks/internal/rights"

// Rights are what the endpoint has to be allowed in all namespaces, as the markers of package methods say.
func Rights() []rights.Right {
	return rights.List(
		rights.Of("mcptasks.dev", "mcptools", "get", "list", "watch"),
		rights.Of("mcptasks.dev", "mcptasks", "get", "list", "watch", "create", "patch"),
		rights.Of("", "namespaces", "get", "list", "watch"),
		rights.Of("", "secrets", "create"),
		rights.Of("authentication.k8s.io", "tokenreviews", "create"),
	)
}
