// Package auth says who calls the endpoint and for which tenant: Kubernetes tokens by TokenReview, and nobody in particular on a
// laptop.
//
// A caller's tenant follows from its identity, never from what it asks for: it is the namespace of its service account, which
// has to carry the label mcptasks.dev/owner. The package knows HTTP headers and the Kubernetes API, but nothing of MCP.
package auth
