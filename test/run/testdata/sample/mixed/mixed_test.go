// Package mixed has every outcome that a test can have.
package mixed

import "testing"

func TestPasses(t *testing.T) {}

func TestSkips(t *testing.T) { t.Skip("no moon") }

func TestFails(t *testing.T) { t.Error("two is not three") }

func TestParent(t *testing.T) {
	t.Run("good", func(t *testing.T) {})
	t.Run("bad", func(t *testing.T) { t.Fatal("deep reason") })
}

func TestParentFailsByItself(t *testing.T) {
	t.Run("good", func(t *testing.T) {})
	t.Error("after the subtests")
}
