package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/images"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// hostile are texts that something on the way to a container would like to read as more than text.
var hostile = []string{
	"; touch /tmp/pwn", "$(id)", "`id`", `"; exit 0; #`, `'\''`, "two\nlines\r\n", "{{workflow.name}}", "$(params.x)", "%s%n%d",
	"🐈 é ﷽", "$(MCP_ARG_P0)", "$(KUBERNETES_SERVICE_HOST)", "$$(HOME)", "$$$(X)", "a$b", "$", "$(", "$$", "${HOME}", "$HOME",
	"-rf", "-f/etc/passwd", "--kubeconfig=/x", "-", "--", " -x", "\u2010x",
	" leading and trailing ", "\t", "<script>&amp;</script>", `\u0041\\`, "null", "", "[31m\x1b[0m",
	"\u2028\u2029\ufeff", "../../../etc/passwd", `{"a":1}`, "=", "a=b", strings.Repeat("x", 60_000),
}

// TestTool_A26_B22_B24_ArgumentsArrive sends hostile texts and numbers that don't fit a float: the container gets them byte for
// byte, as file, environment and argv.
func TestTool_A26_B22_B24_ArgumentsArrive(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	var properties, flags []string
	members := []string{`"n" : 9007199254740993`, `"z":-0`, `"d": 0.10`}
	for i, text := range hostile {
		quoted, err := json.Marshal(text)
		x.must(err)
		properties = append(properties, fmt.Sprintf("p%d string", i))
		flags = append(flags, fmt.Sprintf("--p%d=$(MCP_ARG_P%d)", i, i))
		members = append(members, fmt.Sprintf(`"p%d":%s`, i, quoted))
	}
	properties = append(properties, "n integer", "z integer", "d number", "absent string")
	flags = append(flags, "--absent=$(MCP_ARG_ABSENT)")
	x.offer(tool("echo", "echo-args", flags...).properties(properties...).resultLimit("512Ki"))
	raw := "{ " + strings.Join(members, ",\n\t") + "}"

	c := x.replicas(1)[0]
	task := x.wait(c, x.callRaw(c, "echo", raw))
	if task.Status != "completed" || task.Result.IsError {
		t.Fatalf("the task is %s: %+v", task.Status, task.Result)
	}
	var got struct {
		Argv        []string
		Environment map[string]string
		File        string
	}
	x.must(json.Unmarshal([]byte(task.Result.Text()), &got))
	if got.File != raw {
		t.Errorf("the file is %q, want %q", got.File, raw)
	}
	for i, text := range hostile {
		if value := got.Environment[fmt.Sprintf("MCP_ARG_P%d", i)]; value != text {
			t.Errorf("environment: got %.80q, want %.80q", value, text)
		}
		if flag := fmt.Sprintf("--p%d=%s", i, text); got.Argv[i] != flag {
			t.Errorf("argv: got %.80q, want %.80q", got.Argv[i], flag)
		}
	}
	for name, want := range map[string]string{"MCP_ARG_N": "9007199254740993", "MCP_ARG_Z": "-0", "MCP_ARG_D": "0.10"} {
		if got.Environment[name] != want {
			t.Errorf("%s is %q, want %q", name, got.Environment[name], want)
		}
	}
	if last := got.Argv[len(got.Argv)-1]; last != "--absent=" {
		t.Errorf("an argument that is absent became %q", last)
	}
}

// callRaw calls a tool with arguments that go over the wire exactly as given.
func (x *tenant) callRaw(c *mcpclient.Client, tool, arguments string) string {
	x.t.Helper()
	const place = "ARGUMENTS"
	body, header, err := c.Encode("tools/call", tool, map[string]any{"name": tool, "arguments": place})
	x.must(err)
	body = bytes.Replace(body, []byte(`"`+place+`"`), []byte(arguments), 1)
	response, err := c.Send(x.ctx, body, header)
	x.must(err)
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	x.must(err)
	var reply struct {
		Result struct{ TaskID string }
	}
	if err := json.Unmarshal(answer, &reply); err != nil || reply.Result.TaskID == "" {
		x.t.Fatalf("%s answered %s", tool, answer)
	}
	return reply.Result.TaskID
}

