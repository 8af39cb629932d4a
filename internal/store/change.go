package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/question"
	"github.com/mcptasks/mcptasks/internal/task"
)

// AnswerError says in words why an answer cannot be taken. The question stays open.
type AnswerError struct {
	// Key is the question's.
	Key string
	// Problem says what is wrong, as the rest of a sentence.
	Problem string
}

// Error names the question and the problem.
func (e *AnswerError) Error() string {
	return fmt.Sprintf("The answer to %q cannot be taken: %s", e.Key, e.Problem)
}

// Answer records answers to open questions, by key: elicitation results as JSON. Keys that are not open (never asked, answered
// before, or of a task that has ended) are ignored, whatever they hold; the first answer to a question is the one that counts.
// If one of the answers that do count is no good, none is recorded and the error is an *AnswerError. When Answer returns, the
// answers are on the record.
func (s *Store) Answer(ctx context.Context, scope Scope, id string, answers map[string]json.RawMessage) error {
	return s.change(ctx, scope, id, func(t *v1alpha1.MCPTask) (bool, error) {
		changed := false
		for key, open := range task.OpenQuestions(t) {
			raw, given := answers[key]
			if !given {
				continue
			}
			answer, err := question.ParseAnswer(open.RequestedSchema, raw)
			if err != nil {
				return false, &AnswerError{Key: key, Problem: err.Error()}
			}
			if t.Spec.Answers == nil {
				t.Spec.Answers = map[string]v1alpha1.Answer{}
			}
			answer.At = metav1.NewMicroTime(s.clock.Now())
			t.Spec.Answers[key] = answer
			changed = true
			if err := question.CheckSize(question.AnswersOf(t)); err != nil {
				return false, &AnswerError{Key: key, Problem: err.Error()}
			}
		}
		return changed, nil
	})
}

// Cancel records the wish to stop the task. reason, which may be empty, shows in the task's message. A task that has ended, or
// is being cancelled already, is left alone, and that is no error.
func (s *Store) Cancel(ctx context.Context, scope Scope, id, reason string) error {
	return s.change(ctx, scope, id, func(t *v1alpha1.MCPTask) (bool, error) {
		if t.Status.State.Terminal() || t.Spec.Cancel != nil {
			return false, nil
		}
		t.Spec.Cancel = &v1alpha1.Cancellation{At: metav1.NewMicroTime(s.clock.Now()), By: scope.Owner.Subject, Reason: reason}
		return true, nil
	})
}

// conflicts is how often a change is tried again when somebody else has written in between: the controller may, several times a
// second.
var conflicts = wait.Backoff{Steps: 12, Duration: 5 * time.Millisecond, Factor: 2, Cap: time.Second, Jitter: 0.3}

// change applies edit to the present state of a task and writes it if edit says so. It always begins with a live read: another
// replica may have shown a question that this one has not heard of yet.
func (s *Store) change(ctx context.Context, scope Scope, id string, edit func(*v1alpha1.MCPTask) (bool, error)) error {
	if !idFormat.MatchString(id) {
		return ErrNotFound
	}
	key := types.NamespacedName{Namespace: scope.Namespace, Name: id}
	return retry.RetryOnConflict(conflicts, func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		before := &v1alpha1.MCPTask{}
		if err := s.live.Get(ctx, key, before); err != nil {
			if apierrors.IsNotFound(err) {
				return ErrNotFound
			}
			return fmt.Errorf("read task %s: %w", id, err)
		}
		if !scope.owns(before) {
			return ErrNotFound
		}
		after := before.DeepCopy()
		changed, err := edit(after)
		if err != nil {
			return err
		}
		if changed {
			err = s.client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
			switch {
			case apierrors.IsNotFound(err):
				return ErrNotFound
			case err != nil:
				return fmt.Errorf("change task %s: %w", id, err)
			}
		}
		s.recent.put(after)
		s.hub.notify(key)
		return nil
	})
}
