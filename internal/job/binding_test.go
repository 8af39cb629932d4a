package job

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

const trainSchema = `{"type":"object","properties":{"gpus":{"type":"integer"},"cpus":{"type":"number"},"memory":{"type":"string"},
	"size":{"type":"string"},"minutes":{"type":"integer"},"any":{},"token":{"type":"string","writeOnly":true}}}`

// bound is a binding whose number is at most most, or whose text is one of values.
func bound(path, value, most string, values ...string) v1alpha1.Binding {
	b := v1alpha1.Binding{Field: path, Value: value, Values: values}
	if most != "" {
		b.Max = ptr(resource.MustParse(most))
	}
	return b
}

func (b *toolBuilder) bind(bindings ...v1alpha1.Binding) *toolBuilder {
	b.tool.Spec.Execution.Deadline.Duration = time.Hour
	b.tool.Spec.Bindings = append(b.tool.Spec.Bindings, bindings...)
	return b
}

const (
	mainLimits  = "spec.template.spec.containers[name=main].resources.limits"
	podDeadline = "spec.template.spec.activeDeadlineSeconds"
)

func TestCheckBindings(t *testing.T) {
	limit := func(value string) v1alpha1.Binding { return bound(mainLimits+".memory", value, "4Gi") }
	for name, tt := range map[string]struct {
		binding v1alpha1.Binding
		want    string
	}{
		"quantity from a text":     {limit("arguments.memory"), ""},
		"quantity from a number":   {limit("arguments.gpus * 1024"), ""},
		"quantity from a fraction": {bound(mainLimits+".cpu", "arguments.cpus", "8"), ""},
		"extended resource":        {bound(mainLimits+`["nvidia.com/gpu"]`, "arguments.?gpus.orValue(0)", "8"), ""},
		"init container": {bound("spec.template.spec.initContainers[name=init].resources.requests.cpu", "'1'", "2"),
			""},
		"image of a list": {bound("spec.template.spec.containers[name=main].image", "arguments.size", "", "a:1", "b:1"),
			""},
		"node selector": {bound(`spec.template.spec.nodeSelector["gpu.example/type"]`, "arguments.size", "", "a100"),
			""},
		"shorter deadline":      {bound(podDeadline, "arguments.minutes * 60", "3600"), ""},
		"undeclared argument":   {limit("arguments.memroy"), "undefined field 'memroy'"},
		"secret argument":       {limit("arguments.token"), "it is writeOnly, which no expression can read"},
		"answers are not known": {limit("answers.size.memory"), "undeclared reference to 'answers'"},
		"wrong type":            {limit("arguments.gpus > 3"), "its type must be int or double or string but is bool"},
		"unknown type":          {limit("arguments.any"), "but is dyn"},
		"seconds from a text":   {bound(podDeadline, "arguments.memory", "60"), "its type must be int but is string"},
		"no bound": {bound(mainLimits+".memory", "'1Gi'", ""),
			"bindings[0].max: Required value: the field holds a number"},
		"no values": {bound(`spec.template.spec.nodeSelector["a"]`, "'x'", ""),
			"bindings[0].values: Required value"},
		"a bound for a text":  {bound(`spec.template.spec.nodeSelector["a"]`, "'x'", "3"), "values: Required value"},
		"values for a number": {bound(mainLimits+".memory", "'1Gi'", "4Gi", "1Gi"), "max: Required value"},
		"not a label's value": {bound(`spec.template.spec.nodeSelector["a"]`, "'x'", "", "no good"),
			"values[0]: Invalid value"},
		"blank value": {bound("spec.template.spec.containers[name=main].image", "'x'", "", " "),
			"values[0]: Invalid value"},
		"no label":    {bound(`spec.template.spec.nodeSelector["a b"]`, "'x'", "", "y"), "is no label"},
		"no resource": {bound(mainLimits+`["a b"]`, "'1'", "1"), "is no resource"},
		"longer deadline": {bound(podDeadline, "arguments.minutes", "3601"),
			"must be at most 3600 (spec.execution.deadline, in seconds)"},
		"completions of a single pod": {bound("spec.completions", "arguments.gpus", "5"), "only with completionMode Indexed"},
		"parallelism of a single pod": {bound("spec.parallelism", "arguments.gpus", "5"),
			"only where the Job has several completions"},
		"unknown container": {bound("spec.template.spec.containers[name=other].image", "'x'", "", "y"),
			`no container "other"`},
		"init container among the others": {bound("spec.template.spec.containers[name=init].image", "'x'", "", "y"),
			`no container "init" among its containers`},
	} {
		t.Run(name, func(t *testing.T) {
			tool := aTool().input(trainSchema).bind(tt.binding).pod(func(p *corev1.PodTemplateSpec) {
				p.Spec.InitContainers = []corev1.Container{{Name: "init"}}
			})
			checkProblem(t, Check(tool.obj()), v1alpha1.ToolReasonInvalidBinding, tt.want)
		})
	}
	lowest := func(least, most string) *toolBuilder {
		b := bound(mainLimits+".cpu", "arguments.gpus", most)
		b.Min = ptr(resource.MustParse(least))
		return aTool().input(trainSchema).bind(b)
	}
	checkProblem(t, Check(lowest("1", "1").obj()), "", "")
	checkProblem(t, Check(lowest("2", "1").obj()), v1alpha1.ToolReasonInvalidBinding,
		"max: Invalid value: \"1\": must be at least 2")
	checkProblem(t, Check(lowest("-1", "1").obj()), v1alpha1.ToolReasonInvalidBinding,
		"min: Invalid value: \"-1\": must be at least 0")
	twice := aTool().input(trainSchema).bind(limit("'1'"), bound(mainLimits+`["memory"]`, "'2'", "4Gi"))
	checkProblem(t, Check(twice.obj()), v1alpha1.ToolReasonInvalidBinding, "bindings[1].field: Duplicate value")
}

