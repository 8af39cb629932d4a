package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

// The endpoint creates Secrets, and cannot read any.
//
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create

// storeSecret creates the Secret of a task that has just been created or found, and then says so on the record: only then does
// the controller go on. The Secret belongs to the task, whose UID it needs, so that it cannot come first.
//
// If this process ends in between, the task waits until it fails for want of its Secret, unless the caller comes back with its
// idempotency key: then the Secret is created by that call. Without a key nobody can come back, and the task is cancelled when
// something goes wrong.
func (s *Store) storeSecret(ctx context.Context, t *v1alpha1.MCPTask, arguments *job.SecretArguments) error {
	if t.Spec.SecretArguments == nil || t.Spec.SecretArguments.StoredAt != nil || t.Status.State.Terminal() {
		return nil
	}
	err := insist(ctx, func() error { return s.client.Create(ctx, job.NewSecret(t, arguments)) })
	switch {
	case err == nil, apierrors.IsAlreadyExists(err): // by this call, or by an equal one with the same key
		err = s.secretStored(ctx, t)
	default:
		err = secretRefusal(err)
	}
	if err != nil && t.Spec.Idempotency == nil {
		s.giveUp(ctx, t)
	}
	return err
}

// secretStored puts it on the record that the Secret is there. An equal call may do the same at the same time; either is right.
func (s *Store) secretStored(ctx context.Context, t *v1alpha1.MCPTask) error {
	before := t.DeepCopy()
	now := metav1.NewMicroTime(s.clock.Now())
	t.Spec.SecretArguments.StoredAt = &now
	patch := client.MergeFrom(before)
	if err := insist(ctx, func() error { return s.client.Patch(ctx, t, patch) }); err != nil {
		return fmt.Errorf("record that the Secret of task %s is stored: %w", t.Name, err)
	}
	return nil
}

// insist makes a request, which can be repeated, until the API server has had its say or ctx ends. Then the error is ErrUnclear.
func insist(ctx context.Context, request func() error) error {
	for {
		err := request()
		if err == nil || decided(err) {
			return err
		}
		if !pause(ctx, createPause) {
			return fmt.Errorf("%w: %w", ErrUnclear, err)
		}
	}
}

// giveUp cancels a task that its caller will not hear of. If that fails, too, the controller ends it for want of its Secret.
func (s *Store) giveUp(ctx context.Context, t *v1alpha1.MCPTask) {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	before := t.DeepCopy()
	t.Spec.Cancel = &v1alpha1.Cancellation{
		At: metav1.NewMicroTime(s.clock.Now()), By: t.Spec.Owner.Subject, Reason: "its secret arguments could not be stored",
	}
	_ = s.client.Patch(ctx, t, client.MergeFrom(before))
}

// secretRefusal is refusal for the create of a Secret. Its error never tells what the API server says of the Secret's data.
func secretRefusal(err error) error {
	if _, full, ok := strings.Cut(err.Error(), "exceeded quota: "); ok && apierrors.IsForbidden(err) {
		return &RefusedError{
			Reason: v1alpha1.ReasonQuotaExceeded,
			Message: "Your tenant's quota for Secrets is full (" + full + "), and the call has arguments that are kept in one; " +
				"nothing was started. Try again when other tasks have ended, or ask the platform team to raise it",
		}
	}
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return fmt.Errorf("create the Secret of the task: the API server finds it invalid (%s)", apierrors.ReasonForError(err))
	}
	return fmt.Errorf("create the Secret of the task: %w", err)
}
