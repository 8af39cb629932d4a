//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mcptasks/mcptasks/test/kube"
)

// readyTimeout is how long the controller may take to let agents see tools that are new or were changed.
const readyTimeout = time.Minute

// bench is what the clients are let loose on, and what they need for it.
type bench struct {
	clients *clients
	cluster *kube.Cluster
	// address is the endpoint's host and port, token the agent's token for it.
	address, token string
	unsteady       *unsteady
	// work is a directory for the clients' files.
	work string
}

// openBench prepares the tenant and opens a way to the endpoint, which is closed when ctx ends.
func openBench(ctx context.Context, cluster *kube.Cluster, clients *clients) (*bench, error) {
	if err := prepare(ctx, cluster); err != nil {
		return nil, err
	}
	token, err := cluster.Token(ctx, tenant, agent)
	if err != nil {
		return nil, err
	}
	pods, err := cluster.ReadyPods(ctx, kube.Namespace, kube.EndpointLabels)
	if err != nil {
		return nil, err
	}
	if len(pods) == 0 {
		return nil, fmt.Errorf("no pod of the endpoint is ready in the namespace %s", kube.Namespace)
	}
	address, err := cluster.Forward(ctx, &pods[0], kube.EndpointPort)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "conformance-*")
	if err != nil {
		return nil, err
	}
	return &bench{
		clients: clients, cluster: cluster, address: address, token: token,
		unsteady: &unsteady{cluster: cluster}, work: work,
	}, nil
}

// url is where the endpoint speaks MCP.
func (b *bench) url() string { return "http://" + b.address + "/mcp" }

// close removes the clients' files.
func (b *bench) close() { _ = os.RemoveAll(b.work) }

// home makes an empty directory for a client's files.
func (b *bench) home(name string) (string, error) {
	dir := filepath.Join(b.work, name)
	return dir, os.MkdirAll(dir, 0o700)
}
