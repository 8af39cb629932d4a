package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/images"
	"github.com/mcptasks/mcptasks/test/kube"
)

// indexed makes the tool's Job an Indexed one.
func (b *toolBuilder) indexed(completions, parallelism int32) *toolBuilder {
	return b.job(func(j *batchv1.JobTemplateSpec) {
		j.Spec.CompletionMode, j.Spec.Completions, j.Spec.Parallelism = ptr.To(batchv1.IndexedCompletion), &completions, &parallelism
	})
}

// quick lets pods stop at once.
func quick(tool *v1alpha1.MCPTool) {
	tool.Spec.JobTemplate.Spec.Template.Spec.TerminationGracePeriodSeconds = ptr.To(int64(1))
}

// TestJob_C02_StaticIndexedWork: five items, three at a time, and one result with all of them in their order, whatever the order
// in which the pods ended, whoever had to be tried again and whoever failed for good.
func TestJob_C02_StaticIndexedWork(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.Busybox)
	shout, _ := x.draft("C02-indexed.yaml")
	x.offerTool(shout)
	marks := x.claim("marks")
	b := tool("reverse_items", "indexed", "--dir=/marks", "--code=7").volume(marks, "/marks").indexed(5, 3).
		job(func(j *batchv1.JobTemplateSpec) { j.Spec.BackoffLimitPerIndex = ptr.To(int32(1)) })
	b.tool.Spec.InputSchema = &apiextensionsv1.JSON{Raw: []byte(`{"type":"object","required":["items"],"additionalProperties":false,
		"properties":{"items":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":20,"examples":[["a"]]},
			"fail":{"type":"array"},"flaky":{"type":"array"}}}`)}
	b.tool.Spec.Bindings = []v1alpha1.Binding{{
		Field: "spec.completions", Value: "size(arguments.items)", Max: ptr.To(resource.MustParse("20")),
	}}
	x.offer(b)
	c := x.replicas(1)[0]

	check := func(tool string, arguments map[string]any, want string) {
		t.Helper()
		if got := x.result(c, tool, arguments); got != want {
			t.Errorf("%s %v says:\n%s\nwant:\n%s", tool, arguments, got, want)
		}
	}
	check("shout_items", map[string]any{}, joined("All 5 indexes succeeded.", "APE", "BEE", "CAT", "DOG", "EEL"))
	items := []string{"foo", "bar", "baz", "qux", "xyz"}
	reversed := joined("All 5 indexes succeeded.", "oof", "rab", "zab", "xuq", "zyx")
	check("reverse_items", map[string]any{"items": items, "flaky": []int{3}},
		strings.Replace(reversed, "index 3 exited with code 0", "index 3 exited with code 0 in attempt 2", 1))
	check("reverse_items", map[string]any{"items": []string{"one"}}, joined("The only index succeeded.", "eno"))

	for _, n := range []int{0, 1000} { // fewer and more than the tool takes
		text := x.failure(c, "reverse_items", map[string]any{"items": make([]string, n)})
		if !strings.Contains(text, "/items") {
			t.Errorf("%d items: %s", n, text)
		}
	}

	text := x.failure(c, "reverse_items", map[string]any{"items": items, "fail": []int{1, 4}})
	const failed = "The tool failed: index 1 exited with code 7, index 4 exited with code 7; 3 of 5 indexes succeeded.\n"
	if !strings.HasPrefix(text, failed) ||
		!strings.Contains(text, "=== index 1 exited with code 7 in attempt 2 ===\ntoolbox: cannot turn \"bar\"\n") ||
		!strings.Contains(text, "=== index 2 exited with code 0 ===\nzab\n") {
		t.Errorf("with two indexes that fail:\n%s", text)
	}
}

// joined is the text of a Job whose indexes have succeeded and printed that.
func joined(sentence string, outputs ...string) string {
	var b strings.Builder
	b.WriteString(sentence)
	for i, output := range outputs {
		b.WriteString("\n\n=== index " + string(rune('0'+i)) + " exited with code 0 ===\n" + output)
	}
	return b.String()
}

