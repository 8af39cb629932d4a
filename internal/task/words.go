package task

import (
	"strings"
	"unicode/utf8"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

const (
	// maxMessage is what status.message and status.error.message may hold.
	maxMessage = 1024
	// maxDetail is how much of a message of the cluster is passed on.
	maxDetail = 400
)

// working is the verdict that the task goes on.
func (f *facts) working(reason, message string) *Verdict {
	return &Verdict{State: v1alpha1.StateWorking, Reason: reason, Message: message}
}

// unchanged is the verdict that nothing can be said before next is known.
func (f *facts) unchanged(next Next) *Verdict {
	s := f.Task.Status
	v := &Verdict{State: s.State, Reason: s.Reason, Message: s.Message, Next: next, Passing: true}
	if v.State == "" {
		v.State, v.Reason, v.Message = v1alpha1.StateWorking, v1alpha1.ReasonQueued, messageAccepted
	}
	return v
}

// cancelled ends the task as somebody asked for.
func (f *facts) cancelled(reason, message string) *Verdict {
	return &Verdict{State: v1alpha1.StateCancelled, Reason: reason, Message: message}
}

// failed ends the task with a JSON-RPC error. What may still start or run of its Job is stopped first.
func (f *facts) failed(reason, message string) *Verdict {
	message = clip(message, maxMessage)
	v := &Verdict{
		State: v1alpha1.StateFailed, Reason: reason, Message: message,
		// The reasons are identifiers, which need no escaping in JSON.
		Error: &v1alpha1.TaskError{Code: codeInternal, Message: message, Data: `{"reason":"` + reason + `"}`},
	}
	if f.unfinished() && f.Job.DeletionTimestamp == nil && !f.Stopped {
		v.Next = NextStop
	}
	return v
}

// outcomeUnknown ends a task of which nobody can say what became of it.
func (f *facts) outcomeUnknown() *Verdict {
	return f.failed(v1alpha1.ReasonOutcomeUnknown,
		"What became of the call is unknown: its Job or pod was gone before its outcome could be read. The work may have had effects.")
}

// withReason adds why somebody wanted it, and a full stop.
func withReason(text, reason string) string {
	if reason == "" {
		return text + "."
	}
	return text + ": " + reason
}

// sentence joins what happened and why.
func sentence(what, why string) string {
	if why == "" {
		return what + "."
	}
	return what + ": " + strings.TrimRight(why, ". ") + "."
}

// tidy makes a message of the cluster fit for agents: one line, not too long, no credentials in URLs, no addresses.
func tidy(message string) string {
	message = userInfo.ReplaceAllString(message, "://")
	message = addresses.ReplaceAllString(message, "")
	return clip(strings.TrimSpace(spaces.ReplaceAllString(message, " ")), maxDetail)
}

// endOf is a sentence with the end of a container's output on one line; "" where there is none.
func endOf(output job.Output) string {
	text := output.Data
	if job.NoLog(text) {
		return ""
	}
	end := spaces.ReplaceAllString(strings.ToValidUTF8(string(text[max(0, len(text)-maxDetail):]), "�"), " ")
	if end = strings.TrimSpace(end); end == "" {
		return ""
	}
	if len(text) > maxDetail {
		end = "…" + end
	}
	return " Its output ended: " + end
}

// clip shortens text to at most limit bytes of valid UTF-8.
func clip(text string, limit int) string {
	text = strings.ToValidUTF8(text, "�")
	if len(text) <= limit {
		return text
	}
	cut := limit - len("…")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
