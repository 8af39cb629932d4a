// Package setup gives the integration tests a real API server that knows the project's CRDs. Which one is for whoever runs them
// to say (make test-integration); no test starts one.
package setup

import (
	"context"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/test/kube"
)

// Kubeconfig is the environment variable that names the administrator's kubeconfig.
const Kubeconfig = "MCPTASKS_INTEGRATION_KUBECONFIG"

// Skip is what a test says where there is no API server.
const Skip = Kubeconfig + " is not set; make test-integration sets it"

// patience is how long the API server may take to serve new CRDs.
const patience = time.Minute

// Cluster connects to the API server and installs the CRDs and a namespace; nil where there is none. The working directory is
// that of a package two levels below test.
func Cluster(namespace string) (*kube.Cluster, error) {
	kubeconfig := os.Getenv(Kubeconfig)
	if kubeconfig == "" {
		return nil, nil
	}
	cluster, err := kube.Open(kubeconfig)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := cluster.InstallCRDs(ctx, filepath.Join("..", "..", "..")); err != nil {
		return nil, err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := cluster.Create(ctx, ns); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	return cluster, nil
}
