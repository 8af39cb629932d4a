package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// indexed makes the tool's Job an Indexed one.
func indexed(completions, parallelism int32, changes ...func(*batchv1.JobSpec)) func(*v1alpha1.MCPTool) {
	return func(t *v1alpha1.MCPTool) {
		spec := &t.Spec.JobTemplate.Spec
		spec.CompletionMode, spec.Completions, spec.Parallelism = ptr.To(batchv1.IndexedCompletion), &completions, &parallelism
		for _, change := range changes {
			change(spec)
		}
	}
}

// parallel makes the tool's Job one of several pods without indexes; a work queue where completions is nil.
func parallel(completions *int32, parallelism int32) func(*v1alpha1.MCPTool) {
	return func(t *v1alpha1.MCPTool) {
		t.Spec.JobTemplate.Spec.Completions, t.Spec.JobTemplate.Spec.Parallelism = completions, &parallelism
	}
}

// does is what the kubelet says of a pod whose container runs, prints and exits.
func (w *world) does(pod *corev1.Pod, prints string, code int32) {
	w.Helper()
	w.logs.of(pod, prints)
	w.runs(pod)
	w.exits(pod, "main", code)
}

// wantText checks the text of a result, and whether it is an error.
func (w *world) wantText(t *v1alpha1.MCPTask, isError bool, want string) {
	w.Helper()
	if text, failed := resultText(w.T, t); text != want+"\n" || failed != isError {
		w.Errorf("isError %t, reason %s:\n%s\nwant isError %t:\n%s", failed, t.Status.Reason, text, isError, want)
	}
}

func TestSeveralIndexesAreJoinedInOrder_C02(t *testing.T) {
	w := newWorld(t)
	w.controller()
	call := w.call(w.tool(indexed(5, 3)))
	first := w.index(call, 1)
	w.runs(first)
	running := w.awaitReason(call, v1alpha1.ReasonRunning)
	if running.Status.Message != "Running: 0 of 5 done." || running.Status.StartedAt == nil {
		t.Errorf("status %+v", running.Status)
	}
	w.logs.of(first, "rab")
	w.exits(first, "main", 0)
	words := []string{"oof", "rab", "zab", "xuq", "zyx"}
	for _, n := range []int{2, 0, 4, 3} {
		w.does(w.index(call, n), words[n]+"\n", 0)
	}
	done := w.awaitState(call, v1alpha1.StateCompleted)
	w.wantText(done, false, `All 5 indexes succeeded.

=== index 0 exited with code 0 ===
oof

=== index 1 exited with code 0 ===
rab

=== index 2 exited with code 0 ===
zab

=== index 3 exited with code 0 ===
xuq

=== index 4 exited with code 0 ===
zyx`)
	if n := w.logs.reads(); n != 5 {
		t.Errorf("%d logs were read, want 5", n)
	}
	w.wantOneJob(call)
	await(w, w.job(call), "the Job to be let go", func(j *batchv1.Job) bool { return j.Spec.TTLSecondsAfterFinished != nil })
}

// Without a word on retries, the first index that fails ends the Job; the others are stopped, and their end is waited for.
func TestSeveralFailingIndexEndsTheJob(t *testing.T) {
	w := newWorld(t)
	w.controller()
	call := w.call(w.tool(indexed(4, 3)))
	w.does(w.index(call, 0), "fine", 0)
	running := w.index(call, 2)
	w.runs(running)
	w.does(w.index(call, 1), "no such file", 42)
	await(w, w.job(call), "the Job's failure", func(j *batchv1.Job) bool { return condition(j, batchv1.JobFailureTarget) })
	now := await(w, call, "the task", func(*v1alpha1.MCPTask) bool { return true })
	if now.Status.State != v1alpha1.StateWorking {
		t.Errorf("the task ended while a pod still ran: %+v", now.Status)
	}
	w.stops(running, 143)
	w.stopsIfThere(call, 3)
	done := w.awaitState(call, v1alpha1.StateCompleted)
	text, isError := resultText(t, done)
	if !isError || done.Status.Reason != v1alpha1.ReasonToolError ||
		!strings.HasPrefix(text, "The tool failed: index 1 exited with code 42; 1 of 4 indexes succeeded.\n") ||
		!strings.Contains(text, "=== index 1 exited with code 42 ===\nno such file\n") ||
		!strings.Contains(text, "=== index 0 exited with code 0 ===\nfine\n") {
		t.Errorf("reason %s, isError %t:\n%s", done.Status.Reason, isError, text)
	}
}

func condition(j *batchv1.Job, kind batchv1.JobConditionType) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}

// stopsIfThere ends the pod of an index that the Job controller may or may not have started by the time it gave up.
func (w *world) stopsIfThere(t *v1alpha1.MCPTask, index int) {
	w.Helper()
	var pods corev1.PodList
	w.must(admin.List(w.ctx, &pods, client.InNamespace(w.ns), client.MatchingLabels{
		v1alpha1.LabelTask: t.Name, batchv1.JobCompletionIndexAnnotation: fmt.Sprint(index),
	}))
	for i := range pods.Items {
		if pods.Items[i].Spec.NodeName != "" {
			w.removes(&pods.Items[i])
		}
	}
}

