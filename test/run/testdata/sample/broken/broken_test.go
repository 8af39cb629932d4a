// Package broken does not compile.
package broken

import "testing"

func TestNever(t *testing.T) { var unused int }
