package job

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A Problem is why a tool cannot be used, or why a call of it cannot become a Job.
//
//nolint:errname // a finding about somebody's tool or call; it fails nothing here
type Problem struct {
	// Reason is a ToolReason constant from Check, and a Reason constant of tasks from Build and Split.
	Reason string
	// Message says for people what is wrong and what to do about it.
	Message string
}

// Error is the message.
func (p *Problem) Error() string { return p.Message }

// maxListed is how many mistakes one Problem lists.
const maxListed = 10

// problem makes one Problem of a list of mistakes, and nil of an empty one.
func problem(reason string, mistakes field.ErrorList) error {
	if len(mistakes) == 0 {
		return nil
	}
	var texts []string
	for _, mistake := range mistakes[:min(maxListed, len(mistakes))] {
		texts = append(texts, mistake.Error())
	}
	if len(mistakes) > maxListed {
		texts = append(texts, "and more")
	}
	return &Problem{Reason: reason, Message: strings.Join(texts, "; ")}
}
