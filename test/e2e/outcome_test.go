package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/images"
	"github.com/mcptasks/mcptasks/test/kube"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

func (b *toolBuilder) container() *corev1.Container {
	return &b.tool.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
}

func (b *toolBuilder) memory(limit string) *toolBuilder {
	b.container().Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)}
	return b
}

// grace is how long a pod has between SIGTERM and SIGKILL.
func (b *toolBuilder) grace(seconds int64) *toolBuilder {
	b.tool.Spec.JobTemplate.Spec.Template.Spec.TerminationGracePeriodSeconds = &seconds
	return b
}

func (b *toolBuilder) deadline(d time.Duration) *toolBuilder {
	b.tool.Spec.Execution.Deadline = metav1.Duration{Duration: d}
	return b
}

func (b *toolBuilder) retries(n int32) *toolBuilder {
	b.tool.Spec.Execution.Retries = n
	return b
}

// Memory that runs out is said to have run out, whichever process it was that took it, and is never a success.
func TestJob_B04_OutOfMemoryIsToldAsSuch(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.Busybox)
	x.offer(tool("itself", "").shell(images.Busybox, "exec tail /dev/zero").memory("32Mi"))
	x.offer(tool("child", "").shell(images.Busybox, "tail /dev/zero & wait $! || true; echo went on").memory("32Mi"))
	x.offer(tool("killed", "exit", "--code=137").memory("32Mi"))
	c := x.replicas(1)[0]
	for name, want := range map[string]struct{ reason, text string }{
		"itself": {v1alpha1.ReasonOOMKilled, "memory"},
		"child":  {v1alpha1.ReasonOOMKilled, "memory"},
		"killed": {v1alpha1.ReasonToolError, "code 137"},
	} {
		id := x.call(c, name, nil)
		task := x.wait(c, id)
		if task.Status != "completed" || !task.Result.IsError || !strings.Contains(task.Result.Text(), want.text) {
			t.Errorf("%s: the task is %s, its result %+v", name, task.Status, task.Result)
		}
		if reason := x.record(id).Status.Reason; reason != want.reason {
			t.Errorf("%s: the reason is %s, want %s", name, reason, want.reason)
		}
	}
}

// A task is cancelled when nothing of it runs any more, not when somebody has asked for that.
func TestJob_B13_NothingRunsAfterACancel(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.Busybox)
	x.offer(tool("deaf", "exit", "--trap=ignore", "--sleep=600").grace(3))
	x.offer(tool("tidy", "").
		shell(images.Busybox, "trap 'sleep 3; echo tidied up; exit 0' TERM; while :; do sleep 1; done").grace(60))
	c := x.replicas(1)[0]
	for _, name := range []string{"deaf", "tidy"} {
		id := x.call(c, name, nil)
		x.waitRunning(id)
		x.must(c.Cancel(x.ctx, id))
		task := x.wait(c, id)
		pods, err := x.pods(x.ctx, id)
		x.must(err)
		if task.Status != "cancelled" || len(pods) != 0 {
			t.Errorf("%s: the task is %s with %d pods", name, task.Status, len(pods))
		}
		x.waitStopped(id)
	}

	// So it is for whoever deletes the task itself.
	id := x.call(c, "deaf", nil)
	x.waitRunning(id)
	x.must(cluster.Delete(x.ctx, x.record(id)))
	x.waitStopped(id)
}

// A tenant's namespace goes away with its tasks, and who calls in the meantime is told so.
func TestJob_B14_NamespacesGoAway(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("greet", "greet"))
	x.offer(tool("deaf", "exit", "--trap=ignore", "--sleep=600").grace(10))
	x.offer(tool("asks", "greet").asking("sure", v1alpha1.AskTask, "yes boolean"))
	c := askable(x.replicas(1)[0])
	x.wait(c, x.call(c, "greet", nil))
	x.call(c, "asks", nil)
	busy := x.call(c, "deaf", nil)
	x.waitRunning(busy)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: x.namespace}}
	x.must(cluster.Delete(x.ctx, namespace))

	_, err := c.CallTool(x.ctx, "greet", nil)
	if refused := (*mcpclient.Error)(nil); !errors.As(err, &refused) || refused.Message == "" {
		t.Errorf("a call in a namespace that is being deleted: %v", err)
	}
	x.must(cluster.WaitGone(x.ctx, namespace, types.NamespacedName{Name: x.namespace}))
}

