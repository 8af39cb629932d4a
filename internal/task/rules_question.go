package task

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/question"
)

// questionRules speak while a call with questions has no Job yet, and the tool that it is for is still there.
var questionRules = []Rule{{
	Name:    "tool-changed-under-questions",
	Seen:    "a tool with questions was changed in any way before the start",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonToolChanged},
	Note:    "What was asked and answered may not be what the changed tool would do.",
	speak: func(f *facts) *Verdict {
		ref := f.Task.Spec.Tool
		if !f.questioning() || f.Tool.Generation == ref.Generation {
			return nil
		}
		if !f.FreshTask {
			return f.unchanged(NextFreshTask)
		}
		return f.failed(v1alpha1.ReasonToolChanged,
			fmt.Sprintf("The tool %s, which asks questions, was changed before the call started. Call again.", ref.Name))
	},
}, {
	Name:    "question-expired",
	Seen:    "a question is open past its deadline",
	State:   v1alpha1.StateCancelled,
	Reasons: []string{v1alpha1.ReasonQuestionExpired},
	Note:    "No Job is ever created.",
	speak: func(f *facts) *Verdict {
		if !f.questioning() {
			return nil
		}
		open := OpenQuestions(f.Task)
		for _, key := range slices.Sorted(maps.Keys(open)) {
			q := open[key]
			if q.AnswerBy == nil || f.Now.Before(q.AnswerBy.Time) {
				continue
			}
			// The answer may have come a moment ago.
			if !f.FreshTask {
				return f.unchanged(NextFreshTask)
			}
			return f.cancelled(v1alpha1.ReasonQuestionExpired, fmt.Sprintf("The question %q was not answered within %s. Nothing was run.",
				key, job.DurationText(q.AnswerBy.Sub(q.AskedAt.Time))))
		}
		return nil
	},
}, {
	Name: "to-plan",
	Seen: "there are answers, or none yet, that have not been looked at",
	Note: "The questions are evaluated with the arguments and all answers, after a read of the task past every cache.",
	speak: func(f *facts) *Verdict {
		if !f.questioning() || f.settled() || f.Plan != nil || f.PlanProblem != "" {
			return nil
		}
		if !f.FreshTask {
			return f.unchanged(NextFreshTask)
		}
		return f.unchanged(NextPlan)
	},
}, {
	Name:    "questions-fail",
	Seen:    "a CEL expression of the tool's questions cannot be evaluated for this call",
	State:   v1alpha1.StateFailed,
	Reasons: []string{v1alpha1.ReasonRejected},
	Note:    "A mistake of the tool's author; it never counts as consent.",
	speak: func(f *facts) *Verdict {
		if !f.questioning() || f.PlanProblem == "" {
			return nil
		}
		return f.failed(v1alpha1.ReasonRejected, "The call cannot become a Job: "+f.PlanProblem)
	},
}, {
	Name:    "declined",
	Seen:    "a question was declined, or `proceedIf` is false for its answer",
	State:   v1alpha1.StateCompleted,
	Reasons: []string{v1alpha1.ReasonDeclined},
	Note:    "`isError: true`. At once, whatever else is open.",
	speak: func(f *facts) *Verdict {
		if !f.planned(question.Declined) {
			return nil
		}
		v := &Verdict{State: v1alpha1.StateCompleted, Reason: v1alpha1.ReasonDeclined, Message: f.Plan.Message}
		v.Result = job.TextResult(v.Message, true)
		return v
	},
}, {
	Name:    "question-cancelled",
	Seen:    "a question was dismissed without an answer",
	State:   v1alpha1.StateCancelled,
	Reasons: []string{v1alpha1.ReasonQuestionCancelled},
	Note:    "At once, whatever else is open.",
	speak: func(f *facts) *Verdict {
		if !f.planned(question.Cancelled) {
			return nil
		}
		return f.cancelled(v1alpha1.ReasonQuestionCancelled, f.Plan.Message)
	},
}, {
	Name:    "input-required",
	Seen:    "questions are open",
	State:   v1alpha1.StateInputRequired,
	Reasons: []string{v1alpha1.ReasonAwaitingInput},
	Note:    "There is no Job, and no pod waits. An answer may bring further questions.",
	speak: func(f *facts) *Verdict {
		if !f.questioning() || !f.settled() && !f.planned(question.Ask) {
			return nil
		}
		return f.inputRequired()
	},
}}

// questioning reports whether the call has to do with questions and has not started: what it may become depends on answers.
func (f *facts) questioning() bool {
	spec, tool := f.Task.Spec, f.Tool
	if f.launched || spec.Cancel != nil || tool == nil || tool.UID != spec.Tool.UID || tool.Generation < spec.Tool.Generation {
		return false
	}
	return len(tool.Spec.Questions)+len(spec.CallAnswers)+len(f.Task.Status.Questions) > 0 || spec.QuestionsDeadline != nil
}

// settled reports whether questions are open and all answers given so far have been counted in.
func (f *facts) settled() bool {
	c := meta.FindStatusCondition(f.Task.Status.Conditions, v1alpha1.ConditionInputRequired)
	counted := c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == f.Task.Generation
	return counted && len(OpenQuestions(f.Task)) > 0
}

func (f *facts) planned(outcome question.Outcome) bool {
	return f.questioning() && f.Plan != nil && f.Plan.Outcome == outcome
}

// inputRequired is the verdict that questions are open: those on the record, and those that the plan adds. What is on the record
// stays as it was asked.
func (f *facts) inputRequired() *Verdict {
	open := OpenQuestions(f.Task)
	v := &Verdict{State: v1alpha1.StateInputRequired, Reason: v1alpha1.ReasonAwaitingInput}
	v.Questions = map[string]v1alpha1.Question{}
	if f.Plan != nil {
		for _, q := range f.Plan.Questions {
			if _, asked := f.Task.Status.Questions[q.Key]; asked {
				continue
			}
			answerBy := metav1.NewMicroTime(f.Now.Add(q.Deadline))
			open[q.Key] = v1alpha1.Question{
				Message: q.Message, RequestedSchema: q.RequestedSchema, AskedAt: metav1.NewMicroTime(f.Now), AnswerBy: &answerBy,
			}
			v.Questions[q.Key] = open[q.Key]
		}
	}
	keys := slices.Sorted(maps.Keys(open))
	v.Message = fmt.Sprintf("Waiting for answers to %d questions: %s.", len(keys), strings.Join(keys, ", "))
	if len(keys) == 1 {
		v.Message = "Waiting for an answer: " + clip(open[keys[0]].Message, maxDetail)
	}
	for _, q := range open {
		if q.AnswerBy == nil {
			continue
		}
		if left := max(time.Millisecond, q.AnswerBy.Sub(f.Now)); v.After == 0 || left < v.After {
			v.After = left
		}
	}
	return v
}
