package task

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

// indexed makes the Job an Indexed one.
func (s *scene) indexed(completions, parallelism int32) *scene {
	mode := batchv1.IndexedCompletion
	s.Job.Spec.CompletionMode, s.Job.Spec.Completions, s.Job.Spec.Parallelism = &mode, &completions, &parallelism
	return s
}

// parallel makes the Job one of several pods without indexes; a work queue where it has no completions.
func (s *scene) parallel(completions *int32, parallelism int32) *scene {
	s.Job.Spec.Completions, s.Job.Spec.Parallelism = completions, &parallelism
	return s
}

// index adds a pod of a completion index.
func (s *scene) index(n, created int, steps ...func(p *corev1.Pod)) *scene {
	s.pod(created, steps...)
	p := &s.Pods[len(s.Pods)-1]
	p.Name = fmt.Sprintf("t-1-%d-%d", n, len(s.Pods))
	p.UID = types.UID(p.Name)
	p.Labels = map[string]string{
		v1alpha1.LabelSeveral: "true", batchv1.JobCompletionIndexAnnotation: strconv.Itoa(n),
	}
	return s
}

// counted is what the Job's status says of its pods.
func (s *scene) counted(succeeded, failed int32, completedIndexes string) *scene {
	s.Job.Status.Succeeded, s.Job.Status.Failed, s.Job.Status.CompletedIndexes = succeeded, failed, completedIndexes
	return s
}

// givenUp are the indexes that the Job controller does not try any more.
func (s *scene) givenUp(indexes string) *scene {
	s.Job.Status.FailedIndexes = &indexes
	return s
}

// jobOver adds a condition that the Job controller set at that second.
func (s *scene) jobOver(condition batchv1.JobConditionType, reason string, when int) *scene {
	s.jobSays(condition, reason)
	s.Job.Status.Conditions[len(s.Job.Status.Conditions)-1].LastTransitionTime = at(when)
	return s
}

// logs are what the main containers of all pods left.
func (s *scene) logs(text string) *scene {
	s.Outputs = map[types.UID]job.Output{}
	for i := range s.Pods {
		s.Outputs[s.Pods[i].UID] = job.Output{Data: []byte(text), Total: int64(len(text))}
	}
	return s
}

