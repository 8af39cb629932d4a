// Package front is the protocol's side of an HTTP exchange: it parses the envelope once, makes every check in the one order
// that all clients and the conformance suite agree with, serves the methods of 2026-07-28 itself, and hands the handshake eras
// on.
//
// What methods do is package methods' concern; front turns requests into calls of it and outcomes into bytes. It does not
// import an MCP SDK: ids, arguments and results pass through here byte for byte, and polling is the hot path.
package front
