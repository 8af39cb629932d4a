package e2e

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/kube"
)

// TestMainJobKnownEverywhere_A07 asks one replica for each task that another has just created, with no delay.
func TestMainJobKnownEverywhere_A07(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("echo", "echo-args"))
	// This test is about the record. A quota without pods keeps 200 of them off the node.
	x.create(&corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "no-pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	})
	clients := x.replicas(2)
	unknown := 0
	for i := range 200 {
		a, b := clients[i%2], clients[(i+1)%2]
		id := x.call(a, "echo", nil)
		task, err := b.Get(x.ctx, id)
		if err != nil {
			unknown++
			t.Errorf("call %d: %v", i, err)
		} else if task.TaskID != id || task.Terminal() {
			t.Errorf("call %d: task %s is %s", i, task.TaskID, task.Status)
		}
	}
	if unknown > 0 {
		t.Errorf("%d of 200 tasks were not found", unknown)
	}
}

// TestMainJobBlockingCall_A01_A37 calls without declaring the Tasks extension.
func TestMainJobBlockingCall_A01_A37(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("greet", "greet").properties("name! string").blocking(patience))
	x.offer(tool("forbidden", "greet", "--name=everybody").mode(v1alpha1.ModeForbidden).blocking(patience))
	x.offer(tool("slow", "sleep", "--label=slow").properties("seconds! number").blocking(time.Second))
	c := x.replicas(1)[0]
	c.WithoutTasks = true

	if text := x.result(c, "greet", map[string]any{"name": "World"}); text != "Hello, World!" {
		t.Errorf("greet says %q", text)
	}
	if text := x.result(c, "forbidden", nil); text != "Hello, everybody!" {
		t.Errorf("forbidden says %q", text)
	}

	call, err := c.CallTool(x.ctx, "slow", map[string]any{"seconds": 5})
	x.must(err)
	tasks := &v1alpha1.MCPTaskList{}
	x.must(cluster.List(x.ctx, tasks, client.InNamespace(x.namespace), client.MatchingLabels{v1alpha1.LabelTool: "slow"}))
	if len(tasks.Items) != 1 {
		t.Fatalf("there are %d tasks of slow", len(tasks.Items))
	}
	id := tasks.Items[0].Name
	if call.Result == nil || !strings.Contains(call.Result.Text(), id) {
		t.Fatalf("the answer when time is up is %+v, want one that names the task %s", call.Result, id)
	}
	c.WithoutTasks = false
	if task := x.wait(c, id); task.Status != "completed" || !strings.Contains(task.Result.Text(), "slow: done") {
		t.Errorf("the work did not go on: the task is %s (%s)", task.Status, task.StatusMessage)
	}
}

// TestMainJobHangUp_A21 hangs up during a blocking call, which cancels the work; and after a task was created, which does not.
func TestMainJobHangUp_A21(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("slow", "sleep").properties("seconds! number").blocking(patience))
	clients := x.replicas(2)

	blocking, task := clients[0], clients[1]
	blocking.WithoutTasks = true
	ctx, hangUp := context.WithCancel(x.ctx)
	defer hangUp()
	ended := make(chan error, 1)
	go func() {
		_, err := blocking.CallTool(ctx, "slow", map[string]any{"seconds": 300})
		ended <- err
	}()
	var id string
	x.must(kube.Poll(x.ctx, func(ctx context.Context) (bool, error) {
		tasks := &v1alpha1.MCPTaskList{}
		err := cluster.List(ctx, tasks, client.InNamespace(x.namespace))
		if len(tasks.Items) == 1 {
			id = tasks.Items[0].Name
		}
		return id != "", err
	}))
	x.waitRunning(id)
	hangUp()
	if err := <-ended; err == nil {
		t.Fatal("the call ended although its work takes five minutes")
	}
	x.waitStopped(id)
	if task := x.wait(task, id); task.Status != "cancelled" {
		t.Errorf("the task of the caller who hung up is %s (%s)", task.Status, task.StatusMessage)
	}

	ctx, hangUp = context.WithCancel(x.ctx)
	call, err := task.CallTool(ctx, "slow", map[string]any{"seconds": 2})
	hangUp()
	x.must(err)
	if task := x.wait(task, call.Task.TaskID); task.Status != "completed" {
		t.Errorf("the task of the caller who left after the answer is %s (%s)", task.Status, task.StatusMessage)
	}
}

// TestMainJobJobsAreRemoved_B01_A16 lets Kubernetes remove the finished Job while the result stays.
func TestMainJobJobsAreRemoved_B01_A16(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("greet", "greet").properties("name! string").keepingJobs(time.Second))
	c := x.replicas(1)[0]
	id := x.call(c, "greet", map[string]any{"name": "World"})
	before := x.wait(c, id)
	job := &batchv1.Job{}
	if err := cluster.Get(x.ctx, x.key(id), job); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	} else if ttl := job.Spec.TTLSecondsAfterFinished; err == nil && ttl != nil && *ttl != 1 {
		t.Errorf("the Job is kept for %d seconds, want 1", *ttl)
	}
	x.waitStopped(id)
	after, err := c.Get(x.ctx, id)
	x.must(err)
	const hello = "Hello, World!"
	if after.Status != "completed" || after.Result == nil || after.Result.Text() != hello || before.Result.Text() != hello {
		t.Errorf("without its Job the task is %s, result %+v, before %+v", after.Status, after.Result, before.Result)
	}
	if !after.LastUpdatedAt.Equal(before.LastUpdatedAt) {
		t.Errorf("the task changed at %s, it had ended at %s", after.LastUpdatedAt, before.LastUpdatedAt)
	}
}

// TestMainJobKubectl_A18 reads what kubectl get mcptasks prints: the API server makes that table.
func TestMainJobKubectl_A18(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("fail", "exit", "--code=3", "--stderr=The disk is full."))
	c := x.replicas(1)[0]
	id := x.call(c, "fail", nil)
	x.wait(c, id)

	table, err := cluster.Table(x.ctx, x.namespace, "mcptasks")
	x.must(err)
	var usual, wide []string
	for _, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			usual = append(usual, strings.ToUpper(column.Name))
		} else {
			wide = append(wide, strings.ToUpper(column.Name))
		}
	}
	if want := []string{"NAME", "TOOL", "STATE", "REASON", "MESSAGE", "AGE"}; !slices.Equal(usual, want) {
		t.Errorf("the columns are %v, want %v", usual, want)
	}
	if want := []string{"OWNER", "JOB", "EXPIRES"}; !slices.Equal(wide, want) {
		t.Errorf("the further columns of -o wide are %v, want %v", wide, want)
	}
	if len(table.Rows) != 1 {
		t.Fatalf("there are %d rows", len(table.Rows))
	}
	row, err := json.Marshal(table.Rows[0].Cells)
	x.must(err)
	owner := "system:serviceaccount:" + x.namespace + ":agent"
	for _, want := range []string{id, "fail", "completed", v1alpha1.ReasonToolError, owner} {
		if !strings.Contains(string(row), `"`+want+`"`) {
			t.Errorf("the row is %s, want %q in it", row, want)
		}
	}
}
