//go:build unix

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed baseline.yaml
var baselineFile []byte

// baseline is what of the suite cannot pass here, and why.
type baseline struct {
	// reasons are by scenario, as baseline.yaml names it.
	reasons map[string]reasons
}

// readBaseline reads a file of groups of checks that have one reason in common. It refuses what would hide a mistake: a group
// without a reason, a check that is named twice.
func readBaseline(file []byte) (*baseline, error) {
	var groups []struct {
		Why    string              `json:"why"`
		Checks map[string][]string `json:"checks"`
	}
	if err := yaml.UnmarshalStrict(file, &groups); err != nil {
		return nil, fmt.Errorf("read the baseline: %w", err)
	}
	b := &baseline{reasons: map[string]reasons{}}
	var problems []error
	for i, group := range groups {
		why := strings.TrimSpace(group.Why)
		if why == "" || len(group.Checks) == 0 {
			problems = append(problems, fmt.Errorf("group %d of the baseline lacks a reason or checks", i+1))
		}
		for scenario, ids := range group.Checks {
			if b.reasons[scenario] == nil {
				b.reasons[scenario] = reasons{}
			}
			for _, id := range ids {
				if _, twice := b.reasons[scenario][id]; twice {
					problems = append(problems, fmt.Errorf("the baseline has %s of %s twice", id, scenario))
				}
				b.reasons[scenario][id] = why
			}
		}
	}
	return b, errors.Join(problems...)
}

// everything stands in the baseline for all checks of a scenario, but that of the wire's schema.
const everything = "*"

// reasons are why checks of a scenario cannot pass, by check.
type reasons map[string]string

// find returns the entry that a check falls under and its reason; the entry is empty where there is none.
func (r reasons) find(id string) (entry, why string) {
	if why, ok := r[id]; ok {
		return id, why
	}
	if why, ok := r[everything]; ok && id != wireSchema {
		return everything, why
	}
	return "", ""
}

// of returns the reasons for a scenario at a revision. What the baseline says of the scenario holds at all of them, what it says
// of scenario@revision there only.
func (b *baseline) of(s scenario) reasons {
	all := maps.Clone(b.reasons[s.name])
	if all == nil {
		all = reasons{}
	}
	if s.revision != "" {
		maps.Copy(all, b.reasons[s.String()])
	}
	return all
}

// unknown lists the scenarios of the baseline that are not among all.
func (b *baseline) unknown(all []scenario) []string {
	var names []string
	for name := range b.reasons {
		if !slices.ContainsFunc(all, func(s scenario) bool { return s.name == name || s.String() == name }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
