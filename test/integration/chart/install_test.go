package chart

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/integration/setup"
	"github.com/mcptasks/mcptasks/test/kube"
)

const patience = time.Minute

func openCluster(t *testing.T) (*kube.Cluster, string) {
	t.Helper()
	kubeconfig := os.Getenv(setup.Kubeconfig)
	if kubeconfig == "" {
		t.Skip(setup.Skip)
	}
	cluster, err := kube.Open(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return cluster, kubeconfig
}

// TestPodsAreRestricted: a namespace that enforces the strictest Pod Security Standard takes the chart's pods.
func TestPodsAreRestricted(t *testing.T) {
	cluster, _ := openCluster(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "integration-restricted", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := cluster.Create(t.Context(), ns); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{}
	eventually(t, "pods may be created in the new namespace", func(ctx context.Context) (bool, error) {
		err := cluster.Get(ctx, client.ObjectKey{Namespace: ns.Name, Name: "default"}, account)
		return err == nil, client.IgnoreNotFound(err)
	})
	objects := render(t)
	for _, component := range []string{"controller", "endpoint"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: component}}
		pod.Spec = deployment(t, objects, component).Spec.Template.Spec
		pod.Spec.ServiceAccountName = ""
		pod.Spec.AutomountServiceAccountToken = new(bool)
		if err := cluster.Create(t.Context(), pod, client.DryRunAll); err != nil {
			t.Errorf("%s: %v", component, err)
		}
		pod.Spec.Containers[0].SecurityContext = nil
		if err := cluster.Create(t.Context(), pod, client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Fatalf("error %v for a pod without restrictions: the namespace does not enforce anything", err)
		}
	}
}

// TestUpgradeAndUninstall_B34: an upgrade brings the CRDs up to date, and no tool is lost by it or by an uninstall.
func TestUpgradeAndUninstall_B34(t *testing.T) {
	cluster, kubeconfig := openCluster(t)
	ctx := t.Context()
	removeCRDs(t, cluster)
	install := func(chart string) {
		t.Helper()
		if _, err := helm(ctx, t, "upgrade", "--install", release, chart, "--namespace", namespace, "--create-namespace",
			"--kubeconfig", kubeconfig); err != nil {
			t.Fatal(err)
		}
	}
	uninstall := func(ctx context.Context) {
		t.Helper()
		if _, err := helm(ctx, t, "uninstall", release, "--namespace", namespace, "--kubeconfig", kubeconfig,
			"--ignore-not-found"); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { uninstall(context.Background()) })

	install(olderChart(t))
	tool := &v1alpha1.MCPTool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hello"}}
	tool.Spec.Description, tool.Spec.Title = "says hello", "Hello"
	tool.Spec.Execution.Retention.Task = &metav1.Duration{Duration: time.Hour}
	tool.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "hello"}}
	eventually(t, "the older CRD is served", func(ctx context.Context) (bool, error) {
		err := cluster.Create(ctx, tool.DeepCopy())
		return err == nil, ignoreNotServed(err)
	})
	key := client.ObjectKeyFromObject(tool)
	if err := cluster.Get(ctx, key, tool); err != nil {
		t.Fatal(err)
	}
	if tool.Spec.Title != "" {
		t.Fatal("the older CRD knows the field that it should not: the test tests nothing")
	}

	fillSecret(t, cluster, "filled by the endpoint")
	install(chartDir)
	if got := endpointSecret(t, cluster).Data["seed"]; string(got) != "filled by the endpoint" {
		t.Errorf("the upgrade left %q of what the endpoint had put into its Secret", got)
	}
	eventually(t, "the new field is kept", func(ctx context.Context) (bool, error) {
		if err := cluster.Get(ctx, key, tool); err != nil {
			return false, err
		}
		tool.Spec.Title = "Hello"
		err := cluster.Update(ctx, tool)
		return tool.Spec.Title == "Hello", err
	})

	uninstall(ctx)
	if err := cluster.Get(ctx, key, tool); err != nil {
		t.Errorf("the tool did not survive the uninstall: %v", err)
	}
	deployments := &unstructured.UnstructuredList{}
	deployments.SetAPIVersion("apps/v1")
	deployments.SetKind("DeploymentList")
	if err := cluster.List(ctx, deployments, client.InNamespace(namespace)); err != nil || len(deployments.Items) > 0 {
		t.Errorf("%d deployments are left (error %v)", len(deployments.Items), err)
	}

	install(chartDir) // what an uninstall leaves does not stand in the way
}

// endpointSecret is the Secret that the chart makes and the endpoint fills.
func endpointSecret(t *testing.T, cluster *kube.Cluster) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: namespace, Name: release + "-mcptasks-endpoint"}
	if err := cluster.Get(t.Context(), key, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

// fillSecret does what the endpoint does when it starts.
func fillSecret(t *testing.T, cluster *kube.Cluster, seed string) {
	t.Helper()
	secret := endpointSecret(t, cluster)
	secret.Data = map[string][]byte{"seed": []byte(seed)}
	if err := cluster.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// olderChart is the chart as it may have been before MCPTool had spec.title.
func olderChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "mcptasks")
	if err := os.CopyFS(dir, os.DirFS(chartDir)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "files", "crds", "mcptasks.dev_mcptools.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var crd map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	version := crd["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	unstructured.RemoveNestedField(version, "schema", "openAPIV3Schema", "properties", "spec", "properties", "title")
	if text, err = yaml.Marshal(crd); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// removeCRDs removes what other tests may have left on the API server that they share with this one.
func removeCRDs(t *testing.T, cluster *kube.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, file := range []string{"mcptasks.dev_mcptasks.yaml", "mcptasks.dev_mcptools.yaml"} {
		for _, crd := range documents(t, "config", "crd", file) {
			if err := client.IgnoreNotFound(cluster.Delete(ctx, crd)); err != nil {
				t.Fatal(err)
			}
			if err := cluster.WaitGone(ctx, crd, kube.Key(crd)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func eventually(t *testing.T, what string, done func(context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := kube.Poll(ctx, done); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// ignoreNotServed ignores that a CRD which has just been made is not served yet.
func ignoreNotServed(err error) error {
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	return err
}
