// Package plugin tests the kubectl plugin as a user runs it: by kubectl, on a real API server (package setup).
package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/integration/setup"
	"github.com/mcptasks/mcptasks/test/kube"
)

const namespace = "integration-plugin"

var (
	// cluster is the cluster under test; nil where there is none.
	cluster *kube.Cluster
	// path is the PATH on which kubectl finds the plugin.
	path string
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "plugin tests:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if cluster, err = setup.Cluster(namespace); err != nil || cluster == nil {
		return m.Run(), err
	}
	dir, err := os.MkdirTemp("", "plugin-*")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	build := exec.Command("go", "build", "-o", dir, "./cmd/kubectl-mcptask")
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the plugin: %w\n%s", err, out)
	}
	path = dir + string(filepath.ListSeparator) + os.Getenv("PATH")
	code = m.Run()
	return code, cluster.DeleteAllOf(context.Background(), &v1alpha1.MCPTask{}, client.InNamespace(namespace))
}

// plugin runs "kubectl mcptask" and gives both its outputs together.
func plugin(t *testing.T, args ...string) (string, error) {
	t.Helper()
	if cluster == nil {
		t.Skip(setup.Skip)
	}
	kubectl := os.Getenv("MCPTASKS_KUBECTL")
	if kubectl == "" {
		t.Fatal("MCPTASKS_KUBECTL is not set; make test-integration sets it")
	}
	cmd := exec.CommandContext(t.Context(), kubectl, append([]string{"mcptask"}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+path, "KUBECONFIG="+os.Getenv(setup.Kubeconfig))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// expect runs the plugin and checks whether it succeeds and what it says.
func expect(t *testing.T, success bool, words string, args ...string) {
	t.Helper()
	out, err := plugin(t, args...)
	if success != (err == nil) || !strings.Contains(out, words) {
		t.Errorf("kubectl mcptask %s: error %v, output %q; want success %t and %q", strings.Join(args, " "), err, out, success, words)
	}
}

func create(t *testing.T, name string) *v1alpha1.MCPTask {
	t.Helper()
	task := &v1alpha1.MCPTask{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.MCPTaskSpec{
			Tool:      v1alpha1.ToolReference{Namespace: "mcptasks", Name: "hello", UID: "1", Generation: 1},
			Arguments: `{"name":"Ann"}`,
			Owner:     v1alpha1.Owner{Issuer: "kubernetes", Subject: "agent"},
			Execution: v1alpha1.Execution{Retention: v1alpha1.Retention{Task: &metav1.Duration{Duration: time.Hour}}},
		},
	}
	if err := cluster.Create(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	return task
}

func TestAfterwards(t *testing.T) {
	expect(t, true, "No tasks in namespace default.", "get", "-n", "default")
	task := create(t, "t-done")
	expect(t, false, "no result yet: the task is working", "result", "t-done", "-n", namespace)

	patch := `{"status":{"state":"completed","result":"{\"content\":[{\"type\":\"text\",\"text\":\"Hello Ann\"}]}"}}`
	if err := cluster.Status().Patch(t.Context(), task, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	expect(t, true, `{"name":"Ann"}`, "get", "t-done", "-n", namespace)
	expect(t, true, "completed", "get", "-A")
	expect(t, true, "Hello Ann\n", "result", "t-done", "--namespace", namespace)
	expect(t, true, `{"content":[{"type":"text","text":"Hello Ann"}]}`, "result", "t-done", "-n", namespace, "--json")
	expect(t, true, "has finished (completed)", "cancel", "t-done", "-n", namespace)
}

func TestCancel(t *testing.T) {
	expect(t, false, "not found", "cancel", "t-none", "-n", namespace)
	task := create(t, "t-running")
	before := time.Now()
	expect(t, true, "is being cancelled", "cancel", "t-running", "-n", namespace, "--reason", "too slow")
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(task), task); err != nil {
		t.Fatal(err)
	}
	c := task.Spec.Cancel
	if c == nil || c.By == "" || c.Reason != "too slow" || c.At.Time.Before(before.Truncate(time.Microsecond)) {
		t.Fatalf("spec.cancel is %+v", c)
	}
	expect(t, true, "Cancel requested; stopping the work: too slow", "get", "t-running", "-n", namespace)
	expect(t, true, "is being cancelled since", "cancel", "t-running", "-n", namespace, "--reason", "another")
	expect(t, false, "Too long", "cancel", create(t, "t-wordy").Name, "-n", namespace, "--reason", strings.Repeat("x", 513))
}

func TestWithoutCluster(t *testing.T) {
	expect(t, false, "kubeconfig", "get", "--kubeconfig", filepath.Join(t.TempDir(), "none"))
	expect(t, false, "kubeconfig", "get", "--context", "none")
}
