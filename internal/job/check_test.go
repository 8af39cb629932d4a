package job

import (
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

func ptr[T any](v T) *T { return &v }

func TestCheckSchemas(t *testing.T) {
	tests := []struct {
		name string
		tool *toolBuilder
		want string
	}{
		{"good", aTool().property(`{"type":"string"}`).output(`{"type":"object"}`), ""},
		{"no schema", aTool().change(func(tool *v1alpha1.MCPTool) { tool.Spec.InputSchema = nil }), ""},
		{"bad input", aTool().input(`{"type":"array"}`), "spec.inputSchema: /type: the root"},
		{"bad output", aTool().output(`{"type":"object","properties":{"a":{"$ref":"http://example.com"}}}`),
			"spec.outputSchema: /properties/a/$ref: only references"},
		{"output too large", aTool().output(`{"type":"object","title":"` + strings.Repeat("x", 64<<10) + `"}`),
			"spec.outputSchema: the schema has"},
		{"write-only", aTool().property(`{"type":"string","writeOnly":true}`), ""},
		{"write-only far inside", aTool().property(`{"items":{"properties":{"a":{"writeOnly":true}}}}`), ""},
		{"all of it write-only", aTool().input(`{"type":"object","writeOnly":true}`),
			"/: the arguments as a whole cannot be writeOnly"},
		{"write-only and mirrored in a header", aTool().input(`{"type":"object","properties":{"db":{"properties":{"password":` +
			`{"type":"string","writeOnly":true,"x-mcp-header":"Password"}}}}}`),
			`property "db.password": x-mcp-header must not be on a secret`},
		{"write-only by reference and mirrored", aTool().input(`{"type":"object","properties":{"password":{"type":"string",` +
			`"$ref":"#/$defs/s","x-mcp-header":"Password"}},"$defs":{"s":{"type":"string","writeOnly":true}}}`),
			`property "password": a writeOnly value`},
		{"mirrored", aTool().property(`{"type":"string","x-mcp-header":"X"}`), ""},
		{"S-31: header that clients drop the tool for", aTool().property(`{"type":"number","x-mcp-header":"X"}`),
			`spec.inputSchema: property "x": x-mcp-header needs the type string, integer or boolean`},
		{"names collide", aTool().input(`{"type":"object","properties":{"a-b":{"type":"string"},"a_b":{"type":"integer"}}}`),
			`"a-b" and "a_b" would both become the environment variable MCP_ARG_A_B`},
		{"names collide by case", aTool().input(`{"type":"object","properties":{"dryRun":{"type":"boolean"},` +
			`"dryrun":{"type":"boolean"}}}`), "MCP_ARG_DRYRUN"},
		{"only scalars have names", aTool().input(`{"type":"object","properties":{"a-b":{"type":"array"},"a_b":{"type":"string"},` +
			`"größe":{"type":"object"},"any":{}}}`), ""},
		{"unusable name", aTool().input(`{"type":"object","properties":{"größe":{"type":"string"}}}`),
			`the property "größe" cannot become an environment variable`},
		{"empty name", aTool().input(`{"type":"object","properties":{"":{"type":"string"}}}`), `the property "" cannot`},
		{"long name", aTool().input(`{"type":"object","properties":{"` + strings.Repeat("x", 129) + `":{"type":"string"}}}`),
			"must have 1 to 128"},
		{"very many scalars", aTool().input(manyProperties(257)), "257 scalar properties are declared; at most 256"},
		{"many scalars", aTool().input(manyProperties(256)), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkProblem(t, Check(tt.tool.obj()), v1alpha1.ToolReasonInvalidSchema, tt.want)
		})
	}
}

func manyProperties(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
	}
	return `{"type":"object","properties":{` + strings.Join(all, ",") + `}}`
}

