package task

import (
	"strings"
	"testing"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// TestWithoutOutput leaves out what a tool printed, and only that: how the tool ended stays.
func TestWithoutOutput(t *testing.T) {
	for _, c := range []struct {
		name       string
		verdict    Verdict
		wantReason string
		wantResult string
	}{
		{
			"a success that cannot be shown is none",
			Verdict{State: v1alpha1.StateCompleted, Reason: v1alpha1.ReasonSucceeded, Message: "Fine.", Result: "OUTPUT"},
			v1alpha1.ReasonInvalidOutput, "exited with code 0",
		},
		{
			"an error keeps its reason",
			Verdict{State: v1alpha1.StateCompleted, Reason: v1alpha1.ReasonToolError, Message: "It exited with code 3.", Result: "OUTPUT"},
			v1alpha1.ReasonToolError, "exited with code 3",
		},
		{
			"what has no result stays as it is",
			Verdict{State: v1alpha1.StateFailed, Reason: v1alpha1.ReasonDisrupted, Message: "Evicted."},
			v1alpha1.ReasonDisrupted, "",
		},
	} {
		got := c.verdict.WithoutOutput()
		if got.State != c.verdict.State || got.Reason != c.wantReason || !strings.Contains(got.Result, c.wantResult) {
			t.Errorf("%s: %s, %s, %q", c.name, got.State, got.Reason, got.Result)
		}
		if strings.Contains(got.Result, "OUTPUT") || (got.Result != "") != (c.wantResult != "") {
			t.Errorf("%s: the result is %q", c.name, got.Result)
		}
		if c.wantResult != "" && !strings.Contains(got.Result, `"isError":true`) {
			t.Errorf("%s: the result is no error: %q", c.name, got.Result)
		}
	}
}
