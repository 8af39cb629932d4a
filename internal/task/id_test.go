package task

import (
	"bytes"
	"crypto/rand"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNewID_A08_T61(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id, err := NewID(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if problems := validation.IsDNS1123Label(id); len(problems) > 0 || len(id) != 28 {
			t.Fatalf("%q: %v", id, problems)
		}
		if seen[id] {
			t.Fatalf("%q a second time", id)
		}
		seen[id] = true
	}
}

func TestNewIDNeedsAllOfItsRandomness(t *testing.T) {
	if id, err := NewID(bytes.NewReader(make([]byte, 15))); err == nil {
		t.Errorf("15 bytes gave %q", id)
	}
}
