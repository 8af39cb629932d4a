package endpoint

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/integration/setup"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// patience is how long a tool may keep its callers waiting.
const patience = 60 * time.Second

// replica is one running program.
type replica struct {
	*setup.Process
	url string
}

// startReplica starts the program and waits until it is ready. It ends with the test.
func startReplica(t *testing.T, args ...string) *replica {
	t.Helper()
	return startReplicaWith(t, kubeconfig, args...)
}

// startReplicaWith is startReplica with another way to the cluster.
func startReplicaWith(t *testing.T, kubeconfig string, args ...string) *replica {
	t.Helper()
	if cluster == nil {
		t.Skip(setup.Skip)
	}
	address := setup.FreeAddress(t)
	args = append([]string{"--address", address, "--catalog-namespace", catalog}, args...)
	r := &replica{Process: program.Start(t, kubeconfig, "endpoint", args...), url: "http://" + address + "/mcp"}
	r.AwaitReady()
	return r
}

// client calls the replica as a service account.
func (r *replica) client(t *testing.T, namespace, account string) *mcpclient.Client {
	t.Helper()
	token, err := cluster.Token(t.Context(), namespace, account)
	if err != nil {
		t.Fatal(err)
	}
	return &mcpclient.Client{URL: r.url, Token: token}
}

// tool makes a tool of the catalog that is ready, and takes it away with the test.
func tool(t *testing.T, name string, edit ...func(*v1alpha1.MCPToolSpec)) {
	t.Helper()
	object := &v1alpha1.MCPTool{ObjectMeta: metav1.ObjectMeta{Namespace: catalog, Name: name}}
	object.Spec = v1alpha1.MCPToolSpec{
		Description: "Does " + name + ".",
		InputSchema: &apiextensionsv1.JSON{Raw: []byte(`{"type":"object"}`)},
		JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "example.invalid/tool:1"}},
		}}}},
	}
	for _, e := range edit {
		e(&object.Spec)
	}
	if err := cluster.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Delete(context.Background(), object); err != nil {
			t.Error(err)
		}
	})
	object.Status = v1alpha1.MCPToolStatus{
		Name:               name,
		ObservedGeneration: object.Generation,
		Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ToolReasonReady,
			ObservedGeneration: object.Generation, LastTransitionTime: metav1.Now(), Message: "ready",
		}},
	}
	if err := cluster.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// awaitTool waits until a replica has heard of a tool.
func awaitTool(t *testing.T, c *mcpclient.Client, name string) {
	t.Helper()
	eventually(t, "the tool is listed", func() bool {
		tools, err := c.ListTools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools {
			if tool.Name == name {
				return true
			}
		}
		return false
	})
}

// setStatus plays the controller.
func setStatus(t *testing.T, id string, edit func(*v1alpha1.MCPTaskStatus)) {
	t.Helper()
	task := getTask(t, id)
	edit(&task.Status)
	now := metav1.NowMicro()
	task.Status.LastUpdatedAt = &now
	if err := cluster.Status().Update(t.Context(), task); err != nil {
		t.Fatal(err)
	}
}

func getTask(t *testing.T, id string) *v1alpha1.MCPTask {
	t.Helper()
	task := &v1alpha1.MCPTask{}
	if err := cluster.Get(t.Context(), types.NamespacedName{Namespace: tenant, Name: id}, task); err != nil {
		t.Fatal(err)
	}
	return task
}

// onlyTask waits for the one task of a tool and returns its id.
func onlyTask(t *testing.T, tool string) (id string) {
	t.Helper()
	eventually(t, "the task is there", func() bool {
		var list v1alpha1.MCPTaskList
		labels := client.MatchingLabels{v1alpha1.LabelTool: tool}
		if err := cluster.List(t.Context(), &list, client.InNamespace(tenant), labels); err != nil {
			t.Fatal(err)
		}
		if len(list.Items) == 1 {
			id = list.Items[0].Name
		}
		return id != ""
	})
	return id
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	setup.Eventually(t, what, ok)
}
