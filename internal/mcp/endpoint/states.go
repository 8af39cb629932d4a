package endpoint

import (
	"k8s.io/utils/clock"

	"github.com/mcptasks/mcptasks/internal/mcp/roundtrip"
)

// newStates makes what seals the states of calls that are answered with questions.
func newStates(key []byte, now clock.PassiveClock) (*roundtrip.Sealer, error) {
	if now == nil {
		now = clock.RealClock{}
	}
	if len(key) == 0 {
		return roundtrip.NewLocalSealer(now)
	}
	return roundtrip.NewSealer(key, now)
}
