package job

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

func TestBuild(t *testing.T) {
	tool := aTool().property(`{"type":"string"}`).output(`{"type":"object"}`).command("prog").env("AUTHOR", "1").
		pod(func(p *corev1.PodTemplateSpec) {
			p.GenerateName = "ignored-"
			p.Labels = map[string]string{"team": "db"}
			p.Annotations = map[string]string{"note": "pod"}
			p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "init:v1"}}
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
				Name: "beside", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
			})
			p.Spec.Volumes = []corev1.Volume{{Name: "data"}}
			p.Spec.ServiceAccountName = "migrator"
		}).
		change(func(tool *v1alpha1.MCPTool) {
			tool.Spec.JobTemplate.Name = "ignored"
			tool.Spec.JobTemplate.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "gpus"}
			tool.Spec.JobTemplate.Annotations = map[string]string{"note": "job"}
		}).obj()
	task := aTask().arguments(`{ "x": "$v" }`).change(func(s *v1alpha1.MCPTaskSpec) {
		s.Execution.Retries = 2
		s.Execution.Deadline.Duration = 1500 * time.Millisecond
		s.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	}).obj()
	before := tool.DeepCopy()

	got, err := Build(tool, task)
	if err != nil {
		t.Fatal(err)
	}
	arguments := []corev1.EnvVar{{Name: "MCP_ARG_N"}, {Name: "MCP_ARG_X", Value: "$$v"}, {Name: "MCP_ARG_Y"}}
	mount := corev1.VolumeMount{Name: "mcptasks-arguments", MountPath: "/mcp", ReadOnly: true}
	want := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: "t-abc", Namespace: "team-a",
			Labels: map[string]string{"kueue.x-k8s.io/queue-name": "gpus", "mcptasks.dev/task": "t-abc", "mcptasks.dev/tool": "echo-args"},
			Annotations: map[string]string{
				"note": "job", "mcptasks.dev/output-schema": `{"type":"object"}`, "mcptasks.dev/traceparent": task.Spec.Traceparent,
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "mcptasks.dev/v1alpha1", Kind: "MCPTask", Name: "t-abc", UID: "task-uid", Controller: ptr(true),
				BlockOwnerDeletion: ptr(true),
			}},
		},
		Spec: batchv1.JobSpec{
			BackoffLimit:         ptr(int32(2)),
			PodReplacementPolicy: ptr(batchv1.Failed),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels: map[string]string{"team": "db", "mcptasks.dev/task": "t-abc", "mcptasks.dev/tool": "echo-args"},
					Annotations: map[string]string{
						"note": "pod", "mcptasks.dev/arguments": `{ "x": "$v" }`, "mcptasks.dev/traceparent": task.Spec.Traceparent,
						"kubectl.kubernetes.io/default-container": "main",
						"karpenter.sh/do-not-disrupt":             "true", "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
					},
				},
				Spec: corev1.PodSpec{
					RestartPolicy:         corev1.RestartPolicyNever,
					ActiveDeadlineSeconds: ptr(int64(2)),
					ServiceAccountName:    "migrator",
					InitContainers: []corev1.Container{{Name: "init", Image: "init:v1", Env: arguments,
						VolumeMounts: []corev1.VolumeMount{mount}}},
					Containers: []corev1.Container{
						{
							Name: "main", Image: "tool:v1", Command: []string{"prog"}, Env: append(arguments[:3:3], corev1.EnvVar{Name: "AUTHOR",
								Value: "1"}),
							VolumeMounts: []corev1.VolumeMount{mount},
						},
						{Name: "beside", Env: arguments, VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}, mount}},
					},
					Volumes: []corev1.Volume{{Name: "data"}, {
						Name: "mcptasks-arguments",
						VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{
							Path: "arguments.json", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['mcptasks.dev/arguments']"},
						}}}},
					}},
				},
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Build (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, tool); diff != "" {
		t.Errorf("Build changed the tool:\n%s", diff)
	}
	again, err := Build(tool, task)
	if diff := cmp.Diff(got, again); err != nil || diff != "" {
		t.Errorf("Build again: %v, %s", err, diff)
	}
}

