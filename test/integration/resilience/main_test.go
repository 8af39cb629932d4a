//go:build unix

// Package resilience tests that nothing is run twice and nothing is lost, whatever happens to the programs: the product's
// controllers and endpoints really run, with no more rights than the chart gives them, and are killed, held up and replaced; so
// are the components of the control plane. The Job controller is Kubernetes' own; the tests play the kubelet, which leaves a mark
// for each container that it starts. It needs an API server (package setup) that no other test uses at the same time.
package resilience

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/test/integration/setup"
	"github.com/mcptasks/mcptasks/test/kube"
)

const (
	// release is the namespace of the programs, their lease and their key; renamed is that of another lease.
	release = "integration-resilience"
	renamed = "integration-resilience-renamed"
	// keySecret is the endpoints' Secret.
	keySecret = "keys"
	// The programs' service accounts, in the namespace release.
	controllerAccount = "controller"
	endpointAccount   = "endpoint"
)

var (
	// cluster is the cluster under test; nil where there is none.
	cluster *kube.Cluster
	program setup.Program
	// controllerConfig and endpointConfig lead the programs to the cluster with their own rights.
	controllerConfig, endpointConfig string
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "resilience tests:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if cluster, err = setup.Cluster(release); err != nil || cluster == nil {
		return m.Run(), err
	}
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "resilience-*")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if program, err = setup.Build(ctx, dir); err != nil {
		return 0, err
	}
	controllerConfig, endpointConfig = filepath.Join(dir, "controller"), filepath.Join(dir, "endpoint")
	if err := prepare(ctx); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// prepare makes the programs' accounts and gives them their rights.
func prepare(ctx context.Context) error {
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: renamed}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: release, Name: keySecret}},
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: release, Name: keySecret}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{keySecret}, Verbs: []string{"get", "update"},
		}}},
		bind("Role", keySecret, release, endpointAccount),
	}
	for _, account := range []string{controllerAccount, endpointAccount} {
		objects = append(objects,
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: release, Name: account}},
			bind("ClusterRole", "mcptasks-"+account, "", account))
	}
	for _, namespace := range []string{release, renamed} {
		objects = append(objects, bind("Role", "mcptasks-controller", namespace, controllerAccount))
	}
	for _, object := range objects {
		if err := cluster.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	roles, err := readRoles()
	if err != nil {
		return err
	}
	if err := cluster.ApplyManifests(ctx, roles...); err != nil {
		return err
	}
	return errors.Join(
		setup.WriteKubeconfig(ctx, cluster, release, controllerAccount, controllerConfig),
		setup.WriteKubeconfig(ctx, cluster, release, endpointAccount, endpointConfig))
}

// readRoles reads the programs' roles as the chart has them. That on the lease is there for each namespace that has one.
func readRoles() ([]*unstructured.Unstructured, error) {
	dir := filepath.Join("..", "..", "..", "config", "rbac")
	roles, err := kube.ReadManifests(filepath.Join(dir, "controller.yaml"), filepath.Join(dir, "endpoint.yaml"))
	if err != nil {
		return nil, err
	}
	for _, role := range roles {
		if role.GetKind() == "Role" {
			role.SetNamespace(release)
			other := role.DeepCopy()
			other.SetNamespace(renamed)
			roles = append(roles, other)
		}
	}
	return roles, nil
}

// bind gives a role to one of the programs: in a namespace, or everywhere where that is empty.
func bind(kind, role, namespace, account string) client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: release + "-" + role}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: release, Name: account}}
	if namespace == "" {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	}
	return &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
}
