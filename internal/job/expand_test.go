package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	literal := func(s string) part { return part{literal: s} }
	variable := func(s string) part { return part{variable: s} }
	tests := []struct {
		text string
		want []part
	}{
		{"", nil},
		{"plain", []part{literal("plain")}},
		{"$(A)", []part{variable("A")}},
		{"x$(A)y$(B)", []part{literal("x"), variable("A"), literal("y"), variable("B")}},
		{"$$(A)", []part{literal("$(A)")}},
		{"$$$(A)", []part{literal("$"), variable("A")}},
		{"$$$$(A)", []part{literal("$$(A)")}},
		{"$", []part{literal("$")}},
		{"$$", []part{literal("$")}},
		{"$A ${B} $", []part{literal("$A ${B} $")}},
		{"$(A", []part{literal("$(A")}},
		{"$($(A)", []part{variable("$(A")}},
		{"$()", []part{literal("$()")}},
		{"$é$(A)", []part{literal("$é"), variable("A")}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, split(tt.text), cmp.AllowUnexported(part{})); diff != "" {
			t.Errorf("split(%q) (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestCompose(t *testing.T) {
	a := makeup{uses: []string{"A"}, leads: []string{"A"}}
	variables := map[string]makeup{"A": a, "B": {uses: []string{"B"}, leads: []string{"B"}}, "TEXT": {solid: true}}
	variables["ALIAS"] = compose("$(A)", variables)
	variables["WRAPPED"] = compose("x$(A)", variables)
	tests := []struct {
		text string
		want makeup
	}{
		{"", makeup{}},
		{"text", makeup{solid: true}},
		{"$(A)", a},
		{"$(ALIAS)", a},
		{"$(A)$(B)$(A)", makeup{uses: []string{"A", "B"}, leads: []string{"A", "B"}}},
		{"$(A)/$(B)", makeup{uses: []string{"A", "B"}, leads: []string{"A"}, solid: true}},
		{"--x=$(A)", makeup{uses: []string{"A"}, solid: true}},
		{"$(TEXT)$(A)", makeup{uses: []string{"A"}, solid: true}},
		{"$(WRAPPED)$(B)", makeup{uses: []string{"A", "B"}, solid: true}},
		{"$(UNKNOWN)$(A)", makeup{uses: []string{"A"}, solid: true}},
		{"$$(A)", makeup{solid: true}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, compose(tt.text, variables), cmp.AllowUnexported(makeup{})); diff != "" {
			t.Errorf("compose(%q) (-want +got):\n%s", tt.text, diff)
		}
	}
}
