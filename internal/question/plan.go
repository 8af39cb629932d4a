package question

import (
	"errors"
	"fmt"
	"time"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/expression"
	"github.com/mcptasks/mcptasks/internal/schema"
)

// Outcome is what a plan says has to happen next.
type Outcome string

const (
	// Proceed says that every question that applies has been answered such that the call may go on.
	Proceed Outcome = "Proceed"
	// Ask says that there are questions to be answered first.
	Ask Outcome = "Ask"
	// Declined says that a question was declined, or its answer is one that proceedIf does not let pass. Nothing may be run.
	Declined Outcome = "Declined"
	// Cancelled says that a question was dismissed. Nothing may be run.
	Cancelled Outcome = "Cancelled"
)

// Plan is what follows from a call's arguments and the answers so far.
type Plan struct {
	Outcome Outcome
	// Questions are, with Ask, all questions that are outstanding now, in the tool's order. Answers to them may bring others.
	Questions []Question
	// Key is, with Declined and Cancelled, the question whose answer ended the call.
	Key string
	// Message says, with Declined and Cancelled, in one sentence what happened, for the caller.
	Message string
}

// Question is a question as it is put to a person.
type Question struct {
	// Key is the question's key, in inputRequests and in answers.
	Key string
	// Message is what the person reads: one paragraph of 1 to v1alpha1.MaxQuestionMessage characters without control characters.
	Message string
	// RequestedSchema is the form as JSON.
	RequestedSchema string
	// Deadline is how long the question may stay unanswered, from when it was asked.
	Deadline time.Duration
}

// Plan says what has to happen before a call with these arguments, a JSON object that fits the tool's inputSchema, may run.
//
// With ask Call it plans for what is asked in answer to the call itself, before there is a task: only questions with ask: Call
// count. With ask Task it plans for the task: all questions count, also those with ask: Call, which then have their answers
// already as a rule.
//
// answers are those that ValidateAnswer has let pass. Answers to questions that the tool does not have, or that do not apply to
// these arguments, are ignored, so that nobody can end or steer a call by answering what was not asked. An answer that ends the
// call does so at once, whatever else is outstanding. The same input always gives the same plan.
//
// The error is an *Error where an expression cannot be evaluated, and says so in words for the tool's author.
func (s *Set) Plan(ask v1alpha1.QuestionAsk, arguments []byte, answers map[string]v1alpha1.Answer) (Plan, error) {
	if len(s.questions) == 0 {
		return Plan{Outcome: Proceed}, nil
	}
	value, err := schema.Decode(arguments)
	if err != nil {
		return Plan{}, fmt.Errorf("arguments: %w", err)
	}
	if _, ok := value.(map[string]any); !ok {
		return Plan{}, errors.New("arguments: not a JSON object")
	}
	p := planner{given: answers, settled: map[string]bool{}, accepted: map[string]any{}, asked: map[string]Question{}}
	p.variables = map[string]any{varArguments: s.arguments.Value(value), varAnswers: expression.Object(p.accepted)}
	var unjudged []*compiled
	for _, i := range s.order {
		c := s.questions[i]
		if c.ask == v1alpha1.AskTask && ask == v1alpha1.AskCall || !all(c.askedAfter, p.settled) {
			continue
		}
		ended, err := p.take(c, s.answers[c.key])
		if err == nil && ended == nil && p.accepted[c.key] != nil {
			if all(c.judgedAfter, p.settled) {
				ended, err = p.judge(c)
			} else {
				unjudged = append(unjudged, c)
			}
		}
		if err != nil {
			return Plan{}, err
		}
		if ended != nil {
			return *ended, nil
		}
	}
	for _, c := range unjudged {
		if !all(c.judgedAfter, p.settled) {
			continue
		}
		ended, err := p.judge(c)
		if err != nil {
			return Plan{}, err
		}
		if ended != nil {
			return *ended, nil
		}
	}
	if len(p.asked) == 0 {
		return Plan{Outcome: Proceed}, nil
	}
	plan := Plan{Outcome: Ask}
	for _, c := range s.questions {
		if q, ok := p.asked[c.key]; ok {
			plan.Questions = append(plan.Questions, q)
		}
	}
	return plan, nil
}

// planner is the state of one evaluation of a plan.
type planner struct {
	given     map[string]v1alpha1.Answer
	variables map[string]any
	// settled are the questions that nothing more has to be asked about: accepted, or not applicable.
	settled map[string]bool
	// accepted are the contents of accepted answers, as CEL values; the value of the variable answers.
	accepted map[string]any
	asked    map[string]Question
}

// take looks at one question whose dependencies are settled. It returns a plan if its answer ends the call.
func (p *planner) take(c *compiled, answer *expression.Shape) (*Plan, error) {
	if c.when != nil {
		applies, err := c.when.Bool(p.variables)
		if err != nil {
			return nil, &Error{Key: c.key, Field: "when", Err: err}
		}
		if !applies {
			p.settled[c.key] = true
			return nil, nil
		}
	}
	given, ok := p.given[c.key]
	if !ok {
		return nil, p.put(c)
	}
	switch given.Action {
	case v1alpha1.AnswerAccept:
		value, err := schema.Decode(contentOf([]byte(given.Content)))
		if err != nil {
			return nil, &Error{Key: c.key, Err: fmt.Errorf("the recorded answer cannot be read: %w", err)}
		}
		p.accepted[c.key] = answer.Value(value)
		p.variables[varAnswers] = expression.Object(p.accepted)
		p.settled[c.key] = true
		return nil, nil
	case v1alpha1.AnswerDecline:
		return &Plan{Outcome: Declined, Key: c.key,
			Message: fmt.Sprintf("Not confirmed: the question %q was declined. Nothing was run.", c.key)}, nil
	case v1alpha1.AnswerCancel:
		return &Plan{Outcome: Cancelled, Key: c.key,
			Message: fmt.Sprintf("The question %q was dismissed without an answer. Nothing was run.", c.key)}, nil
	default:
		return nil, &Error{Key: c.key, Err: fmt.Errorf("the recorded answer has the unknown action %q", clip(string(given.Action), 40))}
	}
}

// put notes a question as outstanding.
func (p *planner) put(c *compiled) error {
	text, err := c.message.String(p.variables)
	if err != nil {
		return &Error{Key: c.key, Field: "message", Err: err}
	}
	message := cleanMessage(text)
	if message == "" {
		return &Error{Key: c.key, Field: "message", Err: errors.New("it is empty for these arguments")}
	}
	p.asked[c.key] = Question{Key: c.key, Message: message, RequestedSchema: c.form.doc, Deadline: c.deadline}
	return nil
}

// judge applies proceedIf to an accepted answer, when all that it reads is settled. It returns a plan if the call ends.
func (p *planner) judge(c *compiled) (*Plan, error) {
	if c.proceedIf == nil {
		return nil, nil
	}
	p.variables[varAnswer] = p.accepted[c.key]
	proceed, err := c.proceedIf.Bool(p.variables)
	if err != nil {
		return nil, &Error{Key: c.key, Field: "proceedIf", Err: err}
	}
	if proceed {
		return nil, nil
	}
	return &Plan{Outcome: Declined, Key: c.key,
		Message: fmt.Sprintf("Not confirmed: the answer to the question %q does not let the tool run. Nothing was run.", c.key)}, nil
}
