//go:build unix

package cluster

import (
	"context"
	"time"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/supervise"
)

// Status is what can be told of a cluster.
type Status struct {
	Name string `json:"name"`
	Mode Mode   `json:"mode"`
	// Healthy: every component is ready, and the API server and cluster DNS answer.
	Healthy bool `json:"healthy"`
	// Problem says why the cluster isn't healthy.
	Problem string `json:"problem,omitempty"`
	// Supervisor is the process id of the supervisor, 0 if it doesn't run.
	Supervisor int `json:"supervisor"`
	// Programs is the directory of kubectl, helm, and the cluster's own programs.
	Programs   string             `json:"programs"`
	Kubeconfig string             `json:"kubeconfig"`
	APIServer  string             `json:"apiServer"`
	Network    Network            `json:"network"`
	Logs       string             `json:"logs"`
	Components []supervise.Status `json:"components"`
}

// statusPatience is how long a running cluster may take to prove that it is healthy.
const statusPatience = 10 * time.Second

// Status tells what the cluster is doing. If it doesn't prove healthy at once, that takes up to ten seconds.
func (c *Cluster) Status(ctx context.Context) (Status, error) {
	s := Status{
		Name:       c.Name,
		Mode:       c.spec.Mode,
		Programs:   c.spec.Programs,
		Kubeconfig: c.Kubeconfig(),
		APIServer:  c.spec.Network.APIServer(),
		Network:    c.spec.Network,
		Logs:       c.path("logs"),
	}
	pid, running, err := c.supervisor()
	if err != nil {
		return s, err
	}
	if !running {
		s.Problem = "it doesn't run"
		return s, nil
	}
	s.Supervisor = pid
	if err := c.settledHealth(ctx, statusPatience); err != nil {
		s.Problem = err.Error()
	}
	s.Healthy = s.Problem == ""
	state, err := supervise.ReadState(c.stateFile())
	if err != nil {
		return s, err
	}
	s.Components = state.Components
	if c.spec.Mode == Full {
		outside := machinePIDs(pid)
		for i, component := range s.Components {
			s.Components[i].PID = outside[component.PID]
		}
	}
	return s, nil
}
