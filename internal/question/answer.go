package question

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// ValidateAnswer reports whether a question whose form is requestedSchema may be answered like this. content is raw JSON, or
// empty.
//
// Only an answer with the action accept has a content that matters: it must be a JSON object that fits the form, and no content
// at all counts as an object without properties. Properties that the form does not have are tolerated. With decline and cancel,
// content is ignored, as some clients send null or the half-filled form. Content of more than v1alpha1.MaxAnswerBytes is
// refused in any case.
//
// The error is meant for the caller, with JSON-RPC code -32602; the question stays open.
func ValidateAnswer(requestedSchema string, action v1alpha1.AnswerAction, content []byte) error {
	if len(content) > v1alpha1.MaxAnswerBytes {
		return fmt.Errorf("the content has %d bytes; at most %d are allowed", len(content), v1alpha1.MaxAnswerBytes)
	}
	switch action {
	case v1alpha1.AnswerDecline, v1alpha1.AnswerCancel:
		return nil
	case v1alpha1.AnswerAccept:
	case "":
		return errors.New(`"action" is missing; it must be accept, decline or cancel`)
	default:
		return fmt.Errorf("the action %q is unknown; it must be accept, decline or cancel", clip(string(action), 40))
	}
	f, err := newForm([]byte(requestedSchema))
	if err != nil {
		return fmt.Errorf("the question's own schema cannot be used: %w", err)
	}
	if err := f.validate(contentOf(content)); err != nil {
		return fmt.Errorf("the content does not fit the question's schema: %w", err)
	}
	return nil
}

// ParseAnswer reads an answer as it comes over the wire, an MCP ElicitResult, and validates it as ValidateAnswer does. Members
// other than action and content are ignored. The time of the answer is left to the caller.
func ParseAnswer(requestedSchema string, elicitResult []byte) (v1alpha1.Answer, error) {
	var result struct {
		Action  json.RawMessage `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	var action v1alpha1.AnswerAction
	if json.Unmarshal(elicitResult, &result) != nil || result.Action != nil && json.Unmarshal(result.Action, &action) != nil {
		return v1alpha1.Answer{}, errors.New(
			`it must be {"action": "accept", "content": {...}}, {"action": "decline"} or {"action": "cancel"}`)
	}
	if err := ValidateAnswer(requestedSchema, action, result.Content); err != nil {
		return v1alpha1.Answer{}, err
	}
	if action != v1alpha1.AnswerAccept {
		return v1alpha1.Answer{Action: action}, nil
	}
	return v1alpha1.Answer{Action: action, Content: string(contentOf(result.Content))}, nil
}

// CheckSize reports whether the answers are too long together to be on the record of one task.
func CheckSize(answers map[string]v1alpha1.Answer) error {
	size := 0
	for _, answer := range answers {
		stored, err := json.Marshal(answer.Content)
		if err != nil {
			return fmt.Errorf("measure an answer: %w", err)
		}
		size += len(stored)
	}
	if size > v1alpha1.MaxAnswersBytes {
		return fmt.Errorf("all answers of a task together have %d bytes as they are stored; at most %d are allowed",
			size, v1alpha1.MaxAnswersBytes)
	}
	return nil
}

// contentOf is the content of an accepted answer; none is an object without properties.
func contentOf(content []byte) []byte {
	if trimmed := bytes.TrimSpace(content); len(trimmed) == 0 || string(trimmed) == "null" {
		return []byte("{}")
	}
	return content
}

// renderedAnswer is an answer as the container reads it, and as MCP's ElicitResult has it.
type renderedAnswer struct {
	Action  v1alpha1.AnswerAction `json:"action"`
	Content json.RawMessage       `json:"content,omitempty"`
}

// RenderAnswers is the JSON object {"<key>": {"action": …, "content": …}} that tells the container what was answered. It is the
// same for the same answers: keys are sorted, white space is removed, and otherwise each content, which only accepted answers
// have, is as it was sent, numbers included. Without answers it is {}.
func RenderAnswers(answers map[string]v1alpha1.Answer) ([]byte, error) {
	rendered := make(map[string]renderedAnswer, len(answers))
	for key, answer := range answers {
		r := renderedAnswer{Action: answer.Action}
		if answer.Action == v1alpha1.AnswerAccept {
			r.Content = contentOf([]byte(answer.Content))
		}
		rendered[key] = r
	}
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(rendered); err != nil {
		return nil, fmt.Errorf("render the answers: %w", err)
	}
	return bytes.TrimSuffix(doc.Bytes(), []byte("\n")), nil
}

// AnswersOf are all answers that a task has: those that came with its call, and those given since. No key is in both, as each
// question is asked in one way only.
func AnswersOf(t *v1alpha1.MCPTask) map[string]v1alpha1.Answer {
	answers := make(map[string]v1alpha1.Answer, len(t.Spec.CallAnswers)+len(t.Spec.Answers))
	maps.Copy(answers, t.Spec.Answers)
	maps.Copy(answers, t.Spec.CallAnswers)
	return answers
}

// EnvPrefix begins the names of the environment variables that carry answers.
const EnvPrefix = "MCP_ANSWER_"

// EnvName is the environment variable that a property of a question's accepted answer has in the container:
// MCP_ANSWER_<KEY>_<PROPERTY> in capitals, with "_" for what no such name can have. Compile refuses tools where two properties
// would share one.
func EnvName(key, property string) string {
	name := strings.ToUpper(key + "_" + property)
	return EnvPrefix + strings.Map(func(r rune) rune {
		if r == '.' || r == '-' {
			return '_'
		}
		return r
	}, name)
}