// How many pods share the work may be the caller's to say where it is the work of several pods in any case.
func TestBindingsOfSeveralPods(t *testing.T) {
	indexed := func() *toolBuilder {
		return aTool().input(trainSchema).job(func(s *batchv1.JobSpec) {
			s.CompletionMode = ptr(batchv1.IndexedCompletion)
			s.Completions = ptr(int32(2))
		})
	}
	counts := []v1alpha1.Binding{
		bound("spec.completions", "arguments.?gpus.orValue(1)", "1000"), bound("spec.parallelism", "arguments.?gpus.orValue(1)", "10"),
	}
	tool := indexed().bind(counts...).obj()
	job, err := Build(tool, aTask().arguments(`{"gpus":7}`).obj())
	if err != nil {
		t.Fatal(err)
	}
	if *job.Spec.Completions != 7 || *job.Spec.Parallelism != 7 {
		t.Errorf("got %d completions and %d at a time", *job.Spec.Completions, *job.Spec.Parallelism)
	}
	checkProblem(t, checkArguments(t, tool, `{"gpus":11}`), v1alpha1.ReasonRejected,
		"spec.parallelism: it would be 11; it must be at most 10")
	checkProblem(t, checkArguments(t, tool, `{"gpus":0}`), v1alpha1.ReasonRejected,
		"spec.completions: it would be 0; it must be at least 1")

	invalid := v1alpha1.ToolReasonInvalidBinding
	checkProblem(t, Check(indexed().bind(bound("spec.completions", "1", "1001")).obj()), invalid, "must be at most 1000")
	counting := indexed().bind(counts[0]).job(func(s *batchv1.JobSpec) { s.MaxFailedIndexes = ptr(int32(1)) })
	checkProblem(t, Check(counting.obj()), invalid, "without successPolicy and maxFailedIndexes")
	fixed := aTool().input(trainSchema).job(func(s *batchv1.JobSpec) { s.Completions = ptr(int32(5)) })
	checkProblem(t, Check(fixed.bind(counts[1]).obj()), invalid, "")
}

// B27: what a pod may do, as whom and where its data is, no binding can make a caller's business.
func TestCheckBindings_B27_PrivilegedFields(t *testing.T) {
	for _, path := range []string{
		"metadata.namespace", "metadata.labels.app", "spec.template.metadata.labels.app", "spec.template.spec.serviceAccountName",
		"spec.template.spec.nodeName", "spec.template.spec.hostNetwork", "spec.template.spec.hostPID",
		"spec.template.spec.priorityClassName",
		"spec.template.spec.securityContext.runAsUser", "spec.template.spec.containers[name=main].securityContext.privileged",
		"spec.template.spec.volumes[name=data].hostPath.path", "spec.template.spec.containers[name=main].command",
		"spec.template.spec.containers[name=main].env[name=X].value", "spec.template.spec.tolerations",
		"spec.template.spec.runtimeClassName",
		"spec.template.spec.containers[name=main].volumeMounts[name=data].subPath", "spec.template.spec.imagePullSecrets",
		"spec.template.spec.containers[0].image", "spec.template.spec.containers[name=main].image.tag", "spec.backoffLimit",
		"spec.ttlSecondsAfterFinished", "", " spec.template.spec.activeDeadlineSeconds", "spec.template.spec.activeDeadlineSeconds\n",
	} {
		tool := aTool().input(trainSchema).bind(bound(path, "'1'", "4")).obj()
		checkProblem(t, Check(tool), v1alpha1.ToolReasonInvalidBinding, "is no field that can be bound")
	}
}

