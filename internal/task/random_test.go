package task

import (
	"fmt"
	"math/rand/v2"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

// world is a cluster in which anything may happen at any time, and a controller that sees it late.
type world struct {
	*scene
	stories
	rng      *rand.Rand
	second   int // the time, in seconds after t0
	version  int // of the task, counted up by each write
	launches int // Jobs ever created
	ends     int // writes of a terminal state
	history  []string
}

// stories are a kind of stories.
type stories struct {
	name    string
	several bool // about Jobs with several pods
	secret  bool // about calls with secret arguments
}

var allStories = []stories{{name: "one pod"}, {name: "several pods", several: true}, {name: "secret arguments", secret: true}}

func (w *world) log(format string, args ...any) {
	w.history = append(w.history, fmt.Sprintf("%4ds ", w.second)+fmt.Sprintf(format, args...))
}

func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

// happen lets one thing happen in the cluster.
func (w *world) happen() {
	w.second += []int{0, 1, 3, 30, 700}[w.rng.IntN(5)]
	w.clock(w.second)
	things := []struct {
		what string
		do   func()
	}{
		{"cancel", func() {
			if w.Task.Spec.Cancel == nil {
				w.cancel()
				w.version++
			}
		}},
		{"a pod is created", func() {
			if w.Job != nil && (w.Job.DeletionTimestamp == nil) {
				w.newPod()
			}
		}},
		{"the pod gets a node", w.onLast(onNode)},
		{"the pod finds no node", w.onLast(unschedulable("0/1 nodes are available: 1 Insufficient cpu."))},
		{"the image cannot be pulled", w.onLast(waitingWith("ErrImagePull", "no"))},
		{"the image's name is nonsense", w.onLast(waitingWith("InvalidImageName", "no"))},
		{"the container runs", w.onLast(runs(w.second))},
		{"the container exits with 0", w.onLast(exits(0, w.second))},
		{"the container exits with 3", w.onLast(exits(3, w.second))},
		{"the container is killed for memory", w.onLast(func(p *corev1.Pod) {
			exits(137, w.second)(p)
			endReason("OOMKilled", "")(p)
		})},
		{"the pod runs out of time", w.onLast(podFailed("DeadlineExceeded", ""))},
		{"the pod is evicted", w.onLast(func(p *corev1.Pod) {
			podFailed("Evicted", "")(p)
			disruptedBy(corev1.PodReasonTerminationByKubelet, w.second)(p)
		})},
		{"the pod succeeds in silence", w.onLast(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })},
		{"the pod is told to stop", w.onLast(deleted(w.second))},
		{"the pods are gone", func() { w.Pods = nil }},
		{"somebody deletes the Job", func() {
			if w.Job != nil {
				now := metav1.NewTime(w.Now)
				w.Job.DeletionTimestamp = &now
			}
		}},
		{"the Job is gone", func() { w.Job = nil }},
		{"the Job is complete", func() { w.jobEnds(batchv1.JobComplete, "") }},
		{"the Job failed", func() { w.jobEnds(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded) }},
		{"the Job is suspended", func() {
			if w.Job != nil {
				yes := true
				w.Job.Spec.Suspend = &yes
			}
		}},
		{"the Job controller sees what is suspended", func() {
			if w.Job == nil {
				return
			}
			if w.Job.Spec.Suspend != nil {
				w.suspended(w.second)
			} else {
				w.resumed(w.second)
			}
		}},
		{"the Job is resumed", func() {
			if w.Job != nil {
				w.Job.Spec.Suspend = nil
			}
		}},
		{"the tool is gone", func() { w.Tool = nil }},
	}
	if secret := w.Task.Spec.SecretArguments; secret != nil && secret.StoredAt == nil {
		things = append(things, struct {
			what string
			do   func()
		}{"the Secret is stored", func() {
			secret.StoredAt = &metav1.MicroTime{Time: w.Now}
			w.version++
		}})
	}
	if w.several() {
		things = append(things, []struct {
			what string
			do   func()
		}{
			{"enough pods have succeeded", func() { w.jobEnds(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonSuccessPolicy) }},
			{"the Job is about to fail", func() { w.jobEnds(batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded) }},
			{"the Job ran too long", func() { w.jobEnds(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded) }},
			{"the Job counts", func() { w.counted(1, 1, "1") }},
			{"a pod is gone", func() { w.Pods = w.Pods[:max(len(w.Pods)-1, 0)] }},
		}...)
	}
	thing := things[w.rng.IntN(len(things))]
	thing.do()
	w.log("%s", thing.what)
}