func TestCheckTemplate(t *testing.T) {
	job := func(change func(*batchv1.JobSpec)) *toolBuilder { return aTool().job(change) }
	pod := func(change func(*corev1.PodTemplateSpec)) *toolBuilder { return aTool().pod(change) }
	main := func(change func(*corev1.Container)) *toolBuilder { return aTool().main(change) }
	tests := []struct {
		name string
		tool *toolBuilder
		want string
	}{
		{"least template", aTool(), ""},
		{"one pod, said explicitly", job(func(s *batchv1.JobSpec) {
			s.Parallelism, s.Completions, s.CompletionMode = ptr(int32(1)), ptr(int32(1)), ptr(batchv1.NonIndexedCompletion)
			s.Suspend, s.ManualSelector, s.PodReplacementPolicy = ptr(false), ptr(false), ptr(batchv1.Failed)
			s.ManagedBy = ptr(batchv1.JobControllerName)
			s.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		}), ""},
		{"names are ignored", aTool().change(func(tool *v1alpha1.MCPTool) {
			tool.Spec.JobTemplate.GenerateName, tool.Spec.JobTemplate.Spec.Template.Name = "sample-", "pod"
		}), ""},
		{"privileged fields are the author's", pod(func(p *corev1.PodTemplateSpec) {
			p.Spec.HostNetwork, p.Spec.ServiceAccountName, p.Spec.NodeName = true, "builder", "node-1"
		}), ""},
		{"failure policy", job(func(s *batchv1.JobSpec) { s.PodFailurePolicy = &batchv1.PodFailurePolicy{} }), ""},
		{"parallel", job(func(s *batchv1.JobSpec) { s.Parallelism, s.Completions = ptr(int32(3)), ptr(int32(1000)) }), ""},
		{"work queue", job(func(s *batchv1.JobSpec) { s.Parallelism = ptr(int32(3)) }), ""},
		{"indexed", job(func(s *batchv1.JobSpec) {
			s.CompletionMode, s.Completions, s.SuccessPolicy = ptr(batchv1.IndexedCompletion), ptr(int32(5)), &batchv1.SuccessPolicy{}
			s.BackoffLimitPerIndex, s.MaxFailedIndexes = ptr(int32(1)), ptr(int32(2))
		}), ""},
		{"labels of others",
			pod(func(p *corev1.PodTemplateSpec) { p.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "q"} }), ""},
		{"sidecar", pod(func(p *corev1.PodTemplateSpec) {
			p.Spec.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: ptr(corev1.ContainerRestartPolicyAlways)}}
		}), ""},

		{"long name", aTool().change(func(tool *v1alpha1.MCPTool) { tool.Name = strings.Repeat("x", 64) }), "metadata.name: Too long"},
		{"no parallelism", job(func(s *batchv1.JobSpec) { s.Parallelism = ptr(int32(0)) }),
			"spec.jobTemplate.spec.parallelism: Invalid value: 0: a Job without parallelism never starts a pod"},
		{"too many completions", job(func(s *batchv1.JobSpec) { s.Completions = ptr(int32(1001)) }),
			"spec.jobTemplate.spec.completions: Invalid value: 1001: at most 1000"},
		{"too many workers", job(func(s *batchv1.JobSpec) { s.Parallelism = ptr(int32(1001)) }), "parallelism: Invalid value: 1001"},
		{"two words on retries", job(func(s *batchv1.JobSpec) { s.BackoffLimitPerIndex = ptr(int32(1)) }).
			change(func(tool *v1alpha1.MCPTool) { tool.Spec.Execution.Retries = 1 }),
			"spec.execution.retries: Forbidden: the template's backoffLimitPerIndex says how often each index is retried"},
		{"B38 suspended until a queue resumes it", job(func(s *batchv1.JobSpec) { s.Suspend = ptr(true) }), ""},
		{"managed by others", job(func(s *batchv1.JobSpec) { s.ManagedBy = ptr("kueue.x-k8s.io/multikueue") }), "managedBy: Forbidden"},
		{"manual selector", job(func(s *batchv1.JobSpec) { s.ManualSelector = ptr(true) }), "manualSelector: Forbidden"},
		{"selector", job(func(s *batchv1.JobSpec) { s.Selector = &metav1.LabelSelector{} }), "selector: Forbidden"},
		{"backoff limit", job(func(s *batchv1.JobSpec) { s.BackoffLimit = ptr(int32(6)) }),
			"backoffLimit: Forbidden: is set from another field; use spec.execution.retries"},
		{"job deadline", job(func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = ptr(int64(6)) }),
			"spec.jobTemplate.spec.activeDeadlineSeconds: Forbidden: is set from another field; use spec.execution.deadline"},
		{"pod deadline", pod(func(p *corev1.PodTemplateSpec) { p.Spec.ActiveDeadlineSeconds = ptr(int64(6)) }),
			"template.spec.activeDeadlineSeconds: Forbidden: is set from another field; use spec.execution.deadline"},
		{"B01: TTL", job(func(s *batchv1.JobSpec) { s.TTLSecondsAfterFinished = ptr(int32(0)) }), "use spec.execution.retention.job"},
		{"replacement", job(func(s *batchv1.JobSpec) { s.PodReplacementPolicy = ptr(batchv1.TerminatingOrFailed) }),
			"podReplacementPolicy: Forbidden: is always Failed"},
		{"B17, C12: on failure", pod(func(p *corev1.PodTemplateSpec) { p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }),
			"spec.jobTemplate.spec.template.spec.restartPolicy: Forbidden: must be Never: with OnFailure, Kubernetes throws the log " +
				"of a failed run away; to run again after a failure, use spec.execution.retries"},
		{"always", pod(func(p *corev1.PodTemplateSpec) { p.Spec.RestartPolicy = corev1.RestartPolicyAlways }),
			"restartPolicy: Forbidden"},
		{"container restarts", main(func(c *corev1.Container) { c.RestartPolicy = ptr(corev1.ContainerRestartPolicyOnFailure) }),
			"containers[0].restartPolicy: Forbidden"},
		{"container restart rules", main(func(c *corev1.Container) { c.RestartPolicyRules = []corev1.ContainerRestartRule{{}} }),
			"containers[0].restartPolicy: Forbidden"},

		{"namespace", aTool().change(func(tool *v1alpha1.MCPTool) { tool.Spec.JobTemplate.Namespace = "other" }),
			"spec.jobTemplate.metadata.namespace: Forbidden"},
		{"pod namespace", pod(func(p *corev1.PodTemplateSpec) { p.Namespace = "other" }), "template.metadata.namespace: Forbidden"},
		{"owner", aTool().change(func(tool *v1alpha1.MCPTool) {
			tool.Spec.JobTemplate.OwnerReferences = []metav1.OwnerReference{{}}
		}), "ownerReferences: Forbidden"},
		{"finalizer", aTool().change(func(tool *v1alpha1.MCPTool) { tool.Spec.JobTemplate.Finalizers = []string{"a/b"} }),
			"finalizers: Forbidden"},
		{"our label", pod(func(p *corev1.PodTemplateSpec) { p.Labels = map[string]string{v1alpha1.LabelTask: "x"} }),
			"template.metadata.labels[mcptasks.dev/task]: Forbidden"},
		{"our annotation", aTool().change(func(tool *v1alpha1.MCPTool) {
			tool.Spec.JobTemplate.Annotations = map[string]string{v1alpha1.AnnotationArguments: "{}"}
		}), "spec.jobTemplate.metadata.annotations[mcptasks.dev/arguments]: Forbidden"},
		{"large annotations", pod(func(p *corev1.PodTemplateSpec) {
			p.Annotations = map[string]string{"a": strings.Repeat("x",
				64<<10)}
		}), "annotations: Forbidden: the annotations have 65537 bytes"},

		{"no container", pod(func(p *corev1.PodTemplateSpec) { p.Spec.Containers = nil }), "containers: Required"},
		{"main container", aTool().change(func(tool *v1alpha1.MCPTool) { tool.Spec.Result.Container = "main" }), ""},
		{"unknown main container", aTool().change(func(tool *v1alpha1.MCPTool) { tool.Spec.Result.Container = "other" }),
			`spec.result.container: Invalid value: "other"`},
		{"init container as main", pod(func(p *corev1.PodTemplateSpec) { p.Spec.InitContainers = []corev1.Container{{Name: "init"}} }).
			change(func(tool *v1alpha1.MCPTool) { tool.Spec.Result.Container = "init" }), "not of an init container"},
		{"mount at /mcp", main(func(c *corev1.Container) {
			c.VolumeMounts = []corev1.VolumeMount{{Name: "v",
				MountPath: "/mcp/"}}
		}), "volumeMounts[0].mountPath: Forbidden: /mcp is where"},
		{"mount below /mcp", pod(func(p *corev1.PodTemplateSpec) {
			p.Spec.InitContainers = []corev1.Container{{VolumeMounts: []corev1.VolumeMount{{MountPath: "/x/../mcp/bin"}}}}
		}), "initContainers[0].volumeMounts[0].mountPath"},
		{"mount beside /mcp", main(func(c *corev1.Container) {
			c.VolumeMounts = []corev1.VolumeMount{{Name: "v",
				MountPath: "/mcp2"}}
		}), ""},
		{"our volume", pod(func(p *corev1.PodTemplateSpec) { p.Spec.Volumes = []corev1.Volume{{Name: "mcptasks-arguments"}} }),
			"volumes[0].name: Forbidden"},
		{"our variable", aTool().env("MCP_ARG_X", "1"), "env[0].name: Forbidden: names that begin with MCP_ARG_"},
		{"undeclared variable", aTool().property(`{"type":"string"}`).args("--a=$(MCP_ARG_Z)"),
			"args[0]: Invalid value: \"--a=$(MCP_ARG_Z)\": inputSchema declares no scalar property for $(MCP_ARG_Z); declared are " +
				"MCP_ARG_N, MCP_ARG_X, MCP_ARG_Y"},
		{"variable of a list", aTool().property(`{"type":"string"}`).args("--a=$(MCP_ARG_LIST)"),
			"no scalar property for $(MCP_ARG_LIST)"},
		{"undeclared variable in a variable", aTool().env("A", "$(MCP_ARG_Z)"), "env[0].value: Invalid value"},
		{"undeclared variable in a path",
			main(func(c *corev1.Container) { c.VolumeMounts = []corev1.VolumeMount{{SubPathExpr: "a/$(MCP_ARG_Z)"}} }), "subPathExpr"},
		{"undeclared but escaped", aTool().args("$$(MCP_ARG_Z)"), ""},
		{"variables of the author", aTool().args("$(HOME)"), ""},
		{"unknown allowance", aTool().allow("shell, dsah"), `annotations[mcptasks.dev/allow-unsafe]: Forbidden: unknown word "dsah"`},
		{"several mistakes", job(func(s *batchv1.JobSpec) { s.ManualSelector, s.BackoffLimit = ptr(true), ptr(int32(1)) }),
			"by itself; spec.jobTemplate.spec.backoffLimit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkProblem(t, Check(tt.tool.obj()), v1alpha1.ToolReasonInvalidTemplate, tt.want)
		})
	}
}