var severalSituations = []situation{
	// On the way.
	{"an Indexed Job of this moment",
		newScene().job().indexed(3, 2).clock(2),
		"queued", working, v1alpha1.ReasonQueued, "Waiting for a pod", ""},
	{"no index has a node yet",
		newScene().job().indexed(3, 2).index(0, 2, unschedulable("0/1 nodes are available: 1 Insufficient cpu.")).index(1, 2),
		"starting", working, v1alpha1.ReasonStarting, "Waiting for a node: insufficient cpu.", ""},
	{"no index has had a node for too long",
		newScene().job().indexed(3, 2).clock(700).index(0, 2, unschedulable("")).index(1, 2, unschedulable("")),
		"start-deadline", failed, v1alpha1.ReasonUnschedulable, "It did not start within 10m", NextStop},
	{"the image of all indexes is nonsense",
		newScene().job().indexed(3, 2).index(0, 2).index(1, 2, waitingWith("InvalidImageName", "")),
		"image-unusable", failed, v1alpha1.ReasonImagePullFailed, "not valid", NextStop},
	{"one index runs and one is done",
		newScene().job().indexed(3, 2).index(0, 2, runs(5), exits(0, 30)).index(1, 2, runs(5)).index(2, 59),
		"several-running", working, v1alpha1.ReasonRunning, "Running: 1 of 3 done.", ""},
	{"more are done than there are pods left",
		newScene().job().indexed(50, 2).counted(17, 0, "0-16").index(17, 50, runs(55)).index(18, 50, runs(55)),
		"several-running", working, v1alpha1.ReasonRunning, "Running: 17 of 50 done.", ""},
	{"an index has been given up, the others go on",
		newScene().job().indexed(3, 2).givenUp("0").
			index(0, 2, runs(5), exits(3, 30)).index(1, 2, runs(5)).index(2, 59),
		"several-running", working, v1alpha1.ReasonRunning, "0 of 3 done, 1 failed.", ""},
	{"an attempt failed and another one runs",
		newScene().job().indexed(2, 2).retries(2).index(0, 2, runs(5), exits(3, 30)).index(1, 2, runs(5)).index(0, 50, runs(55)),
		"several-running", working, v1alpha1.ReasonRunning, "0 of 2 done, 1 attempt failed.", ""},
	{"half of a gang has no node",
		newScene().job().indexed(2, 2).index(0, 2, runs(5)).
			index(1, 2, unschedulable("0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")),
		"several-running", working, v1alpha1.ReasonRunning,
		"0 of 2 done. 1 pod waits. Waiting for a node: insufficient nvidia.com/gpu.", ""},
	{"half of a gang has no node for longer than the startup deadline",
		newScene().job().indexed(2, 2).clock(3000).index(0, 2, runs(5)).index(1, 2, unschedulable("")),
		"several-running", working, v1alpha1.ReasonRunning, "1 pod waits. Waiting for a node.", ""},
	{"a pod is missing, and nobody says why",
		newScene().job().indexed(2, 2).index(0, 2, runs(5)),
		"several-running", working, v1alpha1.ReasonQueued, "", NextEvents},
	{"a quota keeps one of the pods out",
		newScene().job().indexed(2, 2).index(0, 2, runs(5)).event("FailedCreate",
			`Error creating: pods "t-1-x" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=1, limited: pods=1`),
		"several-running", working, v1alpha1.ReasonRunning, "0 of 2 done. Waiting for room in the quota: exceeded quota: compute", ""},
	{"the last pods are not missed",
		newScene().job().indexed(3, 2).index(0, 2, runs(5), exits(0, 30)).index(1, 2, runs(5), exits(0, 30)).index(2, 35, runs(40)),
		"several-running", working, v1alpha1.ReasonRunning, "2 of 3 done.", ""},
	{"nothing runs and the next index has no node",
		newScene().job().indexed(2, 1).started().index(0, 2, runs(5), exits(0, 30)).index(1, 31, unschedulable("")),
		"starting", working, v1alpha1.ReasonStarting, "1 of 2 done. Waiting for a node.", ""},
	{"the last index has had no node for too long",
		newScene().job().indexed(2, 1).started().clock(700).index(0, 2, runs(5), exits(0, 30)).index(1, 31, unschedulable("")),
		"start-deadline", failed, v1alpha1.ReasonUnschedulable, "1 of 2 done; the next pod did not start within 10m", NextStop},
	{"a waiting index is not late before the others have run",
		newScene().job().indexed(2, 2).started().clock(700).index(0, 2, runs(5), exits(0, 650)).index(1, 2, unschedulable("")),
		"starting", working, v1alpha1.ReasonStarting, "1 of 2 done. Waiting for a node.", ""},
	{"workers of a queue",
		newScene().job().parallel(nil, 3).pod(2, runs(5), exits(0, 30)).pod(2, runs(5)).pod(2, runs(5)),
		"several-running", working, v1alpha1.ReasonRunning, "Running: 1 done.", ""},
	{"enough indexes have succeeded, the others are stopped",
		newScene().job().indexed(2, 2).clock(41).jobOver(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonSuccessPolicy, 40).
			index(0, 2, runs(5), exits(0, 39)).index(1, 2, runs(5), deleted(40)),
		"several-ending", working, v1alpha1.ReasonRunning, "1 of 2 done; pods that are not needed", ""},

	// How it ends.
	{"the Job is Complete, the cache does not show its pods so",
		newScene().job().indexed(2, 2).started().counted(2, 0, "0,1").jobOver(batchv1.JobComplete, "", 40).
			index(0, 2, runs(5), exits(0, 39)).index(1, 2, runs(5)),
		"several-unseen", working, v1alpha1.ReasonRunning, "", NextFreshJob},
	{"the Job is Complete, its logs are not read",
		newScene().job().indexed(2, 2).counted(2, 0, "0,1").jobOver(batchv1.JobComplete, "", 40).
			index(0, 2, runs(5), exits(0, 39)).index(1, 2, runs(5), exits(0, 38)),
		"several-succeeded", working, v1alpha1.ReasonRunning, "", NextOutputs},
	{"the Job is Complete",
		newScene().job().indexed(2, 2).counted(2, 0, "0,1").jobOver(batchv1.JobComplete, "", 40).
			index(0, 2, runs(5), exits(0, 39)).index(1, 2, runs(5), exits(0, 38)).logs("hello"),
		"several-succeeded", completed, v1alpha1.ReasonSucceeded, "All 2 indexes succeeded.", ""},
	{"the Job is Complete and some pods are gone",
		newScene().job().indexed(3, 2).fresh().counted(3, 0, "0-2").jobOver(batchv1.JobComplete, "", 40).
			index(1, 2, runs(5), exits(0, 38)).logs("hello"),
		"several-succeeded", completed, v1alpha1.ReasonSucceeded, "All 3 indexes succeeded.", ""},
	{"the Job is Complete and all pods are gone",
		newScene().job().indexed(3, 2).fresh().started().counted(3, 0, "0-2").jobOver(batchv1.JobComplete, "", 40),
		"several-succeeded", completed, v1alpha1.ReasonSucceeded, "All 3 indexes succeeded.", ""},
	{"a Job without anything to do",
		newScene().job().indexed(0, 2).jobOver(batchv1.JobComplete, "", 2),
		"several-succeeded", completed, v1alpha1.ReasonSucceeded, "", ""},
	{"enough indexes have succeeded",
		newScene().job().indexed(2, 2).fresh().counted(1, 1, "0").jobOver(batchv1.JobComplete, batchv1.JobReasonSuccessPolicy, 45).
			index(0, 2, runs(5), exits(0, 39)).index(1, 2, runs(5), exits(143, 42)).logs("hello"),
		"several-succeeded", completed, v1alpha1.ReasonSucceeded, "1 of 2 indexes succeeded, and that is enough.", ""},
	{"enough indexes have succeeded, and a node that ran another does not answer",
		newScene().job().indexed(2, 2).clock(300).fresh().counted(1, 0, "0").
			jobOver(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonSuccessPolicy, 45).
			index(0, 2, runs(5), exits(0, 39)).index(1, 2, runs(5), deleted(46)).logs("hello"),
		"several-succeeded", completed, v1alpha1.ReasonSucceeded, "1 of 2 indexes succeeded", ""},
	{"all succeeded, and a process of one was killed for memory",
		newScene().job().indexed(2, 2).counted(2, 0, "0,1").jobOver(batchv1.JobComplete, "", 40).
			index(0, 2, runs(5), exits(0, 39)).index(1, 2, runs(5), exits(0, 38), endReason("OOMKilled", "")).logs("hello"),
		"several-succeeded", completed, v1alpha1.ReasonOOMKilled, "index 1 exited with code 0, but a process", ""},
	{"one of the pods of a Job without indexes failed for good",
		newScene().job().parallel(new(int32), 2).with(func(o *Observation) { *o.Job.Spec.Completions = 2 }).
			jobOver(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, 50).
			pod(2, runs(5), exits(0, 39)).pod(2, runs(5), exits(3, 45)).logs("hello"),
		"several-failed", completed, v1alpha1.ReasonToolError, "pod 2 exited with code 3; 1 of 2 pods succeeded.", ""},
	{"an index failed, the other one was stopped for it",
		newScene().job().indexed(2, 2).jobOver(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, 50).
			index(0, 2, runs(5), removedByKubelet(51), exits(143, 52)).index(1, 2, runs(5), exits(42, 45)).logs("no such file"),
		"several-failed", completed, v1alpha1.ReasonToolError, "index 1 exited with code 42; 0 of 2 indexes succeeded.", ""},
	{"an index was killed for memory",
		newScene().job().indexed(2, 2).jobOver(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, 50).
			index(1, 2, runs(5), exits(137, 45), endReason("OOMKilled", "")).logs(""),
		"several-failed", completed, v1alpha1.ReasonOOMKilled, "index 1 was killed because it ran out of memory", ""},
	{"an index ran too long",
		newScene().job().indexed(2, 2).jobOver(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, 3610).
			index(1, 2, runs(5), exits(137, 3605), podFailed("DeadlineExceeded", "")).logs(""),
		"several-failed", completed, v1alpha1.ReasonDeadlineExceeded, "index 1 was stopped because it ran longer", ""},
	{"an index failed and the cache has no failed pod",
		newScene().job().indexed(2, 2).started().jobOver(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, 50),
		"several-unseen", working, v1alpha1.ReasonRunning, "", NextFreshJob},
	{"an index failed and its pod is gone",
		newScene().job().indexed(2, 2).fresh().started().jobOver(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, 50),
		"several-outcome-unknown", failed, v1alpha1.ReasonOutcomeUnknown, "unknown", ""},
	{"the Job as a whole ran too long",
		newScene().job().indexed(2, 1).fresh().started().counted(1, 0, "0").
			jobOver(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded, 5000).index(0, 2, runs(5), exits(0, 39)).logs("hello"),
		"several-deadline", completed, v1alpha1.ReasonDeadlineExceeded, "its deadline of 1h; 1 of 2 indexes succeeded.", ""},
	{"an index was evicted",
		newScene().job().indexed(2, 2).fresh().jobOver(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, 50).
			index(0, 2, runs(5), exits(0, 39)).index(1, 2, podFailed("Evicted", "")),
		"several-disrupted", failed, v1alpha1.ReasonDisrupted, "Index 1 was stopped before it was done: its node ran out", ""},
	{"B36: an index had two pods at once; one was stopped, the other failed",
		newScene().job().indexed(2, 2).fresh().jobOver(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, 50).
			index(0, 2, runs(5), exits(0, 39)).index(1, 2, runs(5), exits(3, 49)).
			index(1, 20, runs(25), deleted(30), exits(143, 31)).logs("no"),
		"several-failed", completed, v1alpha1.ReasonToolError, "", ""},
	{"an init container of an index failed",
		newScene().job().indexed(2, 2).fresh().jobOver(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, 50).
			index(1, 2, onNode, initFails(7), podFailed("", "")),
		"several-never-ran", failed, v1alpha1.ReasonCannotStart, "Index 1: The init container clone failed with exit code 7", ""},
	{"the program of an index is not in the image",
		newScene().job().indexed(2, 2).fresh().jobOver(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, 50).
			index(1, 2, onNode, exits(128, 6), neverStarted, endReason("StartError", "exec: nope: not found")),
		"several-never-ran", failed, v1alpha1.ReasonCannotStart, "could not be started: exec: nope", ""},
	{"the node of one index does not answer, another one runs",
		newScene().job().indexed(2, 2).clock(300).index(0, 2, runs(5), deleted(100)).index(1, 2, runs(5)),
		"several-running", working, v1alpha1.ReasonRunning, "0 of 2 done. 1 pod is being stopped: its pod was deleted.", ""},
	{"the node of the last index does not answer",
		newScene().job().indexed(2, 2).clock(400).index(0, 2, runs(5), deleted(100)).index(1, 2, runs(5), exits(0, 200)),
		"several-node-lost", failed, v1alpha1.ReasonDisrupted, "1 of 2 done", NextStop},

	// Cancel and deletion.
	{"cancel while some run",
		newScene().job().indexed(3, 2).started().cancel().index(0, 2, runs(5), exits(0, 30)).index(1, 2, runs(5)),
		"cancelling", working, v1alpha1.ReasonCancelling, "changed my mind", NextStop},
	{"a pod of several is done, and the Job is being deleted",
		newScene().job().indexed(3, 2).started().cancel().deletingJob().index(0, 2, runs(5), exits(0, 30)).
			index(1, 2, runs(5), deleted(51)),
		"cancelling", working, v1alpha1.ReasonCancelling, "", ""},
	{"cancel after the Job was complete",
		newScene().job().indexed(1, 1).cancel().deletingJob().counted(1, 0, "0").jobOver(batchv1.JobComplete, "", 45).
			index(0, 2, runs(5), exits(0, 39)).logs("hello"),
		"several-succeeded", completed, v1alpha1.ReasonSucceeded, "", ""},
	{"the Job fails because it is being deleted",
		newScene().job().indexed(2, 2).started().cancel().deletingJob().
			jobOver(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, 52).index(0, 2, runs(5), deleted(51), exits(143, 52)),
		"cancelling", working, v1alpha1.ReasonCancelling, "", ""},
	{"a pod of several outlived its Job, done",
		newScene().job().started().jobGone().index(0, 2, runs(5), exits(0, 30)),
		"job-being-deleted", working, v1alpha1.ReasonCancelling, "Somebody deleted", ""},
	{"cancel, and the node of one pod does not answer",
		newScene().job().indexed(2, 2).started().cancel().deletingJob().clock(400).index(0, 2, runs(5), deleted(51)),
		"several-node-lost", failed, v1alpha1.ReasonDisrupted, "may still be going on", ""},
}

