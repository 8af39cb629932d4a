package endpoint

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/integration/setup"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// keySecret makes an empty Secret and gives the program the rights to it that the chart gives; it returns the flag.
func keySecret(t *testing.T, name string) string {
	t.Helper()
	if cluster == nil {
		t.Skip(setup.Skip)
	}
	meta := metav1.ObjectMeta{Namespace: catalog, Name: name}
	for _, object := range []client.Object{
		&corev1.Secret{ObjectMeta: meta},
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{name}, Verbs: []string{"get", "update"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: catalog, Name: agent}},
		},
	} {
		if err := cluster.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := cluster.Delete(context.Background(), object); err != nil {
				t.Error(err)
			}
		})
	}
	return "--key-secret=" + catalog + "/" + name
}

func keyedClient(t *testing.T, r *replica, account, key string) *mcpclient.Client {
	t.Helper()
	c := r.client(t, tenant, account)
	c.Meta = map[string]any{"mcptasks.dev/idempotency-key": key}
	return c
}

// A20: fifty calls at once with one key, over three replicas that found an empty Secret, are one task; so is one that is repeated
// after all of them have been killed.
func TestOneKeyOneTask_A20(t *testing.T) {
	flag := keySecret(t, "one-key")
	replicas := []*replica{startReplica(t, flag), startReplica(t, flag), startReplica(t, flag)}
	tool(t, "one-key")
	var clients []*mcpclient.Client
	for _, r := range replicas {
		awaitTool(t, r.client(t, tenant, agent), "one-key")
		clients = append(clients, keyedClient(t, r, agent, "order-7"))
	}
	ids := make([]string, 50)
	arguments := []json.RawMessage{json.RawMessage(`{"a":1,"b":[1,2]}`), json.RawMessage(`{"b":[1, 2],"a":1}`)}
	var group sync.WaitGroup
	for i := range ids {
		group.Go(func() {
			called, err := clients[i%len(clients)].CallTool(t.Context(), "one-key", arguments[i%len(arguments)])
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = called.Task.TaskID
		})
	}
	group.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("got %q and %q", ids[0], id)
		}
	}
	var list v1alpha1.MCPTaskList
	labels := client.MatchingLabels{v1alpha1.LabelTool: "one-key"}
	if err := cluster.List(t.Context(), &list, client.InNamespace(tenant), labels); err != nil || len(list.Items) != 1 {
		t.Fatalf("%d tasks, %v", len(list.Items), err)
	}

	for _, r := range replicas {
		r.Kill()
	}
	later := startReplica(t, flag)
	awaitTool(t, later.client(t, tenant, agent), "one-key")
	if id := call(t, keyedClient(t, later, agent, "order-7"), "one-key", arguments[0]); id != ids[0] {
		t.Errorf("after a restart: %s, not %s", id, ids[0])
	}
	_, err := keyedClient(t, later, agent, "order-7").CallTool(t.Context(), "one-key", map[string]any{"a": 2})
	refused(t, err, -32602, "belongs to an earlier call with other arguments")
	if id := call(t, keyedClient(t, later, other, "order-7"), "one-key", arguments[0]); id == ids[0] {
		t.Error("another caller got the task")
	}
}

// A repeated call finds its task although the task itself has filled the quota.
func TestKeyAndFullQuota(t *testing.T) {
	r := startReplica(t, keySecret(t, "full-quota"))
	tool(t, "full-quota")
	namespace := tenantOfOneTask(t)
	c := r.client(t, namespace, agent)
	awaitTool(t, c, "full-quota")
	c.Meta = map[string]any{"mcptasks.dev/idempotency-key": "k"}
	id := call(t, c, "full-quota", nil)
	if again := call(t, c, "full-quota", nil); again != id {
		t.Errorf("got %s, want %s", again, id)
	}
	c.Meta = map[string]any{"mcptasks.dev/idempotency-key": "l"}
	_, err := c.CallTool(t.Context(), "full-quota", nil)
	refused(t, err, -32603, "quota is full")
}

// tenantOfOneTask makes a tenant's namespace with room for one task, and goes with the test.
func tenantOfOneTask(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "integration-endpoint-", Labels: map[string]string{v1alpha1.LabelTenant: "c"},
	}}
	if err := cluster.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Delete(context.Background(), namespace); err != nil {
			t.Error(err)
		}
	})
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: agent}}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "tasks"}}
	quota.Spec.Hard = corev1.ResourceList{countTasks: resource.MustParse("1")}
	for _, object := range []client.Object{account, quota} {
		if err := cluster.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	// Kubernetes' controller counts what a new CRD makes after some minutes only.
	quota.Status = corev1.ResourceQuotaStatus{
		Hard: quota.Spec.Hard, Used: corev1.ResourceList{countTasks: resource.MustParse("0")},
	}
	quota.ResourceVersion = ""
	if err := cluster.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}