func TestCheckUnsafeArguments(t *testing.T) {
	// The property x is a string of any kind unless a row says otherwise.
	text := func() *toolBuilder { return aTool().property(`{"type":"string"}`) }
	choice := func() *toolBuilder { return aTool().property(`{"enum":["staging","production"]}`) }
	tests := []struct {
		name string
		tool *toolBuilder
		want string
	}{
		{"environment only", text(), ""},
		{"read by the shell", text().command("sh", "-c", `echo "$MCP_ARG_X"`), ""},
		{"option with value", text().command("prog", "--x=$(MCP_ARG_X)"), ""},
		{"behind a prefix", text().command("prog", "db-$(MCP_ARG_X)"), ""},

		{"in a script", text().command("sh", "-c", "echo $(MCP_ARG_X)"),
			"containers[0].command[2]: Forbidden: $(MCP_ARG_X) is put into code"},
		{"in a script, advice", text().command("sh", "-c", "echo $(MCP_ARG_X)"),
			`"$MCP_ARG_X" in double quotes, or from /mcp/arguments.json (or accept this with the annotation ` +
				`mcptasks.dev/allow-unsafe: shell)`},
		{"a choice in a script", choice().command("sh", "-c", "echo $(MCP_ARG_X)"), "is put into code"},
		{"a number in a script", text().command("sh", "-c", "echo $(MCP_ARG_N)"), "is put into code"},
		{"script in args", text().command("bash", "-ec").args("echo $(MCP_ARG_X)"), "containers[0].args[0]: Forbidden"},
		{"by way of a variable", text().env("A", "x $(MCP_ARG_X)").env("B", "$(A)").command("sh", "-c", "echo $(B)"),
			"$(MCP_ARG_X) is put into code"},
		{"variable of the same name later", text().command("sh", "-c", "echo $(A)").env("A", "safe"), ""},
		{"in a python program", text().command("python3", "-c", "print('$(MCP_ARG_X)')"), "is put into code"},
		{"in a perl program", text().command("perl", "-ne", "print if /$(MCP_ARG_X)/"), "is put into code"},
		{"in an awk program", text().command("awk", "/$(MCP_ARG_X)/ {print}", "file"), "is put into code"},
		{"in a query", text().command("psql", "-c", "select '$(MCP_ARG_X)'"), "is put into code"},
		{"behind the script", text().command("sh", "-c", `echo "$1"`, "sh", "$(MCP_ARG_X)"), ""},
		{"escaped in a script", text().command("sh", "-c", "echo $$(MCP_ARG_X)"), ""},
		{"in a script, accepted", text().allow("shell").command("sh", "-c", "echo $(MCP_ARG_X)"), ""},
		{"in a script, other allowance", text().allow("dash").command("sh", "-c", "echo $(MCP_ARG_X)"), "is put into code"},
		{"perhaps a script", text().args("-c", "$(MCP_ARG_X)"), "args[1]: Forbidden: $(MCP_ARG_X) follows -c, and if the image's " +
			"entrypoint is a shell"},
		{"perhaps a script, but a choice", choice().args("-c", "$(MCP_ARG_X)"), ""},
		{"perhaps a script, accepted", text().allow("shell,dash").args("-c", "$(MCP_ARG_X)"), ""},
		{"in the script of an init container", text().pod(func(p *corev1.PodTemplateSpec) {
			p.Spec.InitContainers = []corev1.Container{{Name: "i", Command: []string{"sh", "-c", "echo $(MCP_ARG_X)"}}}
		}), "initContainers[0].command[2]"},
		{"in a probe", text().main(func(c *corev1.Container) {
			c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c",
				"test $(MCP_ARG_X)"}}}}
		}), "readinessProbe.exec.command[2]"},
		{"in a hook", text().main(func(c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c",
				"x $(MCP_ARG_X)"}}}}
		}), "lifecycle.preStop.exec.command[2]"},
		{"the program", text().command("$(MCP_ARG_X)"), "the caller would choose the program by $(MCP_ARG_X)"},
		{"part of the program", text().command("/opt/$(MCP_ARG_X)/run"), "the caller would choose the program"},
		{"the program among some", choice().command("$(MCP_ARG_X)"), ""},

		{"of its own", text().args("run", "$(MCP_ARG_X)"), `containers[0].args[1]: Forbidden: a value of the property "x" that ` +
			`begins with "-" would be read as an option`},
		{"of its own, first", text().args("$(MCP_ARG_X)"), "would be read as an option"},
		{"of its own, a choice", choice().args("$(MCP_ARG_X)"), ""},
		{"of its own, a choice with a dash", aTool().property(`{"enum":["-v","a"]}`).args("$(MCP_ARG_X)"),
			"would be read as an option"},
		{"of its own, a pattern", aTool().property(`{"type":"string","pattern":"^[a-z]"}`).args("$(MCP_ARG_X)"), ""},
		{"of its own, a weak pattern", aTool().property(`{"type":"string","pattern":"[a-z]"}`).args("$(MCP_ARG_X)"),
			"would be read as an option"},
		{"of its own, a number", text().args("$(MCP_ARG_N)"), ""},
		{"of its own, string or number", aTool().property(`{"type":["integer","string"]}`).args("$(MCP_ARG_X)"),
			"would be read as an option"},
		{"behind an option", text().args("-f", "$(MCP_ARG_X)"), "would be read as an option"},
		{"at the beginning", text().args("$(MCP_ARG_X)/data"), "would be read as an option"},
		{"behind one that may be empty", choice().args("$(MCP_ARG_X)$(MCP_ARG_Y)"), `the property "y"`},
		{"by way of a variable of its own", text().env("A", "$(MCP_ARG_X)").args("$(A)"), `the property "x"`},
		{"behind two dashes", text().args("--", "$(MCP_ARG_X)", "$(MCP_ARG_Y)"), ""},
		{"far behind two dashes", text().command("tini", "--", "prog", "$(MCP_ARG_X)"), "would be read as an option"},
		{"of its own, accepted", text().allow("dash").args("$(MCP_ARG_X)"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkProblem(t, Check(tt.tool.obj()), v1alpha1.ToolReasonUnsafeArgument, tt.want)
		})
	}
}

func TestProblemIsBounded(t *testing.T) {
	argv := []string{"prog"}
	for range 30 {
		argv = append(argv, "$(MCP_ARG_X)")
	}
	err := Check(aTool().property(`{"type":"string"}`).command(argv...).obj())
	checkProblem(t, err, v1alpha1.ToolReasonUnsafeArgument, "command[10]")
	if got := err.Error(); !strings.HasSuffix(got, "; and more") || strings.Contains(got, "command[11]") {
		t.Errorf("message = %s", got)
	}
}
