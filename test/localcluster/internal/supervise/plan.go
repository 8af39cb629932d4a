//go:build unix

// Package supervise runs a cluster's components: in order, each one again when it ends, all of them together as long as the
// supervisor lives. It knows nothing of Kubernetes; a Plan says what to run and how to see that it is ready.
package supervise

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Plan is what a supervisor runs.
type Plan struct {
	// Components are started in this order and stopped in the reverse one.
	Components []Component `json:"components"`
	// StateFile is where the supervisor writes a State whenever it changes.
	StateFile string `json:"stateFile"`
	// HoldDir is a directory in which a file with a component's name keeps that component down: see Hold.
	HoldDir string `json:"holdDir"`
}

// Hold makes the supervisor of a plan kill a component and keep it down until Release. It returns at once; the component's
// Status tells when it is done.
func Hold(p Plan, component string) error {
	if err := os.MkdirAll(p.HoldDir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(p.holdFile(component), nil, 0o600)
}

// Release makes the supervisor of a plan start a component again that Hold keeps down. It is no error if none does.
func Release(p Plan, component string) error {
	if err := os.Remove(p.holdFile(component)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (p Plan) holdFile(component string) string { return filepath.Join(p.HoldDir, component) }

// Component is a program to be kept running.
type Component struct {
	Name string   `json:"name"`
	Path string   `json:"path"`
	Args []string `json:"args"`
	Env  []string `json:"env,omitempty"`
	// Log is the file that takes the component's output.
	Log string `json:"log"`
	// Lock, if set, is a file that the component holds locked, and that has its process id, as long as it lives: with it a
	// component that outlived its supervisor is found.
	Lock string `json:"lock,omitempty"`
	// Ready tells whether the component does its work.
	Ready Probe `json:"ready"`
	// Gate delays the components after this one until it has been ready once.
	Gate bool `json:"gate,omitempty"`
}

// Probe is a way to see that a component is ready. Exactly one of URL and Socket is set.
type Probe struct {
	// URL answers 200 when the component is ready.
	URL string `json:"url,omitempty"`
	// CA is a file with the authority of an https URL's certificate. Without one any certificate will do; that is for
	// components that make their own and are asked on the loopback interface.
	CA string `json:"ca,omitempty"`
	// Socket is a Unix socket that can be connected to when the component is ready.
	Socket string `json:"socket,omitempty"`
}

// State is what a supervisor knows of its components.
type State struct {
	Components []Status `json:"components"`
}

// Status is the state of one component.
type Status struct {
	Name string `json:"name"`
	// PID is the process id as the supervisor sees it, which may be in a namespace of its own; 0 when the component isn't
	// running.
	PID   int  `json:"pid"`
	Ready bool `json:"ready"`
	// Held: the component is down because Hold keeps it so.
	Held bool `json:"held,omitempty"`
	// Restarts counts how often the component ended by itself and was started again, since it was first started or released.
	Restarts int `json:"restarts"`
	// Detail says why the component isn't ready.
	Detail string    `json:"detail,omitempty"`
	Since  time.Time `json:"since"`
	Log    string    `json:"log"`
}

// ReadPlan reads a plan from a file.
func ReadPlan(name string) (Plan, error) {
	var p Plan
	return p, readJSON(name, &p)
}

// WritePlan writes a plan to a file.
func WritePlan(name string, p Plan) error { return writeJSON(name, p) }

// ReadState reads what a supervisor last wrote.
func ReadState(name string) (State, error) {
	var s State
	return s, readJSON(name, &s)
}

// Component returns the status of the component with a name.
func (s State) Component(name string) (Status, bool) {
	for _, c := range s.Components {
		if c.Name == name {
			return c, true
		}
	}
	return Status{}, false
}

func readJSON(name string, v any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// writeJSON replaces a file at once, so that a reader never sees half of it.
func writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	draft := name + ".new"
	if err := os.WriteFile(draft, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(draft, name)
}
