package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/question"
	"github.com/mcptasks/mcptasks/internal/task"
)

func newAnswerCommand(c *cluster, now func() time.Time) *cobra.Command {
	var decline, dismiss bool
	var content string
	cmd := &cobra.Command{
		Use:   "answer NAME [KEY [PROPERTY=VALUE...]]",
		Short: "Answer a question that a task waits for, in place of the person behind the agent",
		Long: `Answer the question KEY of a task. The answer's properties are given as PROPERTY=VALUE, one that is a list as often as
it has entries, or all together as JSON by --content. Without KEY, show the open questions and what they ask for.
An answer is final, and the first one counts.`,
		Example: `  kubectl mcptask answer t-4q7x2nd5gqkvoyh3b6zmwj2c4e -n team-a
  kubectl mcptask answer t-4q7x2nd5gqkvoyh3b6zmwj2c4e confirm confirm=true -n team-a
  kubectl mcptask answer t-4q7x2nd5gqkvoyh3b6zmwj2c4e confirm --decline -n team-a`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, namespace, err := c.connect()
			if err != nil {
				return err
			}
			name := client.ObjectKey{Namespace: namespace, Name: args[0]}
			if len(args) == 1 {
				if decline || dismiss || content != "" {
					return errors.New("KEY is missing: which question is meant?")
				}
				t, err := c.task(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return printQuestions(cmd.OutOrStdout(), t)
			}
			r := response{action: v1alpha1.AnswerAccept, content: content, assignments: args[2:]}
			switch {
			case decline && dismiss:
				return errors.New("--decline and --dismiss do not go together")
			case decline:
				r.action = v1alpha1.AnswerDecline
			case dismiss:
				r.action = v1alpha1.AnswerCancel
			}
			if err := answer(cmd.Context(), cl, name, args[1], r, now); err != nil {
				return explain(err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "question %s of task %s is answered (%s)\n", args[1], args[0], r.action)
			return err
		},
	}
	cmd.Flags().BoolVar(&decline, "decline", false, "say no: the call ends without having run")
	cmd.Flags().BoolVar(&dismiss, "dismiss", false, "do not answer: the call ends as cancelled")
	cmd.Flags().StringVar(&content, "content", "", "the answer as a JSON object")
	return cmd
}

// A response is an answer as people give it.
type response struct {
	action v1alpha1.AnswerAction
	// content is the answer as JSON; empty: it is made of the assignments.
	content string
	// assignments are of the form PROPERTY=VALUE.
	assignments []string
}

// answer writes an answer into spec.answers. The error says why the question cannot be answered like that, or at all.
func answer(
	ctx context.Context, cl client.Client, name client.ObjectKey, key string, r response, now func() time.Time,
) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var t v1alpha1.MCPTask
		if err := cl.Get(ctx, name, &t); err != nil {
			return err
		}
		open, ok := task.OpenQuestions(&t)[key]
		if !ok {
			return notOpen(&t, key)
		}
		content, err := r.json(open.RequestedSchema)
		if err != nil {
			return err
		}
		if err := question.ValidateAnswer(open.RequestedSchema, r.action, content); err != nil {
			return fmt.Errorf("%w; the question is still open", err)
		}
		before := t.DeepCopy()
		given := v1alpha1.Answer{Action: r.action, At: metav1.NewMicroTime(now())}
		if r.action == v1alpha1.AnswerAccept {
			given.Content = string(content)
		}
		if t.Spec.Answers == nil {
			t.Spec.Answers = map[string]v1alpha1.Answer{}
		}
		t.Spec.Answers[key] = given
		if err := question.CheckSize(question.AnswersOf(&t)); err != nil {
			return err
		}
		return cl.Patch(ctx, &t, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
}

// notOpen says why a question cannot be answered.
func notOpen(t *v1alpha1.MCPTask, key string) error {
	given, answered := question.AnswersOf(t)[key]
	keys := slices.Sorted(maps.Keys(task.OpenQuestions(t)))
	switch {
	case t.Status.State.Terminal():
		return fmt.Errorf("task %s has finished (%s); nothing is asked any more", t.Name, t.Status.State)
	case t.Spec.Cancel != nil:
		return fmt.Errorf("task %s is being cancelled; nothing is asked any more", t.Name)
	case answered:
		return fmt.Errorf("the question %s of task %s has its answer already (%s), and that is final", key, t.Name, given.Action)
	case len(keys) == 0:
		return fmt.Errorf("task %s has no open question", t.Name)
	default:
		return fmt.Errorf("task %s has no question %s; open are: %s", t.Name, oneLine(key), strings.Join(keys, ", "))
	}
}

// form is what people have to know of a question's schema, which is a flat object.
type form struct {
	Properties map[string]struct {
		Type        string `json:"type"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Enum        []any  `json:"enum"`
		OneOf       []struct {
			Const any `json:"const"`
		} `json:"oneOf"`
	} `json:"properties"`
	Required []string `json:"required"`
}

func parseForm(requestedSchema string) (form, error) {
	var f form
	if err := json.Unmarshal([]byte(requestedSchema), &f); err != nil {
		return f, fmt.Errorf("the question's schema cannot be read: %w", err)
	}
	return f, nil
}

// json is the answer's content for a question: a JSON object with each value in the type that the form has for it.
func (r response) json(requestedSchema string) ([]byte, error) {
	switch {
	case r.action != v1alpha1.AnswerAccept && (r.content != "" || len(r.assignments) > 0):
		return nil, fmt.Errorf("an answer with the action %s has no content", r.action)
	case r.content != "" && len(r.assignments) > 0:
		return nil, errors.New("--content and PROPERTY=VALUE do not go together")
	case r.content != "" || r.action != v1alpha1.AnswerAccept:
		return []byte(r.content), nil
	}
	f, err := parseForm(requestedSchema)
	if err != nil {
		return nil, err
	}
	content := map[string]any{}
	for _, assignment := range r.assignments {
		name, value, ok := strings.Cut(assignment, "=")
		property, known := f.Properties[name]
		switch {
		case !ok:
			return nil, fmt.Errorf("%q is not of the form PROPERTY=VALUE", assignment)
		case !known:
			return nil, fmt.Errorf("the question has no property %q; it has %s", name,
				strings.Join(slices.Sorted(maps.Keys(f.Properties)), ", "))
		case property.Type == "array":
			list, _ := content[name].([]any)
			content[name] = append(list, value)
			continue
		case content[name] != nil:
			return nil, fmt.Errorf("%s is given twice", name)
		case property.Type == "string":
			content[name] = value
		case json.Valid([]byte(value)):
			content[name] = json.RawMessage(value)
		default:
			return nil, fmt.Errorf("%s must be a %s, not %q", name, property.Type, value)
		}
	}
	return json.Marshal(content)
}

// printQuestions writes the open questions with what their forms ask for.
func printQuestions(w io.Writer, t *v1alpha1.MCPTask) error {
	open := task.OpenQuestions(t)
	if len(open) == 0 {
		return fmt.Errorf("task %s has no open question", t.Name)
	}
	tw := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	for _, key := range slices.Sorted(maps.Keys(open)) {
		f, err := parseForm(open[key].RequestedSchema)
		if err != nil {
			return err
		}
		fmt.Fprintf(tw, "%s: %s\n", key, oneLine(open[key].Message))
		for _, name := range slices.Sorted(maps.Keys(f.Properties)) {
			p := f.Properties[name]
			kind := p.Type
			choices := p.Enum
			for _, choice := range p.OneOf {
				choices = append(choices, choice.Const)
			}
			if len(choices) > 0 {
				texts := make([]string, len(choices))
				for i := range choices {
					texts[i] = fmt.Sprint(choices[i])
				}
				kind = strings.Join(texts, " or ")
			}
			if !slices.Contains(f.Required, name) {
				kind += ", optional"
			}
			fmt.Fprintf(tw, "  %s\t%s\t%s\n", oneLine(name), oneLine(kind), oneLine(cmp.Or(p.Description, p.Title)))
		}
	}
	return tw.Flush()
}