// What the template's author says of the pod is not overruled.
func TestBuildKeepsTheTemplatesWord_B39(t *testing.T) {
	said := map[string]string{
		annotationDefaultContainer: "beside", "karpenter.sh/do-not-disrupt": "false",
		"cluster-autoscaler.kubernetes.io/safe-to-evict": "true",
	}
	tool := aTool().pod(func(p *corev1.PodTemplateSpec) { p.Annotations = maps.Clone(said) }).obj()
	job, err := Build(tool, aTask().obj())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range said {
		if got := job.Spec.Template.Annotations[name]; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// A tool that may be run again is, after a disruption; the template's own word about failures counts more.
func TestBuildRetriesDisruptionsByTheToolsWord_B39(t *testing.T) {
	idempotent := func(yes bool) func(*v1alpha1.MCPTool) {
		return func(tool *v1alpha1.MCPTool) { tool.Spec.Annotations = &v1alpha1.ToolAnnotations{IdempotentHint: &yes} }
	}
	own := &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action: batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42},
		},
	}}}
	for name, c := range map[string]struct {
		tool *toolBuilder
		want *batchv1.PodFailurePolicy
	}{
		"nothing said":   {aTool(), nil},
		"not idempotent": {aTool().change(idempotent(false)), nil},
		"idempotent":     {aTool().change(idempotent(true)), disruptionsDoNotCount},
		"own policy":     {aTool().change(idempotent(true)).job(func(s *batchv1.JobSpec) { s.PodFailurePolicy = own }), own},
	} {
		t.Run(name, func(t *testing.T) {
			job, err := Build(c.tool.obj(), aTask().obj())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, job.Spec.PodFailurePolicy); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBuildTimes(t *testing.T) {
	for deadline, want := range map[time.Duration]int64{
		time.Second: 1, time.Second + 1: 2, time.Hour: 3600, 720 * time.Hour: 2592000, time.Hour - time.Millisecond: 3600,
	} {
		job, err := Build(aTool().obj(),
			aTask().change(func(s *v1alpha1.MCPTaskSpec) { s.Execution.Deadline.Duration = deadline }).obj())
		if err != nil {
			t.Fatal(err)
		}
		if got := job.Spec.Template.Spec.ActiveDeadlineSeconds; got == nil || *got != want {
			t.Errorf("deadline %v: activeDeadlineSeconds = %v, want %d", deadline, got, want)
		}
		if job.Spec.ActiveDeadlineSeconds != nil || job.Spec.TTLSecondsAfterFinished != nil {
			t.Error("the Job itself has a deadline or a TTL")
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	other := func(s *v1alpha1.MCPTaskSpec) { s.Tool.Generation = 2 }
	replaced := func(s *v1alpha1.MCPTaskSpec) { s.Tool.UID = "another" }
	strict := aTool().input(`{"type":"object","required":["y"],"properties":{"y":{"type":"string"}}}`)
	tests := []struct {
		name   string
		tool   *toolBuilder
		task   *taskBuilder
		reason string
		want   string
	}{
		{"changed schema", strict, aTask().change(other), v1alpha1.ReasonToolChanged,
			"The tool was changed after the call: the arguments do not fit its inputSchema: /y: is required"},
		{"another tool of that name", strict, aTask().change(replaced), v1alpha1.ReasonToolChanged,
			"The tool was changed after the call"},
		{"changed, but still good", aTool(), aTask().change(other), "", ""},
		{"same schema", strict, aTask(), v1alpha1.ReasonRejected, "The call cannot become a Job: the arguments do not fit its " +
			"inputSchema: /y: is required"},
		{"changed template", aTool().job(func(s *batchv1.JobSpec) { s.ManualSelector = ptr(true) }), aTask().change(other),
			v1alpha1.ReasonToolChanged, "manualSelector"},
		{"unsafe template", aTool().property(`{"type":"string"}`).args("$(MCP_ARG_X)"), aTask(), v1alpha1.ReasonRejected,
			"would be read as an option"},
		{"main container gone", aTool(), aTask().change(func(s *v1alpha1.MCPTaskSpec) { other(s); s.Result.Container = "worker" }),
			v1alpha1.ReasonToolChanged, `its template has no container "worker"`},
		{"arguments too large", aTool(), aTask().arguments(`{"a":"` + strings.Repeat("x", v1alpha1.MaxArgumentsBytes) + `"}`),
			v1alpha1.ReasonRejected, "at most 131072 are allowed"},
		{"arguments are no JSON", aTool(), aTask().arguments(`{"a":`), v1alpha1.ReasonRejected, "the text is not JSON"},
		{"arguments are no object", aTool(), aTask().arguments(`[]`), v1alpha1.ReasonRejected, "must be an object"},
		{"argument twice", aTool(), aTask().arguments(`{"a":1,"a":2}`), v1alpha1.ReasonRejected, "/a: the key appears twice"},
		{"no schema takes no arguments", aTool().change(func(tool *v1alpha1.MCPTool) { tool.Spec.InputSchema = nil }),
			aTask().arguments(`{"a":1}`),
			v1alpha1.ReasonRejected, "/a: is not a known property"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Build(tt.tool.obj(), tt.task.obj())
			checkProblem(t, err, tt.reason, tt.want)
		})
	}
}

func checkArguments(t *testing.T, tool *v1alpha1.MCPTool, arguments string) error {
	t.Helper()
	b, err := NewBlueprint(tool)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Split([]byte(arguments))
	return err
}

func TestSplitChecks(t *testing.T) {
	tool := aTool().property(`{"type":"integer"}`).obj()
	checkProblem(t, checkArguments(t, tool, `{"x":1}`), "", "")
	checkProblem(t, checkArguments(t, tool, `{"x":"1"}`), v1alpha1.ReasonRejected, "/x: must be an integer, is a string")
	large := fmt.Sprintf(`{"x":1%s}`, strings.Repeat(" ", v1alpha1.MaxArgumentsBytes))
	checkProblem(t, checkArguments(t, tool, large), v1alpha1.ReasonRejected, "at most 131072 are allowed")
	broken := aTool().job(func(s *batchv1.JobSpec) { s.ManualSelector = ptr(true) }).obj()
	_, err := NewBlueprint(broken)
	checkProblem(t, err, v1alpha1.ToolReasonInvalidTemplate, "manualSelector")
}

func TestMainContainer(t *testing.T) {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}}}
	if got := MainContainer(v1alpha1.ResultSource{}, template); got != "a" {
		t.Errorf("default = %q", got)
	}
	if got := MainContainer(v1alpha1.ResultSource{Container: "b"}, template); got != "b" {
		t.Errorf("named = %q", got)
	}
	if got := MainContainer(v1alpha1.ResultSource{}, &corev1.PodTemplateSpec{}); got != "" {
		t.Errorf("none = %q", got)
	}
}
