package e2e

import (
	"context"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/kube"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// tenant is a tenant of one test, gone when the test has ended.
type tenant struct {
	t         *testing.T
	ctx       context.Context // ends before the test is killed
	namespace string
	token     string
}

// newTenant makes a tenant namespace with a service account; it skips the test where there is no cluster.
func newTenant(t *testing.T) *tenant {
	t.Helper()
	if cluster == nil {
		t.Skip("there is no cluster: MCPTASKS_E2E_KUBECONFIG is not set (make test-e2e sets it)")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	t.Cleanup(cancel)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-", Labels: map[string]string{
		v1alpha1.LabelTenant: strings.ToLower(t.Name()), "pod-security.kubernetes.io/enforce": "restricted",
	}}}
	if len(namespace.Labels[v1alpha1.LabelTenant]) > 63 {
		namespace.Labels[v1alpha1.LabelTenant] = namespace.Labels[v1alpha1.LabelTenant][:63]
	}
	x := &tenant{t: t, ctx: ctx}
	x.create(namespace)
	t.Cleanup(func() {
		// t's own context has ended by now.
		if err := client.IgnoreNotFound(cluster.Delete(context.Background(), namespace)); err != nil {
			t.Errorf("remove the tenant: %v", err)
		}
	})
	x.namespace = namespace.Name
	x.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "agent"}})
	var err error
	if x.token, err = cluster.Token(ctx, x.namespace, "agent"); err != nil {
		t.Fatal(err)
	}
	return x
}

// must ends the test on an error.
func (x *tenant) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *tenant) create(obj client.Object) {
	x.t.Helper()
	x.must(cluster.Create(x.ctx, obj))
}

// claim makes a volume claim and returns its name.
func (x *tenant) claim(name string) string {
	x.t.Helper()
	x.create(&corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("16Mi")},
			},
		},
	})
	return name
}

// offer creates a tool of the tenant and waits until it is ready.
func (x *tenant) offer(b *toolBuilder) {
	x.t.Helper()
	tool := b.in(x.namespace)
	x.create(tool)
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	x.must(cluster.WaitReady(ctx, kube.Key(tool)))
}

// replicas are clients to as many different pods of the endpoint.
func (x *tenant) replicas(n int) []*mcpclient.Client {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	var pods []corev1.Pod
	x.must(kube.Poll(ctx, func(ctx context.Context) (enough bool, err error) {
		pods, err = cluster.ReadyPods(ctx, kube.Namespace, kube.EndpointLabels)
		return len(pods) >= n, err
	}))
	clients := make([]*mcpclient.Client, n)
	for i := range clients {
		clients[i] = x.clientTo(&pods[i])
	}
	return clients
}

// clientTo is a client to one pod of the endpoint.
func (x *tenant) clientTo(pod *corev1.Pod) *mcpclient.Client {
	x.t.Helper()
	address, err := cluster.Forward(x.ctx, pod, kube.EndpointPort)
	x.must(err)
	return &mcpclient.Client{URL: "http://" + address + "/mcp", Token: x.token}
}

// call calls a tool that has to become a task, and returns the task's id.
func (x *tenant) call(c *mcpclient.Client, tool string, arguments any) string {
	x.t.Helper()
	call, err := c.CallTool(x.ctx, tool, arguments)
	x.must(err)
	if call.Task == nil {
		x.t.Fatalf("%s answered with a result, not a task: %s", tool, call.Result.Text())
	}
	return call.Task.TaskID
}

// wait waits for the end of a task.
func (x *tenant) wait(c *mcpclient.Client, id string) *mcpclient.Task {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	task, err := c.Wait(ctx, id, func(task *mcpclient.Task) { x.t.Logf("%s: %s (%s)", id, task.Status, task.StatusMessage) })
	x.must(err)
	return task
}

// result calls a tool, as a task or not, and returns its text, which must not be an error's.
func (x *tenant) result(c *mcpclient.Client, tool string, arguments any) string {
	x.t.Helper()
	call, err := c.CallTool(x.ctx, tool, arguments)
	x.must(err)
	result := call.Result
	if call.Task != nil {
		result = x.wait(c, call.Task.TaskID).Result
	}
	if result == nil || result.IsError {
		x.t.Fatalf("%s has no good result: %+v", tool, result)
	}
	return result.Text()
}

// waitRunning waits until the task's container runs.
func (x *tenant) waitRunning(id string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	task := &v1alpha1.MCPTask{}
	err := cluster.Wait(ctx, task, x.key(id), func() bool { return task.Status.Reason == v1alpha1.ReasonRunning })
	if err != nil {
		x.t.Fatalf("task %s is %s (%s): %v", id, task.Status.Reason, task.Status.Message, err)
	}
}

func (x *tenant) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: x.namespace, Name: name}
}

// record is the task's object.
func (x *tenant) record(id string) *v1alpha1.MCPTask {
	x.t.Helper()
	task := &v1alpha1.MCPTask{}
	x.must(cluster.Get(x.ctx, x.key(id), task))
	return task
}

// waitStopped waits until the task has no Job and no pods.
func (x *tenant) waitStopped(id string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	x.must(cluster.WaitGone(ctx, &batchv1.Job{}, x.key(id)))
	x.must(kube.Poll(ctx, func(ctx context.Context) (bool, error) {
		pods, err := x.pods(ctx, id)
		return len(pods) == 0, err
	}))
}

func (x *tenant) pods(ctx context.Context, id string) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	err := cluster.List(ctx, pods, client.InNamespace(x.namespace), client.MatchingLabels{v1alpha1.LabelTask: id})
	return pods.Items, err
}

// wantNothing fails the test if anything was ever made of a call in the tenant's namespace.
func (x *tenant) wantNothing() {
	x.t.Helper()
	tasks, jobs := &v1alpha1.MCPTaskList{}, &batchv1.JobList{}
	x.must(cluster.List(x.ctx, tasks, client.InNamespace(x.namespace)))
	x.must(cluster.List(x.ctx, jobs, client.InNamespace(x.namespace)))
	if len(tasks.Items) > 0 || len(jobs.Items) > 0 {
		x.t.Errorf("there are %d MCPTasks and %d Jobs, want none", len(tasks.Items), len(jobs.Items))
	}
}
