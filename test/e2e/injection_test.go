package e2e

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/images"
	"github.com/mcptasks/mcptasks/test/kube"
)

// printHex prints as hexadecimal, a line each, what a shell got as $1, $2… and as MCP_ARG_P0, MCP_ARG_P1…, and then what is in
// /tmp.
const printHex = `hex() { od -An -v -tx1 | tr -d ' \n'; echo; }
i=0
for argument in "$@"; do
	printf %s "$argument" | hex
	eval "value=\${MCP_ARG_P$i}"
	printf %s "$value" | hex
	i=$((i+1))
done
ls -A /tmp
exit 0`

// inShell makes a tool one that runs a script in a shell, with a writable /tmp.
func (b *toolBuilder) inShell(script string, args ...string) *toolBuilder {
	pod := &b.tool.Spec.JobTemplate.Spec.Template.Spec
	pod.Volumes = append(pod.Volumes, corev1.Volume{
		Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
	})
	c := &pod.Containers[0]
	c.Image, c.Command, c.Args = images.Busybox.Tag, []string{"sh", "-c", script, "tool"}, args
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "tmp", MountPath: "/tmp"})
	return b
}

// TestTool_B22_HostileTextsInAShell hands hostile texts to a shell, which is where they would do harm: it gets each as it was
// sent, and nothing is run by it.
func TestTool_B22_HostileTextsInAShell(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	var properties, args, members []string
	for i, text := range hostile {
		quoted, err := json.Marshal(text)
		x.must(err)
		properties = append(properties, fmt.Sprintf("p%d string", i))
		args = append(args, fmt.Sprintf("$(MCP_ARG_P%d)", i))
		members = append(members, fmt.Sprintf(`"p%d":%s`, i, quoted))
	}
	x.offer(tool("shell", "").inShell(printHex, args...).properties(properties...).resultLimit("512Ki"))
	c := x.replicas(1)[0]
	task := x.wait(c, x.callRaw(c, "shell", "{"+strings.Join(members, ",")+"}"))
	if task.Status != "completed" || task.Result.IsError {
		t.Fatalf("the task is %s: %+v", task.Status, task.Result)
	}
	lines := strings.Split(strings.TrimSuffix(task.Result.Text(), "\n"), "\n")
	if len(lines) != 2*len(hostile) {
		t.Fatalf("got %d lines, want %d and nothing in /tmp: %q", len(lines), 2*len(hostile), lines[min(2*len(hostile), len(lines)):])
	}
	for i, text := range hostile {
		want := hex.EncodeToString([]byte(text))
		if lines[2*i] != want || lines[2*i+1] != want {
			t.Errorf("%.40q: got %.80s as argument and %.80s in the environment, want %.80s", text, lines[2*i], lines[2*i+1], want)
		}
	}
}

// TestTool_B22_NULIsNoArgument: an argument with a NUL character cannot stand on a command line, and is refused; in the file it
// can.
func TestTool_B22_NULIsNoArgument(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("flag", "echo-args", "--text=$(MCP_ARG_TEXT)").properties("text string"))
	x.offer(tool("file", "echo-args").properties("text string"))
	c := x.replicas(1)[0]
	call, err := c.CallTool(x.ctx, "flag", json.RawMessage(`{"text":"a\u0000b"}`))
	x.must(err)
	if call.Result == nil || !call.Result.IsError || !strings.Contains(call.Result.Text(), "/text") ||
		!strings.Contains(call.Result.Text(), "NUL") {
		t.Errorf("the answer is %+v, want a tool error that names /text", call)
	}
	x.wantNothing()
	raw := `{"text":"a\u0000b"}`
	var got struct {
		Environment map[string]string
		File        string
	}
	x.must(json.Unmarshal([]byte(x.wait(c, x.callRaw(c, "file", raw)).Result.Text()), &got))
	if _, there := got.Environment["MCP_ARG_TEXT"]; got.File != raw || there {
		t.Errorf("got %+v", got)
	}
}

