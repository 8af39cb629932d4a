// Package api tests the CRDs on a real API server: what it fills in, what it refuses and in which words, and that nothing that
// is final can be changed. It needs an API server (package setup) and kubectl in MCPTASKS_KUBECTL; nothing of mcptasks has to
// run.
package api

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/test/integration/setup"
	"github.com/mcptasks/mcptasks/test/kube"
)

// namespace is where the tests put their objects.
const namespace = "integration-api"

// cluster is the cluster under test; nil where there is none.
var cluster *kube.Cluster

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "API tests:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if cluster, err = setup.Cluster(namespace); err != nil {
		return 0, err
	}
	code = m.Run()
	if cluster == nil {
		return code, nil
	}
	// Nothing is left for other packages' controllers to find. The namespace itself stays: deleting takes long.
	ctx := context.Background()
	return code, errors.Join(
		cluster.DeleteAllOf(ctx, newTool(), client.InNamespace(namespace)),
		cluster.DeleteAllOf(ctx, newTask(), client.InNamespace(namespace)),
	)
}

func needCluster(t *testing.T) {
	t.Helper()
	if cluster == nil {
		t.Skip(setup.Skip)
	}
}
