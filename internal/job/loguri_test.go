package job

import "testing"

func TestLogURI(t *testing.T) {
	for _, offset := range []int64{0, 1, 1 << 40} {
		uri := LogURI("t-abc", offset)
		if task, got, ok := ParseLogURI(uri); task != "t-abc" || got != offset || !ok {
			t.Errorf("%s: task %q, offset %d, %t", uri, task, got, ok)
		}
	}
	for _, uri := range []string{
		"", "mcptasks:///", "mcptasks:////log", "mcptasks:///t-abc", "mcptasks:///t-abc/", "mcptasks:///t-abc/log/",
		"mcptasks:///t-abc/log/0", "mcptasks:///a/b/log", "mcptasks://t-abc/log", "mcptasks:///t-abc/log?offset=",
		"mcptasks:///t-abc/log?offset=-1", "mcptasks:///t-abc/log?offset=+1", "mcptasks:///t-abc/log?offset=1e3",
		"mcptasks:///t-abc/log?offset=9223372036854775808", "mcptasks:///t-abc/log?offset=9223372036854775807",
		"mcptasks:///t-abc/log?limit=1", "mcptasks:///t-abc/log#end",
		"file:///t-abc/log", "MCPTASKS:///t-abc/log",
	} {
		if task, offset, ok := ParseLogURI(uri); ok {
			t.Errorf("%q: task %q, offset %d", uri, task, offset)
		}
	}
}
