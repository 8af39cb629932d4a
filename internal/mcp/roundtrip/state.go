// Package roundtrip is the state that a client carries from one round of questions to the next (MCP 2026-07-28, multi round-trip
// requests, "requestState"): the answers so far, sealed, so that the endpoint itself keeps nothing and every replica can go on.
//
// A state is worth something only to the caller that it was given to, for the same call of the same tool, and for a while. It
// proves what was answered before, not that the call may be made. The package knows neither what questions are asked nor HTTP.
package roundtrip

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// Lifetime is how long a state can be used.
const Lifetime = time.Hour

// prefix tells states of this form from those that later versions may make.
const prefix = "v1."

// ErrState is the answer to every state that is no good: tampered with, of another call or caller, or too old. Nobody can tell
// which.
var ErrState = errors.New("the request state is not valid for this call, or has expired")

// Call is what a state belongs to.
type Call struct {
	// Namespace is the tenant's.
	Namespace string
	// Owner is the caller.
	Owner v1alpha1.Owner
	// Tool and Generation are the tool, as it asked.
	Tool       types.UID
	Generation int64
	// Arguments are the call's, a JSON object. White space and the order of members do not matter.
	Arguments json.RawMessage
}

// Sealer seals and opens states. It is safe for concurrent use.
type Sealer struct {
	aead   cipher.AEAD
	clock  clock.PassiveClock
	shared bool
}

// keySize is the length of a key in bytes.
const keySize = 32

// NewSealer makes a Sealer from a key of 32 bytes, which all replicas share.
func NewSealer(key []byte, clock clock.PassiveClock) (*Sealer, error) {
	s, err := newSealer(key, clock)
	if err == nil {
		s.shared = true
	}
	return s, err
}

// NewLocalSealer makes a Sealer with a key of its own: its states are good until the process ends, and at this replica only.
func NewLocalSealer(clock clock.PassiveClock) (*Sealer, error) {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	return newSealer(key, clock)
}

// Shared reports whether other replicas can open the states, too.
func (s *Sealer) Shared() bool { return s.shared }

func newSealer(key []byte, clock clock.PassiveClock) (*Sealer, error) {
	if len(key) != keySize {
		return nil, fmt.Errorf("the key for request states has %d bytes, not %d", len(key), keySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Sealer{aead: aead, clock: clock}, nil
}

// content is what a state says, to those who can open it.
type content struct {
	Expires time.Time                  `json:"expires"`
	Answers map[string]v1alpha1.Answer `json:"answers,omitempty"`
}

// Seal makes the state of a call with these answers.
func (s *Sealer) Seal(call Call, answers map[string]v1alpha1.Answer) (string, error) {
	binding, err := call.binding()
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(content{Expires: s.clock.Now().Add(Lifetime), Answers: answers})
	if err != nil {
		return "", fmt.Errorf("write a request state: %w", err)
	}
	return prefix + base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, binding)), nil
}

// Open returns the answers in a state that was sealed for the same call, or ErrState.
func (s *Sealer) Open(call Call, state string) (map[string]v1alpha1.Answer, error) {
	encoded, ok := strings.CutPrefix(state, prefix)
	// Strict: the characters that a state may end with are not a matter of taste.
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil || strings.ContainsAny(encoded, "\r\n") { // which base64 would skip
		return nil, ErrState
	}
	binding, err := call.binding()
	if err != nil {
		return nil, err
	}
	plain, err := s.aead.Open(nil, nil, sealed, binding)
	if err != nil {
		return nil, ErrState
	}
	var c content
	if err := json.Unmarshal(plain, &c); err != nil {
		return nil, fmt.Errorf("read a request state: %w", err)
	}
	if !s.clock.Now().Before(c.Expires) {
		return nil, ErrState
	}
	return c.Answers, nil
}

// binding is a hash of what the state belongs to.
func (c Call) binding() ([]byte, error) {
	var arguments any
	decoder := json.NewDecoder(bytes.NewReader(c.Arguments))
	decoder.UseNumber()
	if err := decoder.Decode(&arguments); err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	// As JSON, two different calls never look alike.
	canonical, err := json.Marshal([]any{c.Namespace, c.Owner.Issuer, c.Owner.Subject, c.Tool, c.Generation, arguments})
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(canonical)
	return hash[:], nil
}
