//go:build unix

package resilience

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/controller"
	"github.com/mcptasks/mcptasks/test/integration/setup"
	"github.com/mcptasks/mcptasks/test/kube"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// world is a tenant with a tool and a node, gone when the test has ended.
type world struct {
	*testing.T
	namespace string
	// token is that of the tenant's agent.
	token string
	// components are those that the test stops; nil: none.
	components *setup.Components
	// start starts a program.
	start func(t *testing.T, kubeconfig, command string, args ...string) *setup.Process
}

// agent is the tenant's service account, and toolName its tool.
const (
	agent    = "agent"
	toolName = "work"
)

func newWorld(t *testing.T) *world {
	t.Helper()
	if cluster == nil {
		t.Skip(setup.Skip)
	}
	w := &world{T: t, start: program.Start}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "resilience-", Labels: map[string]string{v1alpha1.LabelTenant: "resilience"},
	}}
	w.must(cluster.Create(t.Context(), ns))
	w.namespace = ns.Name
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), setup.Patience)
		defer cancel()
		w.remove(ctx, ns)
	})
	w.must(cluster.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: agent}}))
	var err error
	w.token, err = cluster.Token(t.Context(), w.namespace, agent)
	w.must(err)
	return w
}

// remove deletes the namespace and waits until it is gone: no node is there any more that would end its pods.
func (w *world) remove(ctx context.Context, ns *corev1.Namespace) {
	if err := cluster.Delete(ctx, ns); err != nil {
		w.Errorf("remove the tenant: %v", err)
		return
	}
	err := kube.Poll(ctx, func(ctx context.Context) (bool, error) {
		err := cluster.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(ns.Name), client.GracePeriodSeconds(0))
		if err = client.IgnoreNotFound(err); err != nil {
			return false, err
		}
		err = cluster.Get(ctx, client.ObjectKeyFromObject(ns), &corev1.Namespace{})
		return err != nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		w.Errorf("remove the tenant: %v", err)
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// eventually waits until ok.
func (w *world) eventually(what string, ok func() bool) {
	w.Helper()
	setup.Eventually(w.T, what, ok)
}

// offer creates the tenant's tool, and does not wait for anybody to see it.
func (w *world) offer(edit ...func(*v1alpha1.MCPToolSpec)) *v1alpha1.MCPTool {
	w.Helper()
	tool := &v1alpha1.MCPTool{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: toolName}}
	tool.Spec = v1alpha1.MCPToolSpec{
		Description: "Works.",
		InputSchema: &apiextensionsv1.JSON{Raw: []byte(`{"type":"object","properties":{"n":{"type":"integer"}}}`)},
		JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "example.invalid/tool:1"}},
		}}}},
	}
	forADay := metav1.Duration{Duration: 24 * time.Hour}
	tool.Spec.Execution.Retention = v1alpha1.Retention{Task: &forADay, Job: metav1.Duration{Duration: time.Hour}}
	for _, e := range edit {
		e(&tool.Spec)
	}
	w.must(cluster.Create(w.Context(), tool))
	return tool
}

// ready says of a tool that agents can see it, in the controller's place.
func (w *world) ready(tool *v1alpha1.MCPTool) {
	w.Helper()
	before := tool.DeepCopy()
	tool.Status = v1alpha1.MCPToolStatus{Name: tool.Name, ObservedGeneration: tool.Generation, Conditions: []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ToolReasonReady,
		ObservedGeneration: tool.Generation, LastTransitionTime: metav1.Now(), Message: "ready",
	}}}
	w.must(cluster.Status().Patch(w.Context(), tool, client.MergeFrom(before)))
}

// breakable are the components of the cluster, for a test that stops some of them. An API server that has just started does not
// know what anybody may do; so programs may find for a moment that they lack rights.
func (w *world) breakable() *setup.Components {
	w.Helper()
	w.start = program.StartWithout
	w.components = setup.NewComponents(w.T)
	return w.components
}

// awaitOffered waits until the controller has found the tool to be ready, and the endpoint lists it.
func (w *world) awaitOffered(c *mcpclient.Client) {
	w.Helper()
	w.eventually("the tool is listed", func() bool {
		tools, err := c.ListTools(w.Context())
		return err == nil && slices.ContainsFunc(tools, func(t mcpclient.Tool) bool { return t.Name == toolName })
	})
}

// controller starts a controller that works while it holds the lease.
func (w *world) controller(args ...string) *setup.Process {
	w.Helper()
	return w.controllerWith(controllerConfig, args...)
}

// controllerWith is controller with another way to the cluster.
func (w *world) controllerWith(kubeconfig string, args ...string) *setup.Process {
	w.Helper()
	args = append([]string{"--catalog-namespace", release, "--lease-namespace", release}, args...)
	return w.start(w.T, kubeconfig, "controller", args...)
}

