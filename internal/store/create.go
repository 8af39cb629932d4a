package store

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/task"
)

// Call is a call of a tool that becomes a task. Its arguments have been validated.
type Call struct {
	// Tool is the tool as it is now; its execution and result source are copied into the task.
	Tool *v1alpha1.MCPTool
	// Arguments are the caller's JSON object, byte for byte, or what of it may be on the record.
	Arguments string
	// Secret is what may not, and goes to the task's Secret; nil for nothing.
	Secret *job.SecretArguments
	// Traceparent is the W3C trace context, or empty.
	Traceparent string
	// Answers are those that came with the call, by question, validated; their time is that of Create.
	Answers map[string]v1alpha1.Answer
	// QuestionsDeadline is the longest that the task may wait for further answers; 0: it has nothing to ask.
	QuestionsDeadline time.Duration
	// IdempotencyKey makes all calls of the tool by the owner with the same key one task, for as long as that is kept. Empty: none.
	IdempotencyKey string
}

// Create records the call as a task of the scope's owner and returns it once the API server has acknowledged it, so that every
// replica can find it. With an idempotency key it returns the task that the first such call became, in whatever state that is,
// possibly without arguments and result; spec.idempotency is set then. Secret arguments are in their Secret when Create returns;
// a task whose Secret could not be created never runs. A refusal that concerns the caller is a *RefusedError, ErrKeyReused or
// ErrNoKeys.
//
// While the API server is away, Create tries again for up to 15 s. Any error but ErrUnclear says that nothing will run.
func (s *Store) Create(ctx context.Context, scope Scope, call Call) (*v1alpha1.MCPTask, error) {
	var is identity
	var err error
	if call.IdempotencyKey == "" {
		is.id, err = task.NewID(s.random)
	} else {
		is, err = s.identify(scope, call)
	}
	if err != nil {
		return nil, err
	}
	t := &v1alpha1.MCPTask{
		ObjectMeta: metav1.ObjectMeta{
			Name:      is.id,
			Namespace: scope.Namespace,
			Labels:    map[string]string{v1alpha1.LabelTool: call.Tool.Name, v1alpha1.LabelOwner: OwnerLabel(scope.Owner)},
		},
		Spec: v1alpha1.MCPTaskSpec{
			Tool: v1alpha1.ToolReference{
				Namespace:  call.Tool.Namespace,
				Name:       call.Tool.Name,
				UID:        call.Tool.UID,
				Generation: call.Tool.Generation,
			},
			Arguments:   call.Arguments,
			Owner:       scope.Owner,
			Execution:   call.Tool.Spec.Execution,
			Result:      call.Tool.Spec.Result,
			Traceparent: call.Traceparent,
		},
	}
	at := metav1.NewMicroTime(s.clock.Now())
	for key, answer := range call.Answers {
		if t.Spec.CallAnswers == nil {
			t.Spec.CallAnswers = map[string]v1alpha1.Answer{}
		}
		answer.At = at
		t.Spec.CallAnswers[key] = answer
	}
	if call.QuestionsDeadline > 0 {
		t.Spec.QuestionsDeadline = &metav1.Duration{Duration: call.QuestionsDeadline}
	}
	if call.Secret != nil {
		t.Spec.SecretArguments = &v1alpha1.SecretArguments{}
		for _, v := range call.Secret.Variables {
			t.Spec.SecretArguments.Variables = append(t.Spec.SecretArguments.Variables, v.Name)
		}
	}
	// Once begun, the outcome is waited for, also if the caller hangs up: nobody could cancel a task that may or may not exist.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	if call.IdempotencyKey != "" {
		t.Spec.Idempotency = &is.Idempotency
	}
	if t, err = s.createOnce(ctx, t); err != nil {
		return nil, refusal(err)
	}
	if call.Secret != nil {
		if err := s.storeSecret(ctx, t, call.Secret); err != nil {
			return nil, err
		}
	}
	s.recent.put(t)
	return t, nil
}

// RefusedError says in words why the API server took no task from this caller.
type RefusedError struct {
	// Reason is a Reason constant of tasks.
	Reason string
	// Message is for the caller.
	Message string
}

// Error is the message.
func (e *RefusedError) Error() string { return e.Message }

// refusal sorts out the errors of a create that concern the caller; all others stay what they are.
func refusal(err error) error {
	if !apierrors.IsForbidden(err) {
		return fmt.Errorf("create the task: %w", err)
	}
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return &RefusedError{
			Reason:  v1alpha1.ReasonRejected,
			Message: "Your tenant's namespace is being deleted; no new tasks can be started in it",
		}
	}
	// Kubernetes marks what it says about quotas by its words only.
	if _, full, ok := strings.Cut(err.Error(), "exceeded quota: "); ok {
		return &RefusedError{
			Reason: v1alpha1.ReasonQuotaExceeded,
			Message: "Your tenant's quota is full (" + full + "); nothing was started. " +
				"Try again when other tasks have ended and been removed, or ask the platform team to raise it",
		}
	}
	if strings.Contains(err.Error(), "status unknown for quota") {
		return &RefusedError{
			Reason:  v1alpha1.ReasonQuotaExceeded,
			Message: "Your tenant's quota is new and has not been counted yet; nothing was started. Try again in a moment",
		}
	}
	return fmt.Errorf("create the task: %w", err)
}

// OwnerLabel is the value of the label that indexes tasks by owner: a hash, since neither issuer nor subject need be fit for a
// label.
func OwnerLabel(owner v1alpha1.Owner) string {
	hash := sha256.New()
	// The issuer's length keeps two different pairs from looking alike.
	_ = binary.Write(hash, binary.BigEndian, uint64(len(owner.Issuer)))
	_, _ = hash.Write([]byte(owner.Issuer + owner.Subject))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(hash.Sum(nil)))
}