// onLast does something to the pod that was created last, or to any of several.
func (w *world) onLast(step func(p *corev1.Pod)) func() {
	return func() {
		n := len(w.Pods)
		switch {
		case n > 0 && w.several():
			step(&w.Pods[w.rng.IntN(n)])
		case n > 0:
			step(&w.Pods[n-1])
		}
	}
}

// several: the Job has several pods.
func (w *world) several() bool { return w.Job != nil && job.Several(&w.Job.Spec) }

func (w *world) newPod() {
	if w.several() {
		w.index(w.rng.IntN(3), w.second)
		return
	}
	w.pod(w.second)
}

// vary makes the Job one of the kinds that there are.
func (w *world) vary(s *scene) {
	if w.rng.IntN(2) == 0 {
		s.retries(2)
	}
	if !w.stories.several {
		return
	}
	two := int32(2)
	switch w.rng.IntN(4) {
	case 0:
		s.parallel(nil, 2)
	case 1:
		s.parallel(&two, 2)
	default:
		s.indexed(3, 2)
	}
	s.Job.Spec.BackoffLimitPerIndex = s.Job.Spec.BackoffLimit
}

func (w *world) jobEnds(condition batchv1.JobConditionType, reason string) {
	if w.Job != nil {
		w.jobSays(condition, reason)
	}
}

// look is one pass of the controller, which may see things as they were.
func (w *world) look(t *testing.T, past Observation, pastVersion int) {
	o, version := w.Observation, w.version
	if w.chance(30) {
		o, version = past, pastVersion
	}
	o.Now, o.FreshTask, o.FreshJob, o.Events, o.Output, o.Outputs = w.Now, false, false, nil, nil, nil
	o.Plan, o.PlanProblem = nil, ""
	asked := map[Next]bool{}
	v := Decide(o)
	for v.Next != NextNothing {
		if asked[v.Next] {
			t.Fatalf("rule %q asks for %s again", v.Rule, v.Next)
		}
		asked[v.Next] = true
		w.log("  %s asks for %s", v.Rule, v.Next)
		if w.chance(10) {
			return // The API server did not answer; a pass later it may.
		}
		version = w.act(t, &o, v, version)
		v = Decide(o)
	}
	checkSound(t, v)
	changed := o.Task.DeepCopy()
	if !Apply(v, changed, o.Job, o.Now) || version != w.version {
		return // Nothing to write, or somebody else wrote in the meantime.
	}
	w.log("  %s writes %s/%s", v.Rule, v.State, v.Reason)
	if v.State.Terminal() {
		w.ends++
	}
	w.Task = changed
	w.version++
}

func (w *world) act(t *testing.T, o *Observation, v Verdict, version int) int {
	switch v.Next {
	case NextFreshTask:
		o.Task, o.Tool, o.FreshTask = w.Task.DeepCopy(), w.Tool, true
		return w.version
	case NextFreshJob:
		o.Job, o.Pods, o.FreshJob = w.Job.DeepCopy(), w.pods(), true
	case NextEvents:
		o.Events = []corev1.Event{}
	case NextOutput:
		o.Output = &job.Output{Data: []byte("output")}
	case NextOutputs:
		o.Outputs = map[types.UID]job.Output{}
		for _, pod := range v.Pods {
			o.Outputs[pod.UID] = job.Output{Data: []byte("output")}
		}
	case NextGlance:
		o.SoFar = &job.Output{Data: []byte("so far")}
	case NextStop:
		o.Stopped = true
		if w.Job != nil {
			now := metav1.NewTime(w.Now)
			w.Job.DeletionTimestamp = &now
			for i := range w.Pods {
				deleted(w.second)(&w.Pods[i])
			}
		}
	case NextPlan:
		o.Plan, o.PlanProblem = planOf(o.Tool, o.Task)
	case NextLaunch:
		if secret := w.Task.Spec.SecretArguments; secret != nil && secret.StoredAt == nil {
			t.Error("a Job is created before its Secret is there")
		}
		w.launch(o)
	default:
		t.Fatalf("rule %q asks for %q", v.Rule, v.Next)
	}
	return version
}

func (w *world) launch(o *Observation) {
	switch {
	case w.chance(10):
		o.Refusal = &Refusal{Reason: v1alpha1.ReasonRejected, Message: "no"}
	case w.chance(20):
		o.Trouble = "no answer"
	default:
		if w.Job == nil {
			w.launches++
			s := newScene().job()
			w.Job = s.Job
			w.Job.CreationTimestamp = metav1.NewTime(w.Now)
			if w.chance(30) {
				w.policy(failOn(3), ignoreDisruptions)
			}
			w.vary(s)
		}
		o.Job = w.Job.DeepCopy()
	}
}