func TestSeveralSuccessPolicyEndsTheOthers(t *testing.T) {
	w := newWorld(t)
	w.controller()
	call := w.call(w.tool(indexed(3, 3, func(s *batchv1.JobSpec) {
		s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: ptr.To("0")}}}
	})))
	workers := []*corev1.Pod{w.index(call, 1), w.index(call, 2)}
	for _, worker := range workers {
		w.runs(worker)
	}
	w.does(w.index(call, 0), "the answer", 0)
	for _, worker := range workers {
		w.stops(worker, 143)
	}
	done := w.awaitState(call, v1alpha1.StateCompleted)
	text, isError := resultText(t, done)
	if isError || done.Status.Reason != v1alpha1.ReasonSucceeded ||
		!strings.HasPrefix(text, "1 of 3 indexes succeeded, and that is enough.\n\n=== index 0 exited with code 0 ===\nthe answer\n") {
		t.Errorf("reason %s, isError %t:\n%s", done.Status.Reason, isError, text)
	}
}

func TestSeveralBackoffPerIndex(t *testing.T) {
	w := newWorld(t)
	w.controller()
	call := w.call(w.tool(indexed(3, 3, func(s *batchv1.JobSpec) {
		s.BackoffLimitPerIndex, s.MaxFailedIndexes = ptr.To(int32(1)), ptr.To(int32(1))
	})))
	w.does(w.index(call, 0), "zero", 0)
	first := w.index(call, 1)
	w.does(first, "one, first try", 3)
	w.does(w.index(call, 2), "two", 0)
	// The Job controller waits ten seconds before it tries an index again.
	second := w.index(call, 1, first)
	w.does(second, "one, second try", 4)
	done := w.awaitState(call, v1alpha1.StateCompleted)
	w.wantText(done, true, `The tool failed: index 1 exited with code 4; 2 of 3 indexes succeeded.

=== index 0 exited with code 0 ===
zero

=== index 1 exited with code 4 in attempt 2 ===
one, second try

=== index 2 exited with code 0 ===
two`)
	if job := w.job(call); !condition(job, batchv1.JobFailed) || ptr.Deref(job.Status.FailedIndexes, "") != "1" {
		t.Errorf("the Job says %+v", job.Status)
	}
}

func TestSeveralPodsWithoutIndexes(t *testing.T) {
	w := newWorld(t)
	w.controller()
	var pods []*corev1.Pod
	call := w.call(w.tool(parallel(ptr.To(int32(3)), 2)))
	for i := range 3 {
		pods = append(pods, w.podWith(call, nil, pods...))
		w.does(pods[i], fmt.Sprintf("chunk %d", i), 0)
	}
	done := w.awaitState(call, v1alpha1.StateCompleted)
	text, isError := resultText(t, done)
	if isError || !strings.HasPrefix(text, "All 3 pods succeeded.\n\n=== pod 1 exited with code 0 ===\nchunk ") ||
		strings.Count(text, "chunk") != 3 {
		t.Errorf("isError %t:\n%s", isError, text)
	}
}

func TestSeveralWorkersOfAQueue(t *testing.T) {
	w := newWorld(t)
	w.controller()
	call := w.call(w.tool(parallel(nil, 2)))
	one := w.podWith(call, nil)
	other := w.podWith(call, nil, one)
	w.runs(other)
	w.does(one, "the queue is empty", 0)
	// One worker that is done does not end the call while another still works.
	await(w, w.job(call), "the first worker to be counted", func(j *batchv1.Job) bool { return j.Status.Succeeded == 1 })
	w.logs.of(other, "the last item is done")
	w.exits(other, "main", 0)
	done := w.awaitState(call, v1alpha1.StateCompleted)
	text, isError := resultText(t, done)
	if isError || !strings.HasPrefix(text, "All 2 pods succeeded.\n") ||
		!strings.Contains(text, "the queue is empty") || !strings.Contains(text, "the last item is done") {
		t.Errorf("isError %t:\n%s", isError, text)
	}
}

func TestSeveralNothingToDo_C02(t *testing.T) {
	w := newWorld(t)
	w.controller()
	done := w.awaitState(w.call(w.tool(indexed(0, 3))), v1alpha1.StateCompleted)
	w.wantText(done, false, "All 0 indexes succeeded. It wrote no output.")
}

func TestSeveralStructuredResult(t *testing.T) {
	w := newWorld(t)
	w.controller()
	call := w.call(w.tool(indexed(2, 2), func(t *v1alpha1.MCPTool) {
		t.Spec.OutputSchema = &apiextensionsv1.JSON{Raw: []byte(`{"type":"object","required":["results"],"properties":{"results":` +
			`{"type":"array","items":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}}}`)}
	}))
	w.does(w.index(call, 1), `{"n":1}`, 0)
	w.does(w.index(call, 0), "counting\n{\"n\":0}\n", 0)
	done := w.awaitState(call, v1alpha1.StateCompleted)
	if want := `"structuredContent":{"results":[{"n":0},{"n":1}]}`; !strings.Contains(done.Status.Result, want) {
		t.Errorf("reason %s, result %s, want %s", done.Status.Reason, done.Status.Result, want)
	}
}

