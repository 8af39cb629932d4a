// Package crash ends in the middle of a test.
package crash

import "testing"

func TestBefore(t *testing.T) {}

func TestPanics(t *testing.T) {
	t.Run("inner", func(t *testing.T) { panic("lost my mind") })
}