func (w *world) pods() []corev1.Pod {
	var pods []corev1.Pod
	for i := range w.Pods {
		pods = append(pods, *w.Pods[i].DeepCopy())
	}
	return pods
}

func (w *world) snapshot() Observation {
	o := w.Observation
	o.Task, o.Job, o.Pods = w.Task.DeepCopy(), w.Job.DeepCopy(), w.pods()
	return o
}

// TestAnythingMayHappen plays random stories. Whatever happens in the cluster, in whatever order and however late it is seen: a
// task ends at most once, stays as it ended, has a result exactly if it is completed and an error exactly if it failed, and what
// is known of a Job never leads to another one.
func TestAnythingMayHappen(t *testing.T) {
	for _, kind := range allStories {
		t.Run(kind.name, func(t *testing.T) { anythingMayHappen(t, kind) })
	}
}

func anythingMayHappen(t *testing.T, kind stories) {
	const count, steps = 3000, 40
	ended := map[v1alpha1.TaskState]int{}
	for seed := range uint64(count) {
		w := &world{scene: newScene(), stories: kind, rng: rand.New(rand.NewPCG(seed, 1))}
		if kind.secret {
			w.withSecret(false)
		}
		var end v1alpha1.MCPTaskStatus
		past, pastVersion := w.snapshot(), 0
		for range steps {
			if w.chance(50) {
				past, pastVersion = w.snapshot(), w.version
			}
			if w.chance(60) {
				w.happen()
			}
			known := w.Task.Status.Job != nil
			before := w.launches
			w.look(t, past, pastVersion)
			if known && w.launches != before {
				t.Errorf("a Job was on the record, and another one was created")
			}
			s := w.Task.Status
			if end.State != "" && (s.State != end.State || s.Result != end.Result || s.Reason != end.Reason || s.Error != end.Error) {
				t.Errorf("the end changed from %s/%s to %s/%s", end.State, end.Reason, s.State, s.Reason)
			}
			if s.State.Terminal() {
				end = s
			}
			if t.Failed() {
				break
			}
		}
		ended[w.Task.Status.State]++
		if w.ends > 1 {
			t.Errorf("%d ends", w.ends)
		}
		if t.Failed() {
			for _, line := range w.history {
				t.Log(line)
			}
			t.Fatalf("story %d", seed)
		}
	}
	for _, state := range []v1alpha1.TaskState{completed, failed, cancelled} {
		if ended[state] < count/100 {
			t.Errorf("only %d of %d stories end %s: the stories have become too dull", ended[state], count, state)
		}
	}
}

// TestEverythingEnds lets the cluster fall silent after a random story: the controller then brings the task to its end by the
// clock alone, unless a container still runs, which the kubelet ends in its time.
func TestEverythingEnds(t *testing.T) {
	for _, kind := range allStories {
		t.Run(kind.name, func(t *testing.T) { everythingEnds(t, kind) })
	}
}

func everythingEnds(t *testing.T, kind stories) {
	for seed := range uint64(1000) {
		w := &world{scene: newScene(), stories: kind, rng: rand.New(rand.NewPCG(seed, 2))}
		for range 12 {
			w.happen()
			w.look(t, w.snapshot(), w.version)
		}
		for i := range w.Pods {
			if last := i == len(w.Pods)-1; (last || kind.several) && !podOver(&w.Pods[i]) {
				exits(0, w.second)(onNodeOnce(&w.Pods[i]))
			}
		}
		w.collectGarbage()
		for range 60 {
			w.second += 120
			w.clock(w.second)
			w.look(t, w.snapshot(), w.version)
			w.collectGarbage()
		}
		if !w.Task.Status.State.Terminal() {
			for _, line := range w.history {
				t.Log(line)
			}
			t.Fatalf("story %d does not end: %+v, decided %+v", seed, w.Task.Status, Decide(w.Observation))
		}
	}
}

// collectGarbage finishes a deletion that was begun.
func (w *world) collectGarbage() {
	if w.Job == nil || w.Job.DeletionTimestamp != nil {
		w.Job, w.Pods = nil, nil
	}
}

func onNodeOnce(p *corev1.Pod) *corev1.Pod {
	if p.Spec.NodeName == "" {
		onNode(p)
	}
	return p
}