// TestTool_B22_B23_UnsafePlacesAreRefused: a tool that would make code or an option of an argument is not Ready, and says why;
// with a pattern that rules the option out, it is, and the call is refused instead.
func TestTool_B22_B23_UnsafePlacesAreRefused(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	for name, b := range map[string]*toolBuilder{
		"in-a-script": tool("in-a-script", "").inShell("echo $(MCP_ARG_TEXT)").properties("text string"),
		"placeholder": tool("placeholder", "echo-args", "--text=$(MCP_ARG_OTHER)").properties("text string"),
		"bare":        tool("bare", "echo-args", "$(MCP_ARG_TEXT)").properties("text string"),
	} {
		x.create(b.in(x.namespace))
		ready := x.checked(name)
		want := v1alpha1.ToolReasonUnsafeArgument
		if name == "placeholder" {
			want = v1alpha1.ToolReasonInvalidTemplate
		}
		if ready.Status != metav1.ConditionFalse || ready.Reason != want {
			t.Errorf("%s: %s %s: %s", name, ready.Status, ready.Reason, ready.Message)
		}
	}
	x.offer(tool("safe", "").inShell(printHex, "$(MCP_ARG_P0)", "--", "$(MCP_ARG_P2)").schema(
		`{"type":"object","properties":{"p0":{"type":"string","pattern":"^[^-]"},"p2":{"type":"string"}}}`))
	c := x.replicas(1)[0]
	for _, text := range []string{"-f/etc/passwd", "--kubeconfig=/x", "-", "--"} {
		call, err := c.CallTool(x.ctx, "safe", map[string]any{"p0": text})
		x.must(err)
		if call.Result == nil || !call.Result.IsError || !strings.Contains(call.Result.Text(), "/p0") {
			t.Errorf("%s: the answer is %+v", text, call)
		}
	}
	x.wantNothing()
	text := x.result(c, "safe", map[string]any{"p0": " -x", "p2": "-rf"})
	want := []string{" -x", " -x", "--", "", "-rf", "-rf"}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if i >= len(want) || line != hex.EncodeToString([]byte(want[i])) {
			t.Fatalf("got %s, want %q in hexadecimal", text, want)
		}
	}
}

// TestTool_B23_FlagsStayValues: in a place that is safe, a text that looks like an option arrives as the text it is, also as one
// of several.
func TestTool_B23_FlagsStayValues(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("echo", "echo-args", "--text=$(MCP_ARG_TEXT)").schema(
		`{"type":"object","properties":{"text":{"type":"string"},"list":{"type":"array","items":{"type":"string"}}}}`))
	c := x.replicas(1)[0]
	for i, text := range []string{"-f/etc/passwd", "--kubeconfig=/x", "-", "--", " -x", "\u2010x"} {
		raw := fmt.Sprintf(`{"text":%s,"list":["a","-rf",%s]}`, strconv.Quote(text), strconv.Quote(text))
		var got struct {
			Argv        []string
			Environment map[string]string
			File        string
		}
		x.must(json.Unmarshal([]byte(x.wait(c, x.callRaw(c, "echo", raw)).Result.Text()), &got))
		if len(got.Argv) != 1 || got.Argv[0] != "--text="+text || got.Environment["MCP_ARG_TEXT"] != text || got.File != raw {
			t.Errorf("%d: got %+v", i, got)
		}
	}
}

