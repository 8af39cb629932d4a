package job

import (
	"strconv"
	"strings"
)

// A task's log as an MCP resource. A Job with several pods will have one log for each index, under this URI.
const (
	// LogURITemplate is the URI template (RFC 6570) of the logs of all tasks. offset is the byte to begin with.
	LogURITemplate = logURIPrefix + "{taskId}" + logURISuffix + "{?offset}"
	// LogMIMEType is what a log is taken for.
	LogMIMEType = "text/plain"

	logURIPrefix = "mcptasks:///"
	logURISuffix = "/log"
	logOffset    = "?offset="

	// maxLogOffset is the largest integer that every reader of JSON can do sums with. No log is that long.
	maxLogOffset = 1<<53 - 1
)

// LogURI is the resource of the log of a task, from its beginning or from an offset in bytes.
func LogURI(task string, offset int64) string {
	uri := logURIPrefix + task + logURISuffix
	if offset > 0 {
		uri += logOffset + strconv.FormatInt(offset, 10)
	}
	return uri
}

// ParseLogURI takes a URI of LogURI apart; false for every other one. The task may be anything without a slash.
func ParseLogURI(uri string) (task string, offset int64, ok bool) {
	rest, ok := strings.CutPrefix(uri, logURIPrefix)
	if !ok {
		return "", 0, false
	}
	rest, digits, paged := strings.Cut(rest, logOffset)
	if paged {
		var err error
		if offset, err = strconv.ParseInt(digits, 10, 64); err != nil || offset < 0 || offset > maxLogOffset || digits[0] == '+' {
			return "", 0, false
		}
	}
	task, ok = strings.CutSuffix(rest, logURISuffix)
	return task, offset, ok && task != "" && !strings.Contains(task, "/")
}