// However many pods come and go, progress is written every ten seconds at most; the end is not held back.
func TestProgressIsPaced(t *testing.T) {
	s := newScene().job().indexed(100, 100).started().clock(60)
	for i := range 100 {
		s.index(i, 2, runs(5))
	}
	s.Task.Status.Message = "Running: 0 of 100 done."
	last := metav1.NewMicroTime(at(60).Time)
	s.Task.Status.LastUpdatedAt = &last
	writes := 0
	for i := range 100 {
		s.clock(60 + i)
		exits(0, 60+i)(&s.Pods[i])
		v := Decide(s.Observation)
		if i < 99 && v.After > progressEvery || v.Passing && v.After <= 0 {
			t.Errorf("%d s: looks again after %v", i, v.After)
		}
		if Apply(v, s.Task, s.Job, s.Now) {
			writes++
		}
	}
	if writes != 9 {
		t.Errorf("%d writes in 99 seconds, want 9; the last says %q", writes, s.Task.Status.Message)
	}
	if want := "Running: 91 of 100 done."; s.Task.Status.Message != want {
		t.Errorf("message %q, want %q", s.Task.Status.Message, want)
	}
	// Nothing has changed: nothing is written, however long it takes.
	v := Decide(s.clock(170).Observation)
	Apply(v, s.Task, s.Job, s.Now)
	if v = Decide(s.clock(1000).Observation); Apply(v, s.Task, s.Job, s.Now) {
		t.Errorf("written without need: %+v", v)
	}
	s.counted(100, 0, "0-99").jobOver(batchv1.JobComplete, "", 1000).logs("done").clock(1001)
	if v = Decide(s.Observation); !Apply(v, s.Task, s.Job, s.Now) || s.Task.Status.State != completed {
		t.Errorf("the end is held back: %+v", v)
	}
}