// leads reports whether a controller holds its lease, by its own word.
func leads(p *setup.Process) bool { return p.Metric("leader_election_master_status") == 1 }

// awaitLeader waits until one of the controllers leads.
func (w *world) awaitLeader(controllers ...*setup.Process) (leader *setup.Process) {
	w.Helper()
	w.eventually("there is a leader", func() bool {
		i := slices.IndexFunc(controllers, leads)
		if i >= 0 {
			leader = controllers[i]
		}
		return i >= 0
	})
	return leader
}

// lease is the controllers' lease in a namespace.
func (w *world) lease(namespace string) *coordinationv1.Lease {
	w.Helper()
	lease := &coordinationv1.Lease{}
	w.must(cluster.Get(w.Context(), types.NamespacedName{Namespace: namespace, Name: controller.Name}, lease))
	return lease
}

// replica is one running endpoint.
type replica struct {
	*setup.Process
	url string
}

// endpoint starts an endpoint and waits until it is ready.
func (w *world) endpoint(kubeconfig string, args ...string) *replica {
	w.Helper()
	address := setup.FreeAddress(w.T)
	args = append([]string{
		"--address", address, "--catalog-namespace", release, "--key-secret", release + "/" + keySecret, "--caller-rate", "0",
	}, args...)
	r := &replica{Process: w.start(w.T, kubeconfig, "endpoint", args...), url: "http://" + address + "/mcp"}
	r.AwaitReady()
	return r
}

// client is the tenant's agent, talking to a replica.
func (w *world) client(r *replica) *mcpclient.Client {
	return &mcpclient.Client{URL: r.url, Token: w.token}
}

// keyed is c with an idempotency key.
func keyed(c *mcpclient.Client, key string) *mcpclient.Client {
	return &mcpclient.Client{URL: c.URL, Token: c.Token, Meta: map[string]any{"mcptasks.dev/idempotency-key": key}}
}

// call makes a task.
func (w *world) call(c *mcpclient.Client) string {
	w.Helper()
	called, err := c.CallTool(w.Context(), toolName, nil)
	w.must(err)
	if called.Task == nil {
		w.Fatalf("no task but %+v", called.Result)
	}
	return called.Task.TaskID
}

// tasks are all of the tenant's.
func (w *world) tasks() []v1alpha1.MCPTask {
	w.Helper()
	list := &v1alpha1.MCPTaskList{}
	w.must(cluster.List(w.Context(), list, client.InNamespace(w.namespace)))
	return list.Items
}

// record is the task's object.
func (w *world) record(id string) *v1alpha1.MCPTask {
	w.Helper()
	task := &v1alpha1.MCPTask{}
	w.must(cluster.Get(w.Context(), types.NamespacedName{Namespace: w.namespace, Name: id}, task))
	return task
}

// awaitReason waits for a reason of the task, and returns it then.
func (w *world) awaitReason(id, reason string) *v1alpha1.MCPTask {
	w.Helper()
	var task *v1alpha1.MCPTask
	w.eventually("task "+id+" is "+reason, func() bool {
		task = w.record(id)
		return task.Status.Reason == reason
	})
	return task
}

// wantOnce checks that a task has ended well, after its container was started once, with what that printed.
func (w *world) wantOnce(n *node, t *v1alpha1.MCPTask) {
	w.Helper()
	w.wantDone(n, t)
	w.wantNoMore(n, t)
}

// wantDone checks that a task has ended well, with what a container of it printed.
func (w *world) wantDone(n *node, t *v1alpha1.MCPTask) {
	w.Helper()
	var result struct{ Content []struct{ Text string } }
	err := json.Unmarshal([]byte(t.Status.Result), &result)
	if t.Status.State != v1alpha1.StateCompleted || err != nil || len(result.Content) != 1 ||
		!n.hasPrinted(t.Name, result.Content[0].Text) {
		s := t.Status
		w.Errorf("task %s is %s (%s: %s) with the result %s", t.Name, s.State, s.Reason, s.Message, s.Result)
	}
}

// wantNoMore checks that the container of a task was not started again, but for the one thing that Kubernetes does not promise
// (docs/decisions/0003): when the API server or etcd goes away in the middle of the creation of a pod, the Job controller may not
// know of that pod, and creates another one.
func (w *world) wantNoMore(n *node, t *v1alpha1.MCPTask) {
	w.Helper()
	n.mu.Lock()
	created := slices.SortedFunc(slices.Values(n.marks[t.Name]), time.Time.Compare)
	n.mu.Unlock()
	for i := 1; i < len(created); i++ {
		if !w.wasUnderWay(created[i-1]) {
			w.Errorf("the container of task %s was started %d times", t.Name, len(created))
			return
		}
		w.Logf("a pod of task %s was being created when the control plane went away; it has %d", t.Name, len(created))
	}
}

