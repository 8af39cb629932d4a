package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"

	"sigs.k8s.io/yaml"
)

// list is one of the two lists, in its sections.
type list struct {
	Sections []section `json:"sections"`
}

// section is a part of a list.
type section struct {
	Title   string  `json:"title"`
	Entries []entry `json:"entries"`
}

// entry is a rule of the protocol, or a case of something that goes wrong.
type entry struct {
	// ID is what tests name: S-21 and T-5 for rules, A12, B04 and C19 for cases.
	ID string `json:"id"`
	// Strength is the word of the source, for rules only.
	Strength string `json:"strength,omitempty"`
	// Text says what the rule demands, or what goes wrong.
	Text string `json:"text"`
	// Seen says what a user sees instead, for cases only.
	Seen string `json:"seen,omitempty"`
	// Level is the lowest level at which the entry counts as proved. The default is unit.
	Level level `json:"level,omitempty"`
	// Unbound says why the entry asks nothing of this server. It then needs no test.
	Unbound string `json:"unbound,omitempty"`
	// Waits says what the entry cannot be proved without, and is not there yet. It then needs no test yet, but may have some.
	Waits string `json:"waits,omitempty"`
	// Open says what is still missing for an entry that could be proved.
	Open string `json:"open,omitempty"`
}

var entryID = regexp.MustCompile(`^([ABC]\d{2}|[ST]-\d{1,3})$`)

func readList(file string) (list, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return list{}, err
	}
	l, err := parseList(raw)
	if err != nil {
		return list{}, fmt.Errorf("%s: %w", file, err)
	}
	return l, nil
}

func parseList(raw []byte) (list, error) {
	var l list
	if err := yaml.UnmarshalStrict(raw, &l); err != nil {
		return list{}, err
	}
	var problems []error
	seen := map[string]bool{}
	for i := range l.Sections {
		for j := range l.Sections[i].Entries {
			e := &l.Sections[i].Entries[j]
			if e.Level == "" {
				e.Level = unit
			}
			if err := e.validate(); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", e.ID, err))
			}
			if seen[e.ID] {
				problems = append(problems, fmt.Errorf("%s: listed twice", e.ID))
			}
			seen[e.ID] = true
		}
	}
	return l, errors.Join(problems...)
}

func (e *entry) validate() error {
	exceptions := 0
	for _, why := range []string{e.Unbound, e.Waits, e.Open} {
		if why != "" {
			exceptions++
		}
	}
	switch {
	case !entryID.MatchString(e.ID):
		return errors.New("not an id")
	case e.Text == "":
		return errors.New("no text")
	case !slices.Contains(levels, e.Level):
		return fmt.Errorf("level %q is none of %v", e.Level, levels)
	case exceptions > 1:
		return errors.New("only one of unbound, waits and open can hold")
	}
	return nil
}

// check gives what is wrong with the tests of the lists.
func check(tests []test, lists ...list) []error {
	var problems []error
	listed := map[string]bool{}
	for _, l := range lists {
		for _, s := range l.Sections {
			for _, e := range s.Entries {
				listed[e.ID] = true
				if err := e.check(provers(tests, e.ID)); err != nil {
					problems = append(problems, fmt.Errorf("%s: %w", e.ID, err))
				}
			}
		}
	}
	for _, t := range tests {
		for _, id := range t.ids {
			if !listed[id] {
				problems = append(problems, fmt.Errorf("%s: %s: no list has the id %s", t.file, t.name(), id))
			}
		}
	}
	return problems
}

func (e *entry) check(tests []test) error {
	proved := slices.ContainsFunc(tests, func(t test) bool { return t.level().atLeast(e.Level) })
	switch {
	case e.Unbound != "" && len(tests) > 0:
		return fmt.Errorf("%s: %s names it, but it is said to ask nothing of this server", tests[0].file, tests[0].name())
	case e.Open != "" && proved:
		return errors.New("has its test, and is no longer open")
	case e.Unbound != "" || e.Waits != "" || e.Open != "" || proved:
		return nil
	case len(tests) > 0:
		return fmt.Errorf("no test names it at the level %q or above", e.Level)
	default:
		return errors.New("no test names it")
	}
}

func provers(tests []test, id string) []test {
	var found []test
	for _, t := range tests {
		if slices.Contains(t.ids, id) {
			found = append(found, t)
		}
	}
	return found
}
