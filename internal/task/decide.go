package task

import (
	"slices"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// Rule is one way in which what is seen leads to a state: one row of docs/reference/states.md.
type Rule struct {
	// Name identifies the rule in logs and tests.
	Name string
	// Seen says, for the docs, what has to be seen.
	Seen string
	// Pods says which Jobs the rule is about; empty: all, and tasks that have none yet.
	Pods Pods
	// State is the state that the rule leads to; empty where it leaves the state as it is.
	State v1alpha1.TaskState
	// Reasons are the reasons that the rule may give.
	Reasons []string
	// Note says what else a reader of the docs should know.
	Note string

	// speak gives the rule's verdict, or nil where it has none on these facts.
	speak func(f *facts) *Verdict
}

// Pods tells Jobs with several pods from the others.
type Pods string

const (
	// OnePod: the Job has one pod at a time, and further ones only as retries.
	OnePod Pods = "one"
	// SeveralPods: the Job is the work of several pods (job.Several).
	SeveralPods Pods = "several"
)

// Rules are all rules in the order in which they are asked; the first that speaks decides.
var Rules = concat(
	recordRules, questionRules, launchRules, severalEndRules, onePod(lossRules), onePod(outcomeRules), stopRules,
	onePod(remainsRules), queueRules, startRules, severalRunRules, onePod(runRules),
)

// Decide says what follows from an observation. It always has an answer, and never one that would change a finished task.
func Decide(o Observation) Verdict {
	f := look(o)
	for i := range Rules {
		if !Rules[i].isAbout(f) {
			continue
		}
		if v := Rules[i].speak(f); v != nil {
			v.Rule = Rules[i].Name
			v.Message = clip(v.Message, maxMessage)
			if v.StartedAt.IsZero() {
				v.StartedAt = f.startedAt
			}
			return *v
		}
	}
	panic("task: the last rule has to speak on everything")
}

// recordRules speak from the record alone.
var recordRules = []Rule{{
	Name: "ended",
	Seen: "the state is terminal",
	Note: "Nothing changes a finished task.",
	speak: func(f *facts) *Verdict {
		if !f.Task.Status.State.Terminal() {
			return nil
		}
		s := f.Task.Status
		return &Verdict{State: s.State, Reason: s.Reason, Message: s.Message, Result: s.Result, Error: s.Error}
	},
}}

// isAbout reports whether a rule is about the task's Job.
func (r *Rule) isAbout(f *facts) bool {
	switch r.Pods {
	case OnePod:
		return f.several == nil
	case SeveralPods:
		return f.several != nil
	}
	return true
}

// onePod is rules that are all about Jobs with one pod.
func onePod(rules []Rule) []Rule {
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].Pods = OnePod
	}
	return rules
}

func concat(groups ...[]Rule) []Rule {
	var all []Rule
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}
