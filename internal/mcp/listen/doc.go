// Package listen serves subscriptions/listen: a stream on which a client hears of its tasks and of its list of tools,
// instead of asking for them again and again (MCP 2026-07-28, basic/patterns/subscriptions; SEP-2663, "Task Status
// Notifications").
//
// A stream keeps no queue of news. It keeps the set of subjects that may have changed, and when its client is ready for more
// it reads the present state of one of them. So a burst of changes costs one notification, a client that reads slowly costs
// no memory, what a client hears never goes back in time, and whatever was missed (a watch that broke, an API server that
// began anew) is made up for by reading again. The reading is that of tasks/get: the owner is checked each time, and both
// say the same, byte for byte.
//
// The package knows HTTP and the protocol's messages. Where tasks and tools come from, and how changes of them become known,
// it leaves to the two interfaces Tasks and Tools; it knows neither Kubernetes clients nor an MCP SDK.
package listen