// TestTool_B24_ReferencesStayText: what a caller writes of $(NAME) is text, also where the author's own references beside it are
// expanded, and the Secret behind the name is shown nowhere.
func TestTool_B24_ReferencesStayText(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	const password = "canary-1f9"
	x.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "db"}, StringData: map[string]string{"password": password},
	})
	texts := []string{
		"$(DB_PASSWORD)", "$$(DB_PASSWORD)", "$$$(DB_PASSWORD)", "$$$(X)", "a$b", "$", "$(", "$$", "$(MCP_ARG_P0)",
		"$(DB_HOST)$(DB_PASSWORD)",
	}
	flags, properties := []string{"--host=$(DB_HOST)"}, []string{}
	arguments := map[string]string{}
	for i, text := range texts {
		flags = append(flags, fmt.Sprintf("--p%d=$(MCP_ARG_P%d)", i, i))
		properties = append(properties, fmt.Sprintf("p%d string", i))
		arguments[fmt.Sprintf("p%d", i)] = text
	}
	b := tool("echo", "echo-args", flags...).properties(properties...)
	main := &b.tool.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
	main.Env = []corev1.EnvVar{
		{Name: "DB_HOST", Value: "db.example"},
		{Name: "DB_PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "db"}, Key: "password",
		}}},
	}
	x.offer(b)
	c := x.replicas(1)[0]
	id := x.call(c, "echo", arguments)
	result := x.wait(c, id).Result
	var got struct {
		Argv        []string
		Environment map[string]string
	}
	x.must(json.Unmarshal([]byte(result.Text()), &got))
	if got.Argv[0] != "--host=db.example" {
		t.Errorf("the author's own reference became %s", got.Argv[0])
	}
	for i, text := range texts {
		if want := fmt.Sprintf("--p%d=%s", i, text); got.Argv[i+1] != want {
			t.Errorf("argv: got %q, want %q", got.Argv[i+1], want)
		}
		if value := got.Environment[fmt.Sprintf("MCP_ARG_P%d", i)]; value != text {
			t.Errorf("environment: got %q, want %q", value, text)
		}
	}
	x.wantNowhere(password)
}

// TestTool_B27_CallerChoosesNothing: arguments that are named like privileged fields are arguments, and the Job is the tool's, in
// the caller's own namespace.
func TestTool_B27_CallerChoosesNothing(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("echo", "echo-args").schema(`{"type":"object"}`))
	c := x.replicas(1)[0]
	raw := `{"namespace":"kube-system","serviceAccountName":"admin","hostNetwork":true,"nodeName":"other","image":"evil:latest",` +
		`"securityContext":{"privileged":true},"metadata":{"namespace":"kube-system"},"volumes":[{"hostPath":{"path":"/"}}]}`
	id := x.callRaw(c, "echo", raw)
	result := x.wait(c, id).Result
	var got struct{ File string }
	x.must(json.Unmarshal([]byte(result.Text()), &got))
	if got.File != raw {
		t.Errorf("the file is %s", got.File)
	}
	jobs := &batchv1.JobList{}
	x.must(cluster.List(x.ctx, jobs))
	for _, job := range jobs.Items {
		if job.Labels[v1alpha1.LabelTask] == id && job.Namespace != x.namespace {
			t.Errorf("there is a Job in %s", job.Namespace)
		}
	}
	pods, err := x.pods(x.ctx, id)
	x.must(err)
	if len(pods) != 1 {
		t.Fatalf("%d pods", len(pods))
	}
	spec := pods[0].Spec
	if spec.ServiceAccountName != "default" || spec.HostNetwork || len(spec.Containers) != 1 ||
		spec.Containers[0].Image != images.Toolbox.Tag ||
		spec.Containers[0].SecurityContext.Privileged != nil {
		t.Errorf("the pod is %+v", spec)
	}
	for _, volume := range spec.Volumes {
		if volume.HostPath != nil {
			t.Errorf("the pod has the volume %s of its node", volume.Name)
		}
	}
}

