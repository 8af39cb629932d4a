// Package job maps an MCPTool and the arguments of a call to a Job, and what the Job's main container left behind to an MCP
// result.
//
// It is about what goes into a Job and what comes out of one, and about keeping both safe: a caller's text never becomes
// script, flags or references to the pod's secrets, and a tool's output always becomes valid JSON of bounded size. The package
// is pure: it has no client and no clock, and knows nothing of the order of things in a task's life (that is package task).
package job
