package fuzzy

import "testing"

func FuzzGood(f *testing.F) {
	f.Add("x")
	f.Fuzz(func(*testing.T, string) {})
}

func FuzzBad(f *testing.F) {
	f.Add("x")
	f.Fuzz(func(t *testing.T, s string) { t.Errorf("found %q", s) })
}

func FuzzNothing(f *testing.F) { f.Skip("no moon") }
