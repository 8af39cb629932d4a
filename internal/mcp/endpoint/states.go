package endpoint

import (
	"crypto/rand"

	"k8s.io/utils/clock"

	"github.com/mcptasks/mcptasks/internal/mcp/roundtrip"
)

// newStates makes what seals the states of calls that are answered with questions.
func newStates(key []byte, now clock.PassiveClock) (*roundtrip.Sealer, error) {
	if len(key) == 0 {
		key = make([]byte, 32)
		_, _ = rand.Read(key) // never fails
	}
	if now == nil {
		now = clock.RealClock{}
	}
	return roundtrip.NewSealer(key, now)
}
