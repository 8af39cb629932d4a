// Package endpoint tests the endpoint on a real API server: the program itself, two replicas of it, with no more rights than
// the chart gives it. The tests play the controller. It needs an API server (package setup), and nothing else of mcptasks has
// to run.
package endpoint

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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/integration/setup"
	"github.com/mcptasks/mcptasks/test/kube"
)

const (
	// catalog is the catalog namespace.
	catalog = "integration-endpoint-catalog"
	// tenant is a tenant's namespace, small is that of one with a quota of one task, and none belongs to nobody.
	tenant = "integration-endpoint"
	small  = "integration-endpoint-small"
	none   = "integration-endpoint-none"
	// agent and other are service accounts in each of them.
	agent = "agent"
	other = "other"
	// countTasks is what the quota limits.
	countTasks corev1.ResourceName = "count/mcptasks.mcptasks.dev"
)

var (
	// cluster is the cluster under test; nil where there is none.
	cluster *kube.Cluster
	// program is the program under test, and kubeconfig leads it to the cluster with its own rights.
	program    setup.Program
	kubeconfig string
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "endpoint tests:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if cluster, err = setup.Cluster(catalog); err != nil || cluster == nil {
		return m.Run(), err
	}
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "endpoint-*")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	kubeconfig = filepath.Join(dir, "kubeconfig")
	if program, err = setup.Build(ctx, dir); err != nil {
		return 0, err
	}
	if err := prepare(ctx); err != nil {
		return 0, err
	}
	code = m.Run()
	for _, namespace := range []string{catalog, tenant, small} {
		err = errors.Join(err,
			cluster.DeleteAllOf(ctx, &v1alpha1.MCPTool{}, client.InNamespace(namespace)),
			cluster.DeleteAllOf(ctx, &v1alpha1.MCPTask{}, client.InNamespace(namespace)))
	}
	return code, err
}

// prepare makes the tenants and gives the program its rights.
func prepare(ctx context.Context) error {
	owned := func(name, owner string) *corev1.Namespace {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if owner != "" {
			ns.Labels = map[string]string{v1alpha1.LabelTenant: owner}
		}
		return ns
	}
	objects := []client.Object{owned(tenant, "a"), owned(small, "b"), owned(none, "")}
	for _, namespace := range []string{catalog, tenant, small, none} {
		for _, name := range []string{agent, other} {
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			objects = append(objects, account)
		}
	}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: small, Name: "tasks"}}
	quota.Spec.Hard = corev1.ResourceList{countTasks: resource.MustParse("1")}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: catalog},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "mcptasks-endpoint"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: catalog, Name: agent}},
	}
	for _, object := range append(objects, quota, binding) {
		if err := cluster.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	// Kubernetes' controller counts what a new CRD makes after some minutes only.
	quota.Status = corev1.ResourceQuotaStatus{
		Hard: quota.Spec.Hard, Used: corev1.ResourceList{countTasks: resource.MustParse("0")},
	}
	quota.ResourceVersion = ""
	if err := cluster.Status().Update(ctx, quota); err != nil {
		return err
	}
	role, err := kube.ReadManifests(filepath.Join("..", "..", "..", "config", "rbac", "endpoint.yaml"))
	if err != nil {
		return err
	}
	if err := cluster.ApplyManifests(ctx, role...); err != nil {
		return err
	}
	return setup.WriteKubeconfig(ctx, cluster, catalog, agent, kubeconfig)
}