// What an index printed whose pod somebody removed is lost, but not that it succeeded.
func TestSeveralPodIsCollected_B01(t *testing.T) {
	w := newWorld(t)
	w.controller()
	call := w.call(w.tool(indexed(2, 1)))
	first := w.index(call, 0)
	w.does(first, "lost", 0)
	second := w.index(call, 1)
	w.must(admin.Delete(w.ctx, first, client.GracePeriodSeconds(0)))
	w.awaitGone(first)
	w.does(second, "kept", 0)
	w.wantText(w.awaitState(call, v1alpha1.StateCompleted), false, `All 2 indexes succeeded.

=== index 0 succeeded; its pod is gone, and its output with it ===

=== index 1 exited with code 0 ===
kept`)
}

func TestSeveralGoesOnWithoutTheController(t *testing.T) {
	w := newWorld(t)
	stop := w.controller()
	call := w.call(w.tool(indexed(3, 2)))
	w.does(w.index(call, 0), "zero", 0)
	stop()
	w.does(w.index(call, 1), "one", 0)
	w.does(w.index(call, 2), "two", 0)
	await(w, w.job(call), "the Job's completion", func(j *batchv1.Job) bool { return condition(j, batchv1.JobComplete) })
	w.controller()
	done := w.awaitState(call, v1alpha1.StateCompleted)
	if text, _ := resultText(t, done); done.Status.StartedAt == nil || !strings.HasPrefix(text, "All 3 indexes succeeded.") ||
		!strings.Contains(text, "zero") || !strings.Contains(text, "two") {
		t.Errorf("status %+v:\n%s", done.Status, text)
	}
	w.wantOneJob(call)
}

// However many pods a Job has: as long as the clock stands still, there are no more than five writes, and then one for its
// progress.
func TestSeveralWritesPerTask(t *testing.T) {
	w := newWorld(t)
	w.logs.set("done", nil)
	clock := testclock.NewFakePassiveClock(time.Now())
	var writes journal
	w.controller(writes.through(), func(s *setup) { s.options.Clock = clock })
	const pods = 8
	call := w.call(w.tool(indexed(pods, pods)))
	var running []*corev1.Pod
	for n := range pods {
		running = append(running, w.index(call, n))
		w.runs(running[n])
	}
	const atFirst = "Running: 0 of 8 done."
	w.awaitMessage(call, atFirst)
	for _, pod := range running[:4] {
		w.exits(pod, "main", 0)
	}
	await(w, w.job(call), "four indexes to be counted", func(j *batchv1.Job) bool { return j.Status.Succeeded == 4 })
	now := await(w, call, "the task", func(*v1alpha1.MCPTask) bool { return true })
	if now.Status.Message != atFirst {
		t.Errorf("before its time: %q, want %q", now.Status.Message, atFirst)
	}
	clock.SetTime(clock.Now().Add(11 * time.Second))
	w.exits(running[4], "main", 0)
	progressed := await(w, call, "the progress", func(t *v1alpha1.MCPTask) bool { return t.Status.Message != atFirst })
	if message := progressed.Status.Message; message != "Running: 4 of 8 done." && message != "Running: 5 of 8 done." {
		t.Errorf("the progress is %q", message)
	}
	for _, pod := range running[5:] {
		w.exits(pod, "main", 0)
	}
	w.awaitState(call, v1alpha1.StateCompleted)
	await(w, w.job(call), "the Job to be let go", func(j *batchv1.Job) bool { return j.Spec.TTLSecondsAfterFinished != nil })
	got := writes.about(call)
	if len(got) > 6 {
		t.Errorf("%d writes with one for the progress, want at most 6:\n%s", len(got), strings.Join(got, "\n"))
	}
	for _, entry := range got {
		if !strings.Contains(entry, ": 20") {
			t.Errorf("a write in vain: %s", entry)
		}
	}
}

func TestSeveralCancelStopsAllPods_B13(t *testing.T) {
	w := newWorld(t)
	w.controller()
	call := w.call(w.tool(indexed(4, 3)))
	w.does(w.index(call, 0), "zero", 0)
	running := []*corev1.Pod{w.index(call, 1), w.index(call, 2)}
	for _, pod := range running {
		w.runs(pod)
	}
	w.awaitReason(call, v1alpha1.ReasonRunning)
	w.cancel(call)
	w.awaitReason(call, v1alpha1.ReasonCancelling)
	w.stops(running[0], 0)
	now := await(w, call, "the task", func(*v1alpha1.MCPTask) bool { return true })
	if now.Status.State != v1alpha1.StateWorking {
		t.Errorf("the task ended while a pod still ran: %+v", now.Status)
	}
	w.stops(running[1], 143)
	w.stopsIfThere(call, 3)
	done := w.awaitState(call, v1alpha1.StateCancelled)
	if done.Status.Reason != v1alpha1.ReasonCancelled {
		t.Errorf("status %+v", done.Status)
	}
	w.awaitGone(w.newJob(call))
}