func TestBuildWithBindings(t *testing.T) {
	tool := aTool().input(trainSchema).bind(
		bound(mainLimits+`["nvidia.com/gpu"]`, "arguments.?gpus.orValue(0)", "8"),
		bound(mainLimits+".cpu", "arguments.?cpus.orValue(1.0)", "8"),
		bound(mainLimits+".memory", "arguments.?memory.orValue('1Gi')", "4Gi"),
		bound("spec.template.spec.containers[name=main].resources.requests.memory", "arguments.?memory.orValue('1Gi')", "4Gi"),
		bound("spec.template.spec.containers[name=main].image", "arguments.?size.orValue('s') == 'l' ? 'tool:large' : 'tool:v1'", "",
			"tool:v1", "tool:large"),
		bound(`spec.template.spec.nodeSelector["pool"]`, "arguments.?size.orValue('s')", "", "s", "l"),
		bound(podDeadline, "arguments.?minutes.orValue(60) * 60", "3600"),
	).main(func(c *corev1.Container) {
		c.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("2"), "ephemeral-storage": resource.MustParse("1Gi")}
	}).pod(func(p *corev1.PodTemplateSpec) { p.Spec.NodeSelector = map[string]string{"zone": "a"} }).obj()
	before := tool.DeepCopy()
	arguments := `{"gpus":2,"cpus":0.5,"memory":"2Gi","size":"l","minutes":5}`
	if err := checkArguments(t, tool, arguments); err != nil {
		t.Fatal(err)
	}
	job, err := Build(tool, aTask().arguments(arguments).obj())
	if err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.Template.Spec
	main := pod.Containers[0]
	want := map[corev1.ResourceName]string{"nvidia.com/gpu": "2", "cpu": "500m", "memory": "2Gi", "ephemeral-storage": "1Gi"}
	for name, amount := range want {
		if got := main.Resources.Limits[name]; got.Cmp(resource.MustParse(amount)) != 0 {
			t.Errorf("limit of %s: %s, want %s", name, got.String(), amount)
		}
	}
	if main.Resources.Requests.Memory().String() != "2Gi" || main.Image != "tool:large" || pod.NodeSelector["pool"] != "l" ||
		pod.NodeSelector["zone"] != "a" || *pod.ActiveDeadlineSeconds != 300 {
		t.Errorf("got %+v", pod)
	}
	if limits := tool.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Resources.Limits; len(limits) != 2 ||
		before.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image != tool.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image {
		t.Error("the tool was changed")
	}
}

// A call that asks for what a binding does not allow is told so before there is a task, and again by Build.
func TestBindingsRefuseCalls(t *testing.T) {
	atLeastOne := bound(mainLimits+".cpu", "arguments.?gpus.orValue(1)", "4")
	atLeastOne.Min = ptr(resource.MustParse("1"))
	tool := aTool().input(trainSchema).bind(
		atLeastOne,
		bound(mainLimits+".memory", "arguments.?memory.orValue('1Gi')", "4Gi"),
		bound(`spec.template.spec.nodeSelector["pool"]`, "arguments.?size.orValue('s')", "", "s", "l"),
		bound(podDeadline, "arguments.?minutes.orValue(1) * 60 / arguments.?any.orValue(1)", "3600"),
	).main(func(c *corev1.Container) {
		c.Resources.Requests = corev1.ResourceList{"memory": resource.MustParse("512Mi")}
	}).obj()
	for arguments, want := range map[string]string{
		`{}`:                              "",
		`{"gpus":4,"memory":"4Gi"}`:       "",
		`{"gpus":5}`:                      `resources.limits["cpu"]: it would be 5; it must be at most 4`,
		`{"gpus":0}`:                      "it would be 0; it must be at least 1",
		`{"memory":"5Gi"}`:                `it would be "5Gi"; it must be at most 4Gi`,
		`{"memory":"-1Gi"}`:               "it must be at least 0",
		`{"memory":"much"}`:               `it would be "much": it is no quantity`,
		`{"memory":""}`:                   "it is no quantity",
		`{"memory":"256Mi"}`:              `the container "main" would request 512Mi of memory, which is more than its limit of 256Mi`,
		`{"size":"xl"}`:                   `it would be "xl", which is not one of s, l`,
		`{"size":"s "}`:                   `it would be "s ", which is not one of s, l`,
		`{"minutes":9007199254740992}`:    "it must be at most 3600",
		`{"minutes":9223372036854775807}`: "it cannot be computed: integer overflow",
		`{"any":0}`:                       "it cannot be computed: division by zero",
		`{"any":"x"}`:                     "it cannot be computed: no such overload",
		`{"memory":"` + strings.Repeat("9", 500) + `"}`: "it is no quantity",
	} {
		err := checkArguments(t, tool, arguments)
		checkProblem(t, err, v1alpha1.ReasonRejected, want)
		_, err = Build(tool, aTask().arguments(arguments).obj())
		checkProblem(t, err, v1alpha1.ReasonRejected, want)
	}
}