// When a tool's time is over, what it has printed is still there, and the text says which time that was.
func TestJob_B17_DeadlineKeepsTheLog(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.Busybox)
	x.offer(tool("endless", "").
		shell(images.Busybox, "i=0; while :; do i=$((i+1)); echo line $i; sleep 1; done").deadline(6 * time.Second).grace(1))
	c := x.replicas(1)[0]
	id := x.call(c, "endless", nil)
	task := x.wait(c, id)
	if task.Status != "completed" || !task.Result.IsError {
		t.Fatalf("the task is %s, its result %+v", task.Status, task.Result)
	}
	for _, want := range []string{"deadline of 6s", "line 1\nline 2"} {
		if !strings.Contains(task.Result.Text(), want) {
			t.Errorf("the result is %q, want %q in it", task.Result.Text(), want)
		}
	}
	if reason := x.record(id).Status.Reason; reason != v1alpha1.ReasonDeadlineExceeded {
		t.Errorf("the reason is %s", reason)
	}
}

// The result is the last attempt's, and not those of all attempts.
func TestJob_B17_TheLastAttemptCounts(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.Busybox)
	volume := x.claim("attempts")
	x.offer(tool("second", "").
		shell(images.Busybox, "if [ -e /data/first ]; then echo B; else touch /data/first; echo A; exit 1; fi").
		volume(volume, "/data").retries(1))
	c := x.replicas(1)[0]
	if text := x.result(c, "second", nil); strings.TrimSpace(text) != "B" {
		t.Errorf("the result is %q, want that of the second attempt", text)
	}
}

// A template that restarts containers in place, and so loses their logs, is refused in words.
func TestJob_B17_RestartInPlaceIsRefused(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	b := tool("restarts", "greet")
	b.tool.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	refused := b.in(x.namespace)
	x.create(refused)
	now := &v1alpha1.MCPTool{}
	x.must(cluster.Wait(x.ctx, now, x.key(refused.Name), func() bool { return len(now.Status.Conditions) > 0 }))
	ready := now.Status.Conditions[0]
	if ready.Status != metav1.ConditionFalse || !strings.Contains(ready.Message, "restartPolicy") {
		t.Errorf("the condition is %+v", ready)
	}
}

// A pod that is evicted, as from a node that is drained, is told as that.
func TestJob_B39_EvictionIsToldAsSuch(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("slow", "sleep", "--seconds=600"))
	c := x.replicas(1)[0]
	id := x.call(c, "slow", nil)
	x.waitRunning(id)
	pods, err := x.pods(x.ctx, id)
	x.must(err)
	if len(pods) != 1 {
		t.Fatalf("there are %d pods", len(pods))
	}
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: pods[0].Name}}
	x.must(cluster.SubResource("eviction").Create(x.ctx, &pods[0], eviction))
	task := x.wait(c, id)
	if task.Status != "failed" || !strings.Contains(task.Error.Message, "its pod was evicted") {
		t.Errorf("the task is %s, error %+v", task.Status, task.Error)
	}
	x.waitStopped(id)
}

// What a tool had to say before it was cancelled is not lost with its pods, however it takes the signal.
func TestJob_B41_CancelKeepsTheLastOutput(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	for _, code := range []string{"0", "1", "143"} {
		x.offer(tool("exits-"+code, "exit", "--trap="+code, "--sleep=600", "--stdout=step 41 of 100\n"))
	}
	c := x.replicas(1)[0]
	for _, code := range []string{"0", "1", "143"} {
		id := x.call(c, "exits-"+code, nil)
		x.waitRunning(id)
		x.waitOutput(id, "step 41")
		x.must(c.Cancel(x.ctx, id))
		task := x.wait(c, id)
		if task.Status != "cancelled" || !strings.HasSuffix(task.StatusMessage, "Its last output: step 41 of 100") {
			t.Errorf("exit code %s: the task is %s (%s)", code, task.Status, task.StatusMessage)
		}
	}
}

// waitOutput waits until the task's container has written something.
func (x *tenant) waitOutput(id, text string) {
	x.t.Helper()
	pods, err := x.pods(x.ctx, id)
	x.must(err)
	if len(pods) != 1 {
		x.t.Fatalf("task %s has %d pods", id, len(pods))
	}
	x.must(kube.Poll(x.ctx, func(ctx context.Context) (bool, error) {
		log, err := cluster.Log(ctx, &pods[0])
		return strings.Contains(log, text), err
	}))
}
