//go:build unix

package cluster

import (
	"context"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/supervise"
)

// Status is what can be told of a cluster.
type Status struct {
	Name string `json:"name"`
	Mode Mode   `json:"mode"`
	// Healthy: every component is ready, and the API server and cluster DNS answer.
	Healthy bool `json:"healthy"`
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

// Status tells what the cluster is doing.
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
	if err != nil || !running {
		return s, err
	}
	s.Supervisor = pid
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
	s.Healthy = c.healthy(ctx)
	return s, nil
}
