package e2e

import (
	"context"
	"strconv"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/kube"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// counter offers a tool that leaves one mark for each time it is run, and one that counts the marks.
func (x *tenant) counter() {
	x.t.Helper()
	marks := x.claim("marks")
	x.offer(tool("count", "count", "--dir=/marks").properties("sleep number").volume(marks, "/marks"))
	x.offer(tool("marks", "marks", "--dir=/marks").volume(marks, "/marks"))
}

// wantMarks fails the test unless the counting tool was run n times.
func (x *tenant) wantMarks(c *mcpclient.Client, n int) {
	x.t.Helper()
	if got := x.result(c, "marks", nil); got != strconv.Itoa(n) {
		x.t.Errorf("the tool was run %s times, want %d", got, n)
	}
}

// kill ends all pods with the labels without grace, and waits until as many others are ready.
func (x *tenant) kill(labels map[string]string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	old, err := cluster.ReadyPods(ctx, kube.Namespace, labels)
	x.must(err)
	gone := map[string]bool{}
	for i := range old {
		gone[old[i].Name] = true
		x.must(client.IgnoreNotFound(cluster.Delete(ctx, &old[i], client.GracePeriodSeconds(0))))
	}
	x.must(kube.Poll(ctx, func(ctx context.Context) (bool, error) {
		ready, err := cluster.ReadyPods(ctx, kube.Namespace, labels)
		n := 0
		for _, pod := range ready {
			if !gone[pod.Name] {
				n++
			}
		}
		return n >= len(old), err
	}))
}

// TestMainJobKilled_B02_B30 ends the product's pods at different moments of a call. The call still ends once, with its result.
//
// It does not run in parallel: the other tests could not tell its kills from faults.
func TestMainJobKilled_B02_B30(t *testing.T) {
	x := newTenant(t)
	x.counter()
	moments := []struct {
		name   string
		labels map[string]string
		until  func(id string) // what is waited for between call and kill
	}{
		{"controller, right after the answer", kube.ControllerLabels, func(string) {}},
		{"controller, while the container runs", kube.ControllerLabels, x.waitRunning},
		{"controller, when the container has ended", kube.ControllerLabels, x.waitExited},
		{"endpoint, right after the answer", kube.EndpointLabels, func(string) {}},
		{"endpoint, while the container runs", kube.EndpointLabels, x.waitRunning},
	}
	for i, moment := range moments {
		id := x.call(x.replicas(1)[0], "count", map[string]any{"sleep": 5})
		moment.until(id)
		x.kill(moment.labels)
		task := x.wait(x.replicas(2)[1], id)
		if task.Status != "completed" || task.Result == nil || task.Result.IsError || task.Result.Text() != strconv.Itoa(i+1) {
			t.Errorf("%s: the task is %s (%s), result %+v", moment.name, task.Status, task.StatusMessage, task.Result)
		}
	}
	x.wantMarks(x.replicas(1)[0], len(moments))
}

// TestMainJobKilledWhileCancelling_A10 ends the controller between the cancel and what comes of it.
func TestMainJobKilledWhileCancelling_A10(t *testing.T) {
	x := newTenant(t)
	x.offer(tool("slow", "sleep", "--seconds=300"))
	c := x.replicas(1)[0]
	id := x.call(c, "slow", nil)
	x.waitRunning(id)
	x.must(c.Cancel(x.ctx, id))
	x.kill(kube.ControllerLabels)
	if task := x.wait(c, id); task.Status != "cancelled" {
		t.Errorf("the task is %s (%s)", task.Status, task.StatusMessage)
	}
	x.waitStopped(id)
}

// waitExited waits until the task's container has ended, whether or not anybody has noticed.
func (x *tenant) waitExited(id string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	x.must(kube.Poll(ctx, func(ctx context.Context) (bool, error) {
		pods, err := x.pods(ctx, id)
		return len(pods) == 1 && pods[0].Status.Phase == corev1.PodSucceeded, err
	}))
}

// TestMainJobRemovedJob_B02 removes Jobs by hand: one that has finished, and one that runs. Neither is started again, also not
// by a controller that has never seen it.
func TestMainJobRemovedJob_B02(t *testing.T) {
	x := newTenant(t)
	x.counter()
	c := x.replicas(1)[0]

	finished := x.call(c, "count", nil)
	before := x.wait(c, finished)
	x.removeJob(finished)

	running := x.call(c, "count", map[string]any{"sleep": 300})
	x.waitRunning(running)
	x.removeJob(running)
	if task := x.wait(c, running); task.Status != "cancelled" || x.record(running).Status.Reason != v1alpha1.ReasonJobDeleted {
		t.Errorf("the task whose Job was removed is %s (%s)", task.Status, task.StatusMessage)
	}

	x.kill(kube.ControllerLabels)
	// A further call shows that the new controller has gone through what was there.
	x.wantMarks(c, 2)
	after, err := c.Get(x.ctx, finished)
	x.must(err)
	if after.Status != "completed" || after.Result == nil || after.Result.Text() != before.Result.Text() {
		t.Errorf("the finished task is %s, result %+v", after.Status, after.Result)
	}
	for _, id := range []string{finished, running} {
		if err := cluster.Get(x.ctx, x.key(id), &batchv1.Job{}); client.IgnoreNotFound(err) != nil || err == nil {
			t.Errorf("task %s has a Job again (%v)", id, err)
		}
	}
}

func (x *tenant) removeJob(id string) {
	x.t.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: id}}
	x.must(cluster.Delete(x.ctx, job, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	x.waitStopped(id)
}
