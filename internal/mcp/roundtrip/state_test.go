package roundtrip

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

var (
	now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	key = bytes.Repeat([]byte("k"), 32)
)

func sealer(t *testing.T, key []byte) (*Sealer, *testclock.FakePassiveClock) {
	t.Helper()
	clock := testclock.NewFakePassiveClock(now)
	s, err := NewSealer(key, clock)
	if err != nil {
		t.Fatal(err)
	}
	return s, clock
}

func aCall(changes ...func(*Call)) Call {
	c := Call{
		Namespace: "team-a", Owner: v1alpha1.Owner{Issuer: "kubernetes", Subject: "alice"},
		Tool: "uid", Generation: 3, Arguments: []byte(`{"a":1,"b":[9007199254740993]}`),
	}
	for _, change := range changes {
		change(&c)
	}
	return c
}

var answers = map[string]v1alpha1.Answer{
	"name": {Action: v1alpha1.AnswerAccept, Content: `{"name":"<Ann>","n":9007199254740993}`},
}

// S-93: whatever is not exactly what was given out, for the very same call, is refused.
func TestOpen_S93_S104(t *testing.T) {
	s, clock := sealer(t, key)
	state, err := s.Seal(aCall(), answers)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(state, "Ann") {
		t.Errorf("the state is %s", state)
	}
	if again, err := s.Seal(aCall(), answers); err != nil || again == state {
		t.Errorf("sealed again it is the same (%v)", err)
	}
	other, _ := sealer(t, bytes.Repeat([]byte("o"), 32))
	foreign, err := other.Seal(aCall(), answers)
	if err != nil {
		t.Fatal(err)
	}
	replica, _ := sealer(t, key)
	for _, tt := range []struct {
		name  string
		s     *Sealer
		call  Call
		state string
		after time.Duration
		good  bool
	}{
		{"the same call", s, aCall(), state, 0, true},
		{"another replica", replica, aCall(), state, 0, true},
		{"arguments written in another way", s, aCall(func(c *Call) {
			c.Arguments = []byte("{ \"b\": [9007199254740993],\n\"a\": 1 }")
		}), state, 0, true},
		{"just in time", s, aCall(), state, Lifetime - 1, true},
		{"too late", s, aCall(), state, Lifetime, false},
		{"another tenant", s, aCall(func(c *Call) { c.Namespace = "team-b" }), state, 0, false},
		{"another issuer", s, aCall(func(c *Call) { c.Owner.Issuer = "elsewhere" }), state, 0, false},
		{"another caller", s, aCall(func(c *Call) { c.Owner.Subject = "bob" }), state, 0, false},
		{"another tool", s, aCall(func(c *Call) { c.Tool = "other" }), state, 0, false},
		{"a changed tool", s, aCall(func(c *Call) { c.Generation = 4 }), state, 0, false},
		{"another argument", s, aCall(func(c *Call) { c.Arguments = []byte(`{"a":2}`) }), state, 0, false},
		{"a number that a float cannot tell apart", s, aCall(func(c *Call) {
			c.Arguments = []byte(`{"a":1,"b":[9007199254740992]}`)
		}), state, 0, false},
		{"another key", s, aCall(), foreign, 0, false},
		{"something behind it", s, aCall(), state + "-TAMPERED", 0, false},
		{"something before it", s, aCall(), "v1." + state, 0, false},
		{"one character less", s, aCall(), state[:len(state)-1], 0, false},
		{"white space", s, aCall(), state + "\n", 0, false},
		{"of another form", s, aCall(), "v2" + state[2:], 0, false},
		{"nothing", s, aCall(), "", 0, false},
		{"next to nothing", s, aCall(), prefix, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock.SetTime(now.Add(tt.after))
			got, err := tt.s.Open(tt.call, tt.state)
			if !tt.good {
				if !errors.Is(err, ErrState) || got != nil {
					t.Errorf("got %v, %v; want ErrState", got, err)
				}
				return
			}
			if diff := cmp.Diff(answers, got); err != nil || diff != "" {
				t.Errorf("got the error %v and %s", err, diff)
			}
		})
	}
}

// Every single character counts.
func TestOpenTampered_S93(t *testing.T) {
	s, _ := sealer(t, key)
	state, err := s.Seal(aCall(), answers)
	if err != nil {
		t.Fatal(err)
	}
	for i := range state {
		tampered := []byte(state)
		if tampered[i]++; tampered[i] == '{' {
			tampered[i] = 'A'
		}
		if _, err := s.Open(aCall(), string(tampered)); !errors.Is(err, ErrState) {
			t.Errorf("with another character %d of %d: %v", i, len(state), err)
		}
	}
}

func TestLocalSealersKeepToThemselves(t *testing.T) {
	clock := testclock.NewFakePassiveClock(now)
	var sealers [2]*Sealer
	for i := range sealers {
		s, err := NewLocalSealer(clock)
		if err != nil || s.Shared() {
			t.Fatalf("shared (%v)", err)
		}
		sealers[i] = s
	}
	state, err := sealers[0].Seal(aCall(), answers)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sealers[0].Open(aCall(), state); err != nil {
		t.Error(err)
	}
	if _, err := sealers[1].Open(aCall(), state); !errors.Is(err, ErrState) {
		t.Errorf("another process opens it: %v", err)
	}
}

func TestNewSealerNeedsAKey(t *testing.T) {
	for _, size := range []int{0, 16, 31, 33} {
		if _, err := NewSealer(make([]byte, size), testclock.NewFakePassiveClock(now)); err == nil {
			t.Errorf("a key of %d bytes is taken", size)
		}
	}
}