// TestJob_C05_FailurePolicy: exit code 42 ends the Job without a retry, whatever retries there are; an eviction is not counted.
func TestJob_C05_FailurePolicy(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.Busybox)
	imports, _ := x.draft("C05-failure-policy.yaml")
	if imports.Spec.Execution.Retries != 6 {
		t.Errorf("the draft has %d retries, want the Job's 6", imports.Spec.Execution.Retries)
	}
	x.offerTool(imports)
	x.offerTool(named(imports, "slow_import", func(tool *v1alpha1.MCPTool) {
		quick(tool)
		tool.Spec.Execution.Retries = 0
		mainOf(tool).Command = []string{"sh", "-c", "echo importing; exec sleep 600"}
	}))
	c := x.replicas(1)[0]

	id := x.call(c, "import_orders", nil)
	task := x.wait(c, id)
	if task.Result == nil || !task.Result.IsError || !strings.Contains(task.Result.Text(), "code 42") ||
		!strings.Contains(task.Result.Text(), "importing") {
		t.Errorf("the task is %s (%s): %+v", task.Status, task.StatusMessage, task.Result)
	}
	pods, err := x.pods(x.ctx, id)
	x.must(err)
	if len(pods) != 1 {
		t.Errorf("there are %d pods, want 1: 42 is not worth a retry", len(pods))
	}

	id = x.call(c, "slow_import", nil)
	x.waitRunning(id)
	pods, err = x.pods(x.ctx, id)
	x.must(err)
	if len(pods) != 1 {
		t.Fatalf("there are %d pods", len(pods))
	}
	first := pods[0]
	x.must(cluster.SubResource("eviction").Create(x.ctx, &first, &policyv1.Eviction{}))
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	x.must(kube.Poll(ctx, func(ctx context.Context) (bool, error) {
		pods, err := x.pods(ctx, id)
		for _, pod := range pods {
			if pod.UID != first.UID && pod.Status.Phase == corev1.PodRunning {
				return true, err
			}
		}
		return false, err
	}))
	job := &batchv1.Job{}
	x.must(cluster.Get(x.ctx, x.key(id), job))
	if job.Status.Failed != 0 {
		t.Errorf("the eviction counts as %d failures", job.Status.Failed)
	}
	x.must(c.Cancel(x.ctx, id))
	if task := x.wait(c, id); task.Status != "cancelled" {
		t.Errorf("the task is %s (%s)", task.Status, task.StatusMessage)
	}
	x.waitStopped(id)
}

// TestJob_C06_BadImageWithPolicy: several pods wait for an image that nobody has, under a policy that never triggers by itself.
// The startup deadline ends them, and the task names the image.
func TestJob_C06_BadImageWithPolicy(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	const image = "images.mcptasks.invalid/none:v1"
	x.offer(tool("bad_image", "greet").startsWithin(15 * time.Second).job(func(j *batchv1.JobTemplateSpec) {
		j.Spec.Completions, j.Spec.Parallelism = ptr.To(int32(8)), ptr.To(int32(2))
		j.Spec.Template.Spec.Containers[0].Image = image
		j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action: batchv1.PodFailurePolicyActionFailJob,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
				{Type: "ConfigIssue", Status: corev1.ConditionTrue},
			},
		}}}
	}))
	c := x.replicas(1)[0]
	id := x.call(c, "bad_image", nil)
	x.says(id, "The image "+image+" cannot be pulled")
	task := x.wait(c, id)
	if task.Status != "failed" || task.Error == nil || !strings.Contains(task.Error.Message, image) ||
		x.record(id).Status.Reason != v1alpha1.ReasonImagePullFailed {
		t.Errorf("the task is %s (%s), error %+v", task.Status, task.StatusMessage, task.Error)
	}
	x.waitStopped(id)
}