// The first sight of a running pod is told at once.
func TestProgressStartsAtOnce(t *testing.T) {
	s := newScene().job().indexed(2, 2).clock(6).index(0, 2, runs(5)).index(1, 2)
	justNow := metav1.NewMicroTime(at(5).Time)
	s.Task.Status.LastUpdatedAt = &justNow
	if v := Decide(s.Observation); !Apply(v, s.Task, s.Job, s.Now) || s.Task.Status.StartedAt == nil {
		t.Errorf("not written: %+v", v)
	}
}

// What an Indexed Job came to is told in the order of the indexes, whatever the order of the pods, and of retries the last
// counts.
func TestSeveralPartsInOrder(t *testing.T) {
	s := newScene().job().indexed(4, 2).retries(3).fresh().counted(2, 2, "0,2").
		jobOver(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, 90).
		index(2, 2, runs(5), exits(0, 30)).index(1, 2, runs(5), exits(3, 30)).
		index(1, 40, runs(45), exits(4, 50)).index(0, 60, runs(65), exits(0, 70)).logs("said")
	v := Decide(s.Observation)
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal([]byte(v.Result), &result); err != nil || len(result.Content) != 1 || !result.IsError {
		t.Fatalf("result %s: %v", v.Result, err)
	}
	want := `The tool failed: index 1 exited with code 4; 2 of 4 indexes succeeded.

=== index 0 exited with code 0 ===
said

=== index 1 exited with code 4 in attempt 2 ===
said

=== index 2 exited with code 0 ===
said

=== index 3 stopped with the Job, or never started ===`
	if got := result.Content[0].Text; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestRanges(t *testing.T) {
	for text, want := range map[string]string{
		"": "[]", "3": "[3]", "0,2-4,9": "[0 2 3 4 9]", "8-20": "[8 9]", "20": "[]", "x,1": "[1]", "1-x,2": "[2]",
	} {
		got := []int{}
		for n := range ranges(text, 10) {
			got = append(got, n)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("ranges(%q) = %v, want %s", text, got, want)
		}
	}
}

// A Job with several pods looks again in time, too.
func TestSeveralLooksAgainInTime(t *testing.T) {
	for _, s := range []struct {
		name string
		seen *scene
		want time.Duration
	}{
		{"a pod that was just created settles first",
			newScene().job().indexed(2, 2).clock(60).index(0, 2, runs(5)).index(1, 59), 2 * time.Second},
		{"a missing pod may still be kept out",
			newScene().job().indexed(2, 2).clock(60).index(0, 2, runs(5)).with(func(o *Observation) { o.Events = []corev1.Event{} }),
			eventsEvery},
		{"running containers need no looking after", newScene().job().indexed(2, 2).index(0, 2, runs(5)).index(1, 2, runs(5)), 0},
		{"a node that stops answering is given up",
			newScene().job().indexed(2, 2).started().clock(22).index(0, 2, runs(5), deleted(20)).index(1, 2, runs(5)), 148 * time.Second},
	} {
		if got := Decide(s.seen.Observation); got.After != s.want || !strings.HasPrefix(got.Message, "Running") {
			t.Errorf("%s: after %v, want %v: %s", s.name, got.After, s.want, got.Message)
		}
	}
}
