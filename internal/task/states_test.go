package task

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

//go:generate go test -run TestStatesPage . -update

var update = flag.Bool("update", false, "write docs/reference/states.md anew")

const statesPage = "../../docs/reference/states.md"

// In the page's head, ' stands for the backquote.
const statesHead = `# From what is seen to the state of a task

<!-- Generated from the rules in internal/task by "go generate ./internal/task"; a test compares both. -->

The controller looks at an MCPTask, its Job and its pods, and asks the rules of this table from the top; the first whose
condition holds decides. 'kubectl get mcptasks' shows the state and the reason; clients see the state as 'status' and the message
as 'statusMessage'.

- **working** goes on; its message says what it waits for.
- **completed** has a result. A tool that ran and went wrong is completed, with 'isError: true' in its result.
- **failed** means that the call could not be carried out: 'error' has the code -32603 and the reason in 'data.reason'.
- **cancelled** means that somebody wanted it stopped, and that it is.

"Main container" is the one that 'result.container' names, by default the first one of the template. Other containers of the pod
do not count; where they go on after the main container has ended, they are ended 30 seconds later by 'activeDeadlineSeconds' of
the Job. What the cache of the controller does not have is read from the API server before it is believed to be missing.

A Job may be the work of several pods: an Indexed Job, one with more than one completion, or a work queue with more than one
worker. It ends when Kubernetes says that the Job is Complete or Failed; any other ends as soon as its main container has. The
column "pods" says where a rule is about the one kind only.

| rule | pods | what is seen | state | reason | remarks |
|---|---|---|---|---|---|
`

// TestStatesPage holds the table in the docs and the rules in the code together.
func TestStatesPage(t *testing.T) {
	var want bytes.Buffer
	want.WriteString(strings.ReplaceAll(statesHead, "'", "`"))
	names := map[string]bool{}
	for _, r := range Rules {
		if names[r.Name] || r.Name == "" || r.Seen == "" {
			t.Errorf("rule %q: the name is taken, or it does not say what it sees", r.Name)
		}
		names[r.Name] = true
		state := string(r.State)
		if state == "" {
			state = "unchanged"
		}
		fmt.Fprintf(&want, "| %s | %s | %s | %s | %s | %s |\n", r.Name, r.Pods, r.Seen, state, strings.Join(r.Reasons, ", "), r.Note)
	}
	if *update {
		if err := os.WriteFile(statesPage, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(statesPage)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s does not fit the rules; run: go generate ./internal/task", statesPage)
	}
}
