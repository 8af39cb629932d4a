// Package task is what an MCPTask means: what a client sees of it (Wire), how long it lives (TTL, ExpiresAt), what it is called
// (NewID), and which state follows from what the cluster shows (Decide, Rules).
//
// Everything here is pure: no client, no clock, no randomness but what is handed in. The package must not know how the objects
// that it looks at were fetched, nor what is done with what it says.
package task
