package methods

import (
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/mcp/catalog"
	"github.com/mcptasks/mcptasks/internal/mcp/roundtrip"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
	"github.com/mcptasks/mcptasks/internal/question"
	"github.com/mcptasks/mcptasks/internal/task"
)

// consultation is what a tool's questions make of a call.
type consultation struct {
	// answers are those that came with the call to questions of it, validated.
	answers map[string]v1alpha1.Answer
	// deadline is the longest that the call's task may wait for further answers.
	deadline time.Duration
	// outcome is the answer to the call where it does not become a task, or not yet.
	outcome *Outcome
}

// consult looks at the questions that a call has to have answered. It keeps nothing: a call that is answered with questions is
// repeated with the answers, to whichever replica, and with the answers of earlier rounds in its state.
//
// An answer to what is not asked, given these arguments and the other answers, is ignored, and one that is missing is asked for
// again (MCP 2026-07-28, multi round-trip requests, "Error Handling"). Nobody is asked who cannot be: for a question in answer to
// the call the request has to declare forms, for one of the task the Tasks extension as well.
//
// What is asked follows from what may be seen of the arguments, public; whose state it is, from all of them.
func (s *Service) consult(
	caller auth.Caller, tool *catalog.Tool, call Call, arguments, public json.RawMessage,
) (consultation, error) {
	c := consultation{answers: map[string]v1alpha1.Answer{}}
	belongs := roundtrip.Call{
		Namespace: caller.Namespace, Owner: caller.Owner(),
		Tool: tool.Object.UID, Generation: tool.Object.Generation, Arguments: arguments,
	}
	if call.RequestState != "" {
		earlier, err := s.states.Open(belongs, call.RequestState)
		switch {
		case errors.Is(err, roundtrip.ErrState):
			return c, wire.InvalidParams("params.requestState was not given out for this call, or has expired; call again without it")
		case err != nil:
			return c, err
		}
		maps.Copy(c.answers, earlier)
	}
	for {
		plan, err := tool.Blueprint.Questions().Plan(v1alpha1.AskTask, public, c.answers)
		if err != nil {
			return c, wire.Internal(v1alpha1.ToolReasonInvalidQuestion,
				"The questions of the tool cannot be asked for this call; nothing was started. Tell its author: %s", err)
		}
		switch plan.Outcome {
		case question.Proceed:
			return c, nil
		case question.Declined, question.Cancelled:
			c.outcome = &Outcome{Result: wire.TextResult(plan.Message, true)}
			return c, nil
		}
		more, err := c.take(plan.Questions, tool.Blueprint.Questions(), call.InputResponses)
		if err != nil {
			return c, err
		}
		if more {
			continue // answers may settle the call, or bring further questions
		}
		if err := c.ask(plan.Questions, tool.Blueprint.Questions(), call); err != nil || c.outcome == nil {
			return c, err
		}
		// A state without answers only ties the client to this very call. It is not worth tying it to this replica, too.
		if s.states.Shared() || len(c.answers) > 0 {
			c.outcome.RequestState, err = s.states.Seal(belongs, c.answers)
		}
		return c, err
	}
}

// asks reports whether a call with these arguments would have to be asked something.
func asks(tool *catalog.Tool, arguments json.RawMessage) bool {
	if tool.Blueprint.Questions().Empty() {
		return false
	}
	split, err := splitArguments(tool, arguments)
	if err != nil {
		return false
	}
	plan, err := tool.Blueprint.Questions().Plan(v1alpha1.AskTask, split.Public, nil)
	return err == nil && plan.Outcome == question.Ask
}

// take adds the answers to questions that are asked in answer to the call. It reports whether there were any.
func (c *consultation) take(
	asked []question.Question, set *question.Set, responses map[string]json.RawMessage,
) (more bool, err error) {
	for _, q := range asked {
		raw, given := responses[q.Key]
		if !given || set.Asks(q.Key) != v1alpha1.AskCall {
			continue
		}
		answer, err := question.ParseAnswer(q.RequestedSchema, raw)
		if err == nil {
			c.answers[q.Key] = answer
			err = question.CheckSize(c.answers)
		}
		if err != nil {
			return false, wire.InvalidParams("The answer to %q cannot be taken: %s", q.Key, err)
		}
		more = true
	}
	return more, nil
}

// ask asks what is open: by the outcome, what is asked in answer to the call, and by the task all the rest.
func (c *consultation) ask(open []question.Question, set *question.Set, call Call) error {
	requests := map[string]task.InputRequest{}
	for _, q := range open {
		if set.Asks(q.Key) == v1alpha1.AskCall {
			requests[q.Key] = task.NewInputRequest(q.Message, q.RequestedSchema)
		}
	}
	ofTask := len(open) > len(requests)
	if needTasks := ofTask && !call.Tasks; needTasks || !call.Forms {
		return wire.MissingCapabilities(needTasks, !call.Forms)
	}
	if len(requests) > 0 {
		c.outcome = &Outcome{InputRequests: requests}
	}
	if ofTask {
		c.deadline = set.Deadline()
	}
	return nil
}
