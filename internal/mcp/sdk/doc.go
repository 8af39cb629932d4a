// Package sdk serves the protocol revisions that begin with an initialize handshake (2024-11-05 to 2025-11-25), by means of the
// official Go SDK in stateless mode. Their clients know nothing of the Tasks extension, so every call of theirs is waited for.
//
// It is the only package that imports the SDK, and can be replaced or dropped without touching another one: the SDK brings the
// handshake, the framing of replies and progress; what methods do comes from package methods, as everywhere.
package sdk
