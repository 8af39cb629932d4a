// Package e2e tests what the chart installs, from outside: an MCP client talks to the endpoint's replicas, the cluster's API
// shows what that led to, and pods really run. It needs a cluster with the chart installed in the namespace mcptasks and the
// images of test/images, and the kubeconfig of its administrator in MCPTASKS_E2E_KUBECONFIG (make test-e2e sees to all of it).
//
// The tests import nothing of the product but its API types, so that they cannot share its mistakes. Those that run in parallel
// have a tenant each; those that end the product's pods run alone.
package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/mcptasks/mcptasks/test/kube"
)

// patience is how long anything may take that the cluster has to do, pods starting on a busy machine included.
const patience = 2 * time.Minute

// cluster is the cluster under test; nil where there is none.
var cluster *kube.Cluster

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "end-to-end tests:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	kubeconfig := os.Getenv("MCPTASKS_E2E_KUBECONFIG")
	if kubeconfig == "" {
		return m.Run(), nil // each test skips itself
	}
	var err error
	if cluster, err = kube.Open(kubeconfig); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := installSamples(ctx); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// installSamples puts all sample tools into the catalog. Each has to be ready.
func installSamples(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "samples", "*.yaml"))
	if err != nil {
		return err
	}
	objects, err := kube.ReadManifests(files...)
	if err != nil {
		return err
	}
	objects = slices.DeleteFunc(objects, func(obj *unstructured.Unstructured) bool { return obj.GetKind() != "MCPTool" })
	if err := cluster.ApplyManifests(ctx, objects...); err != nil {
		return err
	}
	for _, obj := range objects {
		if err := cluster.WaitReady(ctx, kube.Key(obj)); err != nil {
			return err
		}
	}
	return nil
}