// TestTool_BindingsSetTypedFields: what a call asks for becomes the pod's resources, image, node and deadline, within the bounds
// that the tool's author has set; beyond them nothing is started.
func TestTool_BindingsSetTypedFields(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	b := tool("size", "echo-args").schema(`{"type":"object","required":["memory"],"additionalProperties":false,
		"examples":[{"memory":"64Mi"}],
		"properties":{"memory":{"type":"string"},"minutes":{"type":"integer"},"os":{"type":"string"}}}`)
	const limits = "spec.template.spec.containers[name=tool].resources.limits"
	b.tool.Spec.Bindings = []v1alpha1.Binding{
		{Field: limits + ".memory", Value: "arguments.memory", Max: ptr.To(resource.MustParse("256Mi"))},
		{Field: `spec.template.spec.nodeSelector["kubernetes.io/os"]`, Value: "arguments.?os.orValue('linux')",
			Values: []string{"linux"}},
		{Field: "spec.template.spec.activeDeadlineSeconds", Value: "arguments.?minutes.orValue(5) * 60",
			Max: ptr.To(resource.MustParse("600"))},
	}
	x.offer(b)
	c := x.replicas(1)[0]
	for arguments, want := range map[string]string{
		`{"memory":"1Gi"}`:                 "at most 256Mi",
		`{"memory":"lots"}`:                "no quantity",
		`{"memory":"64Mi","minutes":11}`:   "at most 600",
		`{"memory":"64Mi","os":"windows"}`: "not one of linux",
	} {
		call, err := c.CallTool(x.ctx, "size", json.RawMessage(arguments))
		x.must(err)
		if call.Result == nil || !call.Result.IsError || !strings.Contains(call.Result.Text(), want) {
			t.Errorf("%s: the answer is %+v, want a tool error with %q", arguments, call, want)
		}
	}
	x.wantNothing()
	id := x.callRaw(c, "size", `{"memory":"96Mi","minutes":3}`)
	if task := x.wait(c, id); task.Status != "completed" || task.Result.IsError {
		t.Fatalf("the task is %s: %+v", task.Status, task.Result)
	}
	pods, err := x.pods(x.ctx, id)
	x.must(err)
	spec := pods[0].Spec
	if got := spec.Containers[0].Resources.Limits.Memory().String(); got != "96Mi" ||
		spec.NodeSelector["kubernetes.io/os"] != "linux" ||
		*spec.ActiveDeadlineSeconds != 180 {
		t.Errorf("memory %s, node selector %v, deadline %d", got, spec.NodeSelector, *spec.ActiveDeadlineSeconds)
	}

	unbound := tool("unbound", "echo-args").schema(`{"type":"object","properties":{"account":{"type":"string"}}}`)
	unbound.tool.Spec.Bindings = []v1alpha1.Binding{
		{Field: "spec.template.spec.serviceAccountName", Value: "arguments.account", Values: []string{"admin"}},
	}
	x.create(unbound.in(x.namespace))
	if ready := x.checked("unbound"); ready.Reason != v1alpha1.ToolReasonInvalidBinding {
		t.Errorf("%s: %s", ready.Reason, ready.Message)
	}
}

// TestTool_TaskNameArrives is what the guide advises for work that takes a lock under the name of its task.
func TestTool_TaskNameArrives(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.Busybox)
	x.offer(tool("name", "").shell(images.Busybox, `printf %s "$TASK"`).main(func(c *corev1.Container) {
		c.Env = append(c.Env, corev1.EnvVar{Name: "TASK", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['mcptasks.dev/task']"},
		}})
	}))
	c := x.replicas(1)[0]
	id := x.call(c, "name", nil)
	if text := x.wait(c, id).Result.Text(); text != id {
		t.Errorf("the container of %s found the name %q", id, text)
	}
}
