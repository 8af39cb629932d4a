// Package draft makes the first draft of an MCPTool of a Job's manifest. It is pure: it reads text and writes text.
//
// A draft does for every caller what the Job did: what a caller may choose is proposed with the Job's own value as the only
// choice, for the author to widen or to drop. Nothing secret is ever proposed. Package job says whether the draft can be used.
package draft