// wasUnderWay reports whether the answer to something that was created then may have been lost in an outage.
func (w *world) wasUnderWay(created time.Time) bool {
	if w.components == nil {
		return false
	}
	return slices.ContainsFunc(w.components.Outages(), func(o setup.Outage) bool {
		over := o.Over
		if over.IsZero() {
			over = time.Now()
		}
		stores := o.Component == "kube-apiserver" || o.Component == "etcd"
		return stores && !created.Before(o.Began.Add(-time.Second).Truncate(time.Second)) && !created.After(over)
	})
}

// wantOneJobEach checks that there is one Job for each task, and none besides. Those of cancelled tasks may be gone.
func (w *world) wantOneJobEach(tasks []v1alpha1.MCPTask) {
	w.Helper()
	jobs := &batchv1.JobList{}
	w.must(cluster.List(w.Context(), jobs, client.InNamespace(w.namespace)))
	owners := map[string]int{}
	for i := range jobs.Items {
		owners[jobs.Items[i].Labels[v1alpha1.LabelTask]]++
	}
	for i := range tasks {
		if n := owners[tasks[i].Name]; n > 1 || n == 0 && tasks[i].Spec.Cancel == nil {
			w.Errorf("task %s (%s) has %d Jobs", tasks[i].Name, tasks[i].Status.Reason, owners[tasks[i].Name])
		}
		delete(owners, tasks[i].Name)
	}
	if len(owners) > 0 {
		w.Errorf("there are Jobs of tasks that do not exist: %q", slices.Collect(maps.Keys(owners)))
	}
}

// endings notes for each task of a namespace how it ended, and complains when that changes.
type endings struct {
	w    *world
	mu   sync.Mutex
	seen map[types.UID]v1alpha1.MCPTaskStatus
}

// watchEndings watches until the test ends.
func (w *world) watchEndings() *endings {
	e := &endings{w: w, seen: map[types.UID]v1alpha1.MCPTaskStatus{}}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { e.watch(ctx) })
	w.Cleanup(func() { cancel(); watching.Wait() })
	return e
}

func (e *endings) watch(ctx context.Context) {
	for ctx.Err() == nil {
		changes, err := cluster.Watch(ctx, &v1alpha1.MCPTaskList{}, client.InNamespace(e.w.namespace))
		if err != nil {
			pause(ctx, again)
			continue
		}
		for change := range changes.ResultChan() {
			if task, ok := change.Object.(*v1alpha1.MCPTask); ok {
				e.note(task)
			}
		}
	}
}

func (e *endings) note(t *v1alpha1.MCPTask) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before, ended := e.seen[t.UID]
	switch {
	case ended && !sameEnd(before, t.Status):
		e.w.Errorf("task %s had ended as %+v and is now %+v", t.Name, before, t.Status)
	case t.Status.State.Terminal():
		e.seen[t.UID] = *t.Status.DeepCopy()
	}
}

func sameEnd(a, b v1alpha1.MCPTaskStatus) bool {
	return a.State == b.State && a.Result == b.Result && a.FinishedAt.Equal(b.FinishedAt) && a.LastUpdatedAt.Equal(b.LastUpdatedAt)
}

// ended is how many tasks have.
func (e *endings) ended() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.seen)
}

// deleteAtTheEnd deletes an object when the test has ended.
func (w *world) deleteAtTheEnd(object client.Object) {
	w.Cleanup(func() {
		if err := cluster.Delete(context.Background(), object); err != nil {
			w.Error(err)
		}
	})
}

// tenantOfOne is the tenant's agent with a node and an endpoint of its own.
type tenantOfOne struct {
	*mcpclient.Client
	w *world
	// hold keeps containers that are started while it is set running until they are stopped.
	hold atomic.Bool
	// afterwards is for the test to set and to call.
	afterwards func()
}

// tenantOfOne makes all that is needed for calls to be carried out but a controller.
func (w *world) tenantOfOne() *tenantOfOne {
	w.Helper()
	c := &tenantOfOne{w: w, afterwards: func() {}}
	startNode(w.T, w.namespace, func(_ string, stop <-chan struct{}) {
		if c.hold.Load() {
			<-stop
		}
	})
	w.ready(w.offer())
	c.Client = w.client(w.endpoint(endpointConfig))
	w.awaitOffered(c.Client)
	return c
}

func (c *tenantOfOne) call() string {
	c.w.Helper()
	return c.w.call(c.Client)
}