// TestTool_B27_B28_Rights: neither the endpoint nor the controller could do more for a caller than is meant, even if it wanted
// to, and the caller itself can do nothing but call.
func TestTool_B27_B28_Rights(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	tests := []struct {
		account, verb, group, resource, subresource string
		allowed                                     bool
	}{
		{"endpoint", "create", "", "secrets", "", true},
		{"endpoint", "get", "", "secrets", "", false},
		{"endpoint", "list", "", "secrets", "", false},
		{"endpoint", "watch", "", "secrets", "", false},
		{"endpoint", "update", "", "secrets", "", false},
		{"endpoint", "patch", "", "secrets", "", false},
		{"endpoint", "delete", "", "secrets", "", false},
		{"endpoint", "create", "", "pods", "", false},
		{"endpoint", "create", "", "pods", "exec", false},
		{"endpoint", "create", "batch", "jobs", "", false},
		{"endpoint", "patch", v1alpha1.Group, "mcptasks", "status", false},
		{"endpoint", "create", v1alpha1.Group, "mcptools", "", false},
		{"endpoint", "impersonate", "", "users", "", false},
		{"controller", "delete", "", "secrets", "", true},
		{"controller", "get", "", "secrets", "", false},
		{"controller", "list", "", "secrets", "", false},
		{"controller", "watch", "", "secrets", "", false},
		{"controller", "create", "", "secrets", "", false},
		{"controller", "deletecollection", "", "secrets", "", false},
		{"controller", "create", "", "pods", "", false},
		{"controller", "create", "", "pods", "exec", false},
		{"controller", "create", v1alpha1.Group, "mcptasks", "", false},
		{"controller", "patch", v1alpha1.Group, "mcptasks", "", false},
		{"controller", "create", "", "serviceaccounts", "token", false},
		{"controller", "impersonate", "", "users", "", false},
		{"agent", "create", v1alpha1.Group, "mcptasks", "", false},
		{"agent", "get", v1alpha1.Group, "mcptasks", "", false},
		{"agent", "get", "", "secrets", "", false},
		{"agent", "create", "batch", "jobs", "", false},
	}
	for _, test := range tests {
		namespace, account := kube.Namespace, "mcptasks-"+test.account
		if test.account == "agent" {
			namespace, account = x.namespace, test.account
		}
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:   "system:serviceaccount:" + namespace + ":" + account,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: x.namespace, Verb: test.verb, Group: test.group, Resource: test.resource, Subresource: test.subresource,
			},
		}}
		x.create(review)
		if review.Status.Allowed != test.allowed {
			t.Errorf("the %s may %s %s/%s: %t", test.account, test.verb, test.resource, test.subresource, review.Status.Allowed)
		}
	}
}

// checked waits until the controller has looked at a tool, and returns what it says.
func (x *tenant) checked(name string) *metav1.Condition {
	x.t.Helper()
	found := &v1alpha1.MCPTool{}
	var ready *metav1.Condition
	x.must(cluster.Wait(x.ctx, found, x.key(name), func() bool {
		ready = apimeta.FindStatusCondition(found.Status.Conditions, v1alpha1.ConditionReady)
		return ready != nil
	}))
	return ready
}

// wantNowhere fails the test if the text is in any object of the tenant but Secrets, or in any log of its pods or of mcptasks.
func (x *tenant) wantNowhere(text string) {
	x.t.Helper()
	objects, err := cluster.Objects(x.ctx, x.namespace)
	x.must(err)
	for _, kind := range []string{"MCPTask/", "Job/", "Pod/", "Event/"} {
		found := false
		for name := range objects {
			found = found || strings.HasPrefix(name, kind)
		}
		if !found {
			x.t.Errorf("there is no %s in what was looked through", kind)
		}
	}
	x.wantNotIn(text, objects)
	for _, part := range []struct {
		namespace string
		labels    map[string]string
	}{{x.namespace, nil}, {kube.Namespace, kube.EndpointLabels}, {kube.Namespace, kube.ControllerLabels}} {
		logs, err := cluster.Logs(x.ctx, part.namespace, part.labels)
		x.must(err)
		x.wantNotIn(text, logs)
	}
}

func (x *tenant) wantNotIn(text string, places map[string]string) {
	x.t.Helper()
	for name, content := range places {
		if at := strings.Index(content, text); at >= 0 {
			x.t.Errorf("%s has it: …%s…", name, content[max(0, at-100):min(len(content), at+100)])
		}
	}
}
