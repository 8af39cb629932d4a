// Package keys is the secret that all replicas of an endpoint share, kept in a Kubernetes Secret. The chart makes that Secret
// empty, so that rendering it anew never changes anything; the first replica that finds it empty fills it.
//
// It knows where the secret is and how a key for one purpose follows from it, not what keys are used for.
//
// The endpoint needs the rights to get and update that one Secret. They are written in the chart, since the Secret's name is the
// chart's.
package keys

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// entry is where the secret is in its Secret.
	entry = "seed"
	// size is the length of the secret and of the keys, in bytes.
	size = sha256.Size
)

// Seed is the shared secret. Its zero value is none.
type Seed struct {
	bytes []byte
}

// Ensure reads the seed from a Secret, which it fills from random if it is empty; of several that do so at once, one wins and all
// return the same seed. It never makes the Secret, so that it needs rights to this one only, and never replaces a seed.
func Ensure(
	ctx context.Context, reader client.Reader, writer client.Writer, name types.NamespacedName, random io.Reader,
) (Seed, error) {
	if random == nil {
		random = rand.Reader
	}
	var seed []byte
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		secret := &corev1.Secret{}
		if err := reader.Get(ctx, name, secret); err != nil {
			return err
		}
		if seed = secret.Data[entry]; len(seed) > 0 {
			return nil
		}
		seed = make([]byte, size)
		if _, err := io.ReadFull(random, seed); err != nil {
			return err
		}
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[entry] = seed
		return writer.Update(ctx, secret)
	})
	switch {
	case apierrors.IsNotFound(err):
		return Seed{}, fmt.Errorf("there is no Secret %s: the chart makes it, or create it empty: %w", name, err)
	case err != nil:
		return Seed{}, fmt.Errorf("read or fill the Secret %s: %w", name, err)
	case len(seed) < size:
		return Seed{}, fmt.Errorf("the entry %q of the Secret %s has less than %d bytes; remove it to have a new one made",
			entry, name, size)
	}
	return Seed{seed}, nil
}

// errNoPurpose is a mistake in the program.
var errNoPurpose = errors.New("a key needs a purpose")

// Key derives the key for one purpose (HKDF-SHA256, RFC 5869). Keys for two purposes tell nothing of each other or of the seed.
func (s Seed) Key(purpose string) ([]byte, error) {
	if purpose == "" {
		return nil, errNoPurpose
	}
	return hkdf.Key(sha256.New, s.bytes, nil, "mcptasks.dev/"+purpose, size)
}
