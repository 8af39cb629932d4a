package store

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/task"
)

// ErrKeyReused is the answer to a call whose idempotency key belongs to a call with other arguments.
var ErrKeyReused = errors.New("the idempotency key belongs to a call with other arguments")

// ErrNoKeys is the answer to a call with an idempotency key where the Store was made without NameKey.
var ErrNoKeys = errors.New("idempotency keys are not supported")

// identity is what tells a repeated call from another.
type identity struct {
	id string
	v1alpha1.Idempotency
}

// identify derives a call's task id from its idempotency key, so that the API server itself lets only one of many equal calls
// become a task, whichever replicas they reach. The key of the store keeps ids unguessable for those who know everything else.
func (s *Store) identify(scope Scope, call Call) (identity, error) {
	if len(s.nameKey) == 0 {
		return identity{}, ErrNoKeys
	}
	parts := []string{
		scope.Namespace, scope.Owner.Issuer, scope.Owner.Subject, call.Tool.Namespace, call.Tool.Name, call.IdempotencyKey,
	}
	id, err := task.NewID(bytes.NewReader(s.mac("task id", parts)))
	if err != nil {
		return identity{}, err
	}
	said, err := canonical(call)
	if err != nil {
		return identity{}, err
	}
	return identity{id, v1alpha1.Idempotency{
		KeyHash: hex.EncodeToString(s.mac("key hash", parts)),
		// Keyed, and by the caller's key as well: whoever reads the record can neither try out what secret arguments may be, nor see
		// that those of two calls are the same.
		ArgumentsHash: hex.EncodeToString(s.mac("arguments hash", append(parts, said))),
	}}, nil
}

// mac is a keyed hash of the parts for one use: the hash on the record must not be the one in the name.
func (s *Store) mac(use string, parts []string) []byte {
	mac := hmac.New(sha256.New, s.nameKey)
	for _, part := range append([]string{use}, parts...) {
		// The lengths keep different parts from looking alike.
		_ = binary.Write(mac, binary.BigEndian, uint64(len(part)))
		_, _ = mac.Write([]byte(part))
	}
	return mac.Sum(nil)
}

// canonical is what a call says, what is secret included, without regard for the order of members, white space and the spelling
// of strings. Numbers count as they are written: 1 and 1.0 differ, as they may for the tool.
func canonical(call Call) (string, error) {
	said := map[string]any{}
	add := func(name, document string) error {
		var value any
		decoder := json.NewDecoder(bytes.NewReader([]byte(document)))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		said[name] = value
		return nil
	}
	arguments := call.Arguments
	if call.Secret != nil {
		arguments = string(call.Secret.Document)
	}
	if err := add("arguments", arguments); err != nil {
		return "", err
	}
	for key, answer := range call.Answers {
		content := answer.Content
		if content == "" {
			content = "null"
		}
		if err := add("answer "+string(answer.Action)+" "+key, content); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(said) // sorts members
	return string(text), err
}

// creates is how often Create tries although it was told that there is a task of that name, and then that there is none: the task
// of an earlier call goes away in between.
const creates = 3

// createPause is the pause before a create is tried again whose outcome is not clear.
const createPause = 250 * time.Millisecond

// ErrUnclear is the error of a Create that may have recorded a task or not: the API server was not there to say.
var ErrUnclear = errors.New("nobody can say whether the task was recorded")

// createOnce creates t, or returns the task of that name if it stems from the same call: an equal one with the same key, or this
// one, by a create of which the answer got lost. With a key, whatever the API server says to the create counts only if there is
// no such task: a full quota, for one, may be full of it.
func (s *Store) createOnce(ctx context.Context, t *v1alpha1.MCPTask) (*v1alpha1.MCPTask, error) {
	for try := 1; ; try++ {
		err := s.client.Create(ctx, t)
		exists := apierrors.IsAlreadyExists(err)
		switch {
		case err == nil:
			return t, nil
		case t.Spec.Idempotency == nil && decided(err) && !exists:
			return nil, err
		}
		found := &v1alpha1.MCPTask{}
		readError := s.live.Get(ctx, client.ObjectKeyFromObject(t), found)
		absent := apierrors.IsNotFound(readError)
		switch {
		case readError == nil:
			return s.sameCall(t, found)
		case absent && decided(err) && (!exists || try >= creates):
			return nil, err
		case !absent && decided(readError):
			return nil, fmt.Errorf("read task %s: %w", t.Name, readError)
		}
		if !pause(ctx, createPause) {
			if !absent {
				err = fmt.Errorf("%w: %w", ErrUnclear, err)
			}
			return nil, err
		}
	}
}

// decided reports whether an error is the API server's word on a request, so that trying again would lead to the same.
func decided(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code < http.StatusInternalServerError && code != http.StatusTooManyRequests
}

// pause waits; false: ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// sameCall returns found where it stems from the same call as t.
func (s *Store) sameCall(t, found *v1alpha1.MCPTask) (*v1alpha1.MCPTask, error) {
	mine, theirs := t.Spec.Idempotency, found.Spec.Idempotency
	switch {
	case found.Spec.Owner == t.Spec.Owner && mine == nil && theirs == nil:
		return found, nil // names without a key are random
	case found.Spec.Owner != t.Spec.Owner || mine == nil || theirs == nil || theirs.KeyHash != mine.KeyHash:
		return nil, fmt.Errorf("task %s has the name of a call that it does not stem from", t.Name)
	case theirs.ArgumentsHash != mine.ArgumentsHash:
		return nil, ErrKeyReused
	default:
		return found, nil
	}
}