// TestJob_C17_MultiNodeTraining: two pods that want sixteen GPUs wait, say for what, and leave nothing behind when they are
// cancelled; of two of which one finds a place, the message says what the other waits for; and where there is room, the values of
// the call reach both as they were written.
func TestJob_C17_MultiNodeTraining(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.Busybox)
	x.podSecurity("privileged")
	x.create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "training"}, Data: map[string]string{"mode": "offline"},
	})
	finetune, notes := x.draft("C17-training.yaml")
	if !strings.Contains(notes, "HF_TOKEN") || !strings.Contains(notes, "hostNetwork") {
		t.Errorf("from-job does not say what is dangerous:\n%s", notes)
	}
	property(t, finetune, "epochs", map[string]any{"type": "integer", "minimum": 1, "maximum": 100})
	property(t, finetune, "lr", map[string]any{"type": "number", "exclusiveMinimum": 0, "maximum": 1})
	x.offerTool(finetune)
	// The same without GPUs and the nodes' disks: what the pods are told is what this is about.
	onOneNode := func(tool *v1alpha1.MCPTool) {
		quick(tool)
		pod := &tool.Spec.JobTemplate.Spec.Template.Spec
		pod.Containers[0].Image, pod.Containers[0].Resources = images.Busybox.Tag, corev1.ResourceRequirements{}
		pod.Volumes[1].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	}
	x.offerTool(named(finetune, "finetune_small", func(tool *v1alpha1.MCPTool) {
		onOneNode(tool)
		script := `echo "$JOB_COMPLETION_INDEX of 2:" "$@"` + strings.Repeat("\n# a script of 12 kB", 650)
		mainOf(tool).Command = []string{"sh", "-c", script, "train"}
	}))
	x.offerTool(named(finetune, "finetune_apart", func(tool *v1alpha1.MCPTool) {
		onOneNode(tool)
		mainOf(tool).Command, mainOf(tool).Args = []string{"sleep"}, []string{"600"}
		template := &tool.Spec.JobTemplate.Spec.Template
		template.Labels = map[string]string{"app": "apart"}
		template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: template.Labels}, TopologyKey: corev1.LabelHostname,
			}},
		}}
	}))
	c := x.replicas(1)[0]

	arguments := map[string]any{"epochs": 7, "lr": json.Number("1e-05")}
	waiting := x.call(c, "finetune", arguments)
	x.says(waiting, "Waiting for a node: insufficient nvidia.com/gpu.")
	x.must(c.Cancel(x.ctx, waiting))
	if task := x.wait(c, waiting); task.Status != "cancelled" {
		t.Errorf("cancelled while it waited, the task is %s (%s)", task.Status, task.StatusMessage)
	}
	x.waitStopped(waiting)

	half := x.call(c, "finetune_apart", arguments)
	x.says(half, "Running: 0 of 2 done. 1 pod waits. Waiting for a node: didn't match pod anti-affinity rules")
	x.must(c.Cancel(x.ctx, half))
	if task := x.wait(c, half); task.Status != "cancelled" {
		t.Errorf("cancelled while half of it ran, the task is %s (%s)", task.Status, task.StatusMessage)
	}
	x.waitStopped(half)

	id := x.call(c, "finetune_small", arguments)
	task := x.wait(c, id)
	const told = "of 2: --nnodes=2 --nproc-per-node 8 train.py --epochs 7 --lr 1e-05 --hub-token=abc"
	if task.Status != "completed" || task.Result.IsError ||
		task.Result.Text() != joined("All 2 indexes succeeded.", "0 "+told, "1 "+told) {
		t.Errorf("the task is %s (%s): %+v", task.Status, task.StatusMessage, task.Result)
	}
	job := &batchv1.Job{}
	x.must(cluster.Wait(x.ctx, job, x.key(id), func() bool { return job.Spec.TTLSecondsAfterFinished != nil }))
	if ttl := *job.Spec.TTLSecondsAfterFinished; ttl != 172800 {
		t.Errorf("the Job is kept for %d seconds, want two days", ttl)
	}
}

// TestTool_IndexedBatch makes previews of nine films, one of which is none: four workers share them, and nothing is done twice.
func TestTool_IndexedBatch(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.FFmpeg)
	x.claim("media")
	x.offer(tool("films", "").shell(images.FFmpeg, `
		mkdir -p /media/trip
		for n in 1 2 3 4 5 6 7 8; do
			ffmpeg -hide_banner -nostdin -loglevel error -f lavfi -i testsrc2=duration=1:size=320x240:rate=5 -c:v mpeg4 \
				"/media/trip/film $n.avi"
		done
		echo "This is not a film." >/media/trip/text.mp4
		: >'/media/trip/"odd".mkv'`).volume("media", "/media"))
	x.offer(tool("sizes", "").shell(images.FFmpeg, `
		cd /media/trip
		for picture in *.jpg; do
			ffprobe -v error -show_entries stream=codec_name,width,height -of csv=p=0 "$picture"
		done
		ls -A | grep part || true`).volume("media", "/media"))
	c := x.replicas(1)[0]
	x.result(c, "films", nil)

	var got struct {
		Results []struct {
			Made, Unreadable []string
			Skipped          int
		}
	}
	// There is no third second, so that it is the first picture.
	x.structured(c, "make_previews", map[string]any{"folder": "trip", "second": 3, "height": 60}, &got)
	made, skipped := map[string]int{}, 0
	var unreadable []string
	for _, worker := range got.Results {
		for _, picture := range worker.Made {
			made[picture]++
		}
		unreadable = append(unreadable, worker.Unreadable...)
		skipped += worker.Skipped
	}
	if len(got.Results) != 4 || len(made) != 8 || strings.Join(unreadable, " ") != "text.mp4" || skipped != 1 {
		t.Errorf("the workers report %+v", got.Results)
	}
	for picture, times := range made {
		if times != 1 {
			t.Errorf("%s was made %d times", picture, times)
		}
	}
	if got, want := x.result(c, "sizes", nil), strings.TrimSuffix(strings.Repeat("mjpeg,80,60\n", 8), "\n"); got != want {
		t.Errorf("the pictures are\n%s\nwant\n%s", got, want)
	}
	text := x.failure(c, "make_previews", map[string]any{"folder": "nowhere"})
	if !strings.Contains(text, "index 0 exited with code") || !strings.Contains(text, "0 of 4 indexes succeeded") {
		t.Errorf("a folder that does not exist: %s", text)
	}
}
