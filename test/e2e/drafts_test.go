package e2e

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/images"
	"github.com/mcptasks/mcptasks/test/kube"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// These tests begin with manifests of Jobs as people have them (internal/draft/testdata). kubectl mcptask tool from-job makes the
// draft of a tool, the test edits it as an author would, and an agent calls it.

// draft is the tool that from-job makes of a manifest, in the tenant's namespace, and what it says about it.
func (x *tenant) draft(manifest string) (tool *v1alpha1.MCPTool, notes string) {
	x.t.Helper()
	file := filepath.Join("internal", "draft", "testdata", manifest)
	cmd := exec.CommandContext(x.ctx, "go", "run", "./cmd/kubectl-mcptask", "tool", "from-job", file, "-n", x.namespace)
	cmd.Dir = filepath.Join("..", "..")
	var said strings.Builder
	cmd.Stderr = &said
	document, err := cmd.Output()
	if err != nil {
		x.t.Fatalf("from-job %s: %v\n%s", manifest, err, said.String())
	}
	tool = &v1alpha1.MCPTool{}
	x.must(yaml.UnmarshalStrict(document, tool))
	return tool, said.String()
}

// offerTool creates a tool and waits until it is ready. A copy may be given another name and offered too.
func (x *tenant) offerTool(tool *v1alpha1.MCPTool) {
	x.t.Helper()
	x.create(tool.DeepCopy())
	x.must(cluster.WaitReady(x.ctx, kube.Key(tool)))
}

// named is a copy of a tool with another name, after some changes.
func named(tool *v1alpha1.MCPTool, name string, change func(*v1alpha1.MCPTool)) *v1alpha1.MCPTool {
	tool = tool.DeepCopy()
	tool.Name, tool.Spec.Name = strings.ReplaceAll(name, "_", "-"), name
	change(tool)
	return tool
}

// property puts a property's schema in place of the proposed one.
func property(t *testing.T, tool *v1alpha1.MCPTool, name string, schema map[string]any) {
	t.Helper()
	var input map[string]any
	if err := json.Unmarshal(tool.Spec.InputSchema.Raw, &input); err != nil {
		t.Fatal(err)
	}
	input["properties"].(map[string]any)[name] = schema
	raw, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	tool.Spec.InputSchema = &apiextensionsv1.JSON{Raw: raw}
}

// mainOf is a tool's first container.
func mainOf(tool *v1alpha1.MCPTool) *corev1.Container {
	return &tool.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
}

// condition is a tool's Ready condition, once there is one.
func (x *tenant) condition(tool *v1alpha1.MCPTool) *metav1.Condition {
	x.t.Helper()
	var ready *metav1.Condition
	x.must(cluster.Wait(x.ctx, tool, kube.Key(tool), func() bool {
		ready = apimeta.FindStatusCondition(tool.Status.Conditions, v1alpha1.ConditionReady)
		return ready != nil
	}))
	return ready
}

// wantRefused checks that the cluster refused to run a task, and that it says so in the policy's words.
func (x *tenant) wantRefused(task *mcpclient.Task, words ...string) {
	x.t.Helper()
	if task.Status != "failed" || task.Error == nil || x.record(task.TaskID).Status.Reason != v1alpha1.ReasonRejected {
		x.t.Fatalf("the task is %s (%s), want it refused", task.Status, task.StatusMessage)
	}
	for _, word := range append(words, "PodSecurity") {
		if !strings.Contains(task.StatusMessage, word) {
			x.t.Errorf("the task says %q, want %q in it", task.StatusMessage, word)
		}
	}
}

// podSecurity changes the level that the tenant's namespace enforces.
func (x *tenant) podSecurity(level string) {
	x.t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: x.namespace}}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":%q}}}`, level)
	x.must(cluster.Patch(x.ctx, namespace, client.RawPatch(types.MergePatchType, patch)))
}

// TestTool_C01_PiDigits: the first Job that everybody runs. Its result is one long line, longer than a termination message, and
// whole.
func TestTool_C01_PiDigits(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.Perl)
	tool, _ := x.draft("C01-pi.yaml")
	x.offerTool(tool)
	digits := named(tool, "pi_digits", func(tool *v1alpha1.MCPTool) {
		property(t, tool, "digits", map[string]any{"type": "integer", "minimum": 1, "maximum": 5000})
		mainOf(tool).Command[3] = "print Math::BigFloat->bpi($ENV{MCP_ARG_DIGITS})"
	})
	x.offerTool(digits)
	c := x.replicas(1)[0]
	pi := machin(5010)
	check := func(got string, digits int) {
		t.Helper()
		if len(got) != digits+1 || got[:digits] != pi[:digits] { // the last digit is rounded
			t.Errorf("%d digits of pi: got %d characters, %.60s", digits, len(got), got)
		}
	}
	check(x.result(c, "pi", nil), 2000)
	for _, n := range []int{1000, 5000} {
		check(x.result(c, "pi_digits", map[string]any{"digits": n}), n)
	}
	if text := x.failure(c, "pi_digits", map[string]any{"digits": 5001}); !strings.Contains(text, "/digits") {
		t.Errorf("5001 digits: %q", text)
	}
}

// machin is pi, as "3.14…", with so many digits behind the point, by pi/4 = 4 arctan 1/5 - arctan 1/239.
func machin(digits int64) string {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(digits+10), nil)
	arctan := func(x int64) *big.Int {
		power := new(big.Int).Div(unit, big.NewInt(x))
		sum, square := new(big.Int).Set(power), big.NewInt(x*x)
		for n := int64(1); power.Sign() > 0; n++ {
			power.Div(power, square)
			term := new(big.Int).Div(power, big.NewInt(2*n+1))
			if n%2 == 1 {
				term.Neg(term)
			}
			sum.Add(sum, term)
		}
		return sum
	}
	pi := new(big.Int).Mul(big.NewInt(16), arctan(5))
	text := pi.Sub(pi, new(big.Int).Mul(big.NewInt(4), arctan(239))).String()
	return text[:1] + "." + text[1:digits+1]
}

// TestTool_C10_ImageBuild: a build that has to be root is refused in words where the tenant does not allow that, and gets its
// options one by one, whatever is in them, where it does.
func TestTool_C10_ImageBuild(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "registry-credentials"},
		StringData: map[string]string{".dockerconfigjson": "{}"},
	})
	tool, notes := x.draft("C10-kaniko.yaml")
	if !strings.Contains(notes, "runAsUser 0 of the container executor") {
		t.Errorf("from-job does not say that the build wants to be root:\n%s", notes)
	}
	for _, name := range []string{"dockerfile", "context", "destination"} {
		property(t, tool, name, map[string]any{"type": "string", "minLength": 1})
	}
	x.offerTool(tool)
	c := x.replicas(1)[0]

	task := x.wait(c, x.call(c, "build_image", map[string]any{"context": "git://x", "destination": "y"}))
	x.wantRefused(task, "runAsNonRoot")

	x.podSecurity("baseline")
	arguments := map[string]any{
		"context": "git://x/y.git#a b $(X) $(MCP_ARG_DESTINATION)", "dockerfile": "-x", "destination": "a --no-push",
	}
	var got struct{ Argv []string }
	x.must(json.Unmarshal([]byte(x.result(c, "build_image", arguments)), &got))
	want := []string{
		"--dockerfile=-x", "--context=git://x/y.git#a b $(X) $(MCP_ARG_DESTINATION)", "--destination=a --no-push", "--cache=true",
		"--snapshot-mode=redo",
	}
	if !slices.Equal(got.Argv, want) {
		t.Errorf("the build got %q, want %q", got.Argv, want)
	}
}

// TestTool_C11_RootlessBuild: a build without root that wants to be unconfined is refused by the level baseline, in the policy's
// words, and what it asks of seccomp and AppArmor reaches its pods, by fields and by annotations.
func TestTool_C11_RootlessBuild(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.Busybox)
	x.podSecurity("baseline")
	tool, notes := x.draft("C11-buildkit.yaml")
	if !strings.Contains(notes, "than privileged refuse the pods") || !strings.Contains(notes, "seccomp Unconfined") {
		t.Errorf("from-job does not say what the build asks for:\n%s", notes)
	}
	x.offerTool(tool)
	c := x.replicas(1)[0]
	id := x.call(c, "rootless_build", nil)
	x.wantRefused(x.wait(c, id), "seccompProfile", "baseline")

	x.podSecurity("privileged")
	id = x.call(c, "rootless_build", nil)
	if task := x.wait(c, id); task.Status != "completed" || task.Result.Text() != "FROM scratch" {
		t.Errorf("where it is allowed, the build is %s (%s): %+v", task.Status, task.StatusMessage, task.Result)
	}
	pods, err := x.pods(x.ctx, id)
	x.must(err)
	if len(pods) != 1 {
		t.Fatalf("there are %d pods", len(pods))
	}
	s := pods[0].Spec.Containers[0].SecurityContext
	if s.SeccompProfile.Type != corev1.SeccompProfileTypeUnconfined || s.AppArmorProfile == nil ||
		s.AppArmorProfile.Type != corev1.AppArmorProfileTypeUnconfined ||
		pods[0].Annotations[corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+"build"] != "unconfined" {
		t.Errorf("the pod has %+v and the annotations %v", s, pods[0].Annotations)
	}
}

// TestTool_C12_FlywayMigration: a migration that was restarted in place, and deleted as soon as it ended, becomes a tool that
// runs once a call and whose result stays.
func TestTool_C12_FlywayMigration(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.Busybox)
	x.claim("shop-db")
	const password = "correct horse battery staple"
	x.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "flyway"},
		StringData: map[string]string{"FLYWAY_USER": "shop", "FLYWAY_PASSWORD": password},
	})
	migrate, notes := x.draft("C12-flyway.yaml")
	if !strings.Contains(notes, "restartPolicy was OnFailure") || !strings.Contains(notes, "Secret flyway") {
		t.Errorf("from-job does not say what changes and what is needed:\n%s", notes)
	}
	if e := migrate.Spec.Execution; e.Retries != 2 || e.Deadline.Duration != 5*time.Minute || e.Retention.Job.Duration != 0 {
		t.Errorf("the tool's execution is %+v, want the Job's limits", e)
	}
	property(t, migrate, "target", map[string]any{"type": "integer", "minimum": 1, "maximum": 9})
	x.offerTool(migrate)
	x.offerTool(named(migrate, "db_migrate_once", func(tool *v1alpha1.MCPTool) { tool.Spec.Execution.Retries = 0 }))
	restarting := named(migrate, "restarting", func(tool *v1alpha1.MCPTool) {
		tool.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	})
	x.create(restarting)
	ready := x.condition(restarting)
	if ready.Status != metav1.ConditionFalse || !strings.Contains(ready.Message, "must be Never") ||
		!strings.Contains(ready.Message, "spec.execution.retries") {
		t.Errorf("with restartPolicy OnFailure the tool is %s: %s", ready.Status, ready.Message)
	}
	x.offer(tool("history", "").shell(images.Busybox, `wc -l </data/history`).volume("shop-db", "/data"))

	c := x.replicas(1)[0]
	runs := func() string { return x.result(c, "history", nil) }
	id := x.call(c, "db_migrate", map[string]any{"target": 1})
	task := x.wait(c, id)
	const applied = "Successfully applied migrations to version 1"
	if task.Status != "completed" || task.Result.IsError || task.Result.Text() != applied {
		t.Fatalf("the task is %s (%s): %+v", task.Status, task.StatusMessage, task.Result)
	}
	x.waitStopped(id) // at once: nothing was to be kept
	if task, err := c.Get(x.ctx, id); err != nil || task.Result == nil || task.Result.Text() != applied {
		t.Errorf("without its Job the task is %+v (%v)", task, err)
	}
	if n := runs(); n != "1" {
		t.Errorf("the migration ran %s times, want once", n)
	}

	// One that fails is run again as often as the tool says.
	for _, test := range []struct {
		tool string
		runs string
	}{{"db_migrate_once", "2"}, {"db_migrate", "5"}} {
		text := x.failure(c, test.tool, map[string]any{"target": 2})
		if !strings.Contains(text, "migration checksum mismatch for version 2") || !strings.Contains(text, "code 1") {
			t.Errorf("%s says %q", test.tool, text)
		}
		if n := runs(); n != test.runs {
			t.Errorf("after %s the migration has run %s times, want %s", test.tool, n, test.runs)
		}
	}
}

// TestTool_C19_CRDUpgrade: an init container brings the program, and a service account the rights. What fails there is told with
// the name of the container.
func TestTool_C19_CRDUpgrade(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.Busybox)
	tool, notes := x.draft("C19-crd-upgrade.yaml")
	if !strings.Contains(notes, "service account crd-upgrader") || !strings.Contains(notes, "ServiceAccount crd-upgrader") {
		t.Errorf("from-job does not say whose rights the tool has:\n%s", notes)
	}
	tool.Spec.Execution.Retries = 0
	x.offerTool(tool)
	fetch := func(name string, change func(*corev1.Container)) {
		x.offerTool(named(tool, name, func(tool *v1alpha1.MCPTool) {
			change(&tool.Spec.JobTemplate.Spec.Template.Spec.InitContainers[0])
			tool.Spec.Execution.StartupDeadline = metav1.Duration{Duration: 10 * time.Second}
		}))
	}
	fetch("fetch_fails", func(c *corev1.Container) { c.Args = []string{"echo 'no such release' >&2; exit 1"} })
	fetch("fetch_image", func(c *corev1.Container) { c.Image = "registry.invalid/tools:v1" })
	fetch("no_account", func(*corev1.Container) {})
	c := x.replicas(1)[0]

	// Only an administrator binds rights to a tool: without the account nothing runs.
	task := x.wait(c, x.call(c, "no_account", nil))
	if task.Status != "failed" || !strings.Contains(task.StatusMessage, "crd-upgrader") {
		t.Errorf("without the service account the task is %s (%s)", task.Status, task.StatusMessage)
	}
	x.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "crd-upgrader"}})
	const configured = "customresourcedefinition.apiextensions.k8s.io/backups.example.org configured"
	if text := x.result(c, "upgrade_crds", nil); text != configured {
		t.Errorf("the upgrade says %q", text)
	}
	for name, want := range map[string][]string{
		"fetch_fails": {"fetch-tool", "code 1", "no such release"},
		"fetch_image": {"registry.invalid/tools:v1"},
	} {
		task := x.wait(c, x.call(c, name, nil))
		if task.Status != "failed" || task.Error == nil {
			t.Errorf("%s: the task is %s (%s)", name, task.Status, task.StatusMessage)
			continue
		}
		for _, words := range want {
			if !strings.Contains(task.StatusMessage, words) {
				t.Errorf("%s: the task says %q, want %q", name, task.StatusMessage, words)
			}
		}
	}
}

// TestTool_C20_ExitCodes: every exit code is told, with what the program printed before, colors and all.
func TestTool_C20_ExitCodes(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.Busybox)
	tool, _ := x.draft("C20-exit-code.yaml")
	property(t, tool, "code", map[string]any{"type": "integer", "minimum": 0, "maximum": 255})
	x.offerTool(tool)
	x.offerTool(named(tool, "terminal", func(tool *v1alpha1.MCPTool) {
		mainOf(tool).Args = []string{`printf '\033]0;title\007\033[2J\033[1;31mred\033[0m\rover\b\b\033[10A\n'`}
	}))
	c := x.replicas(1)[0]
	const printed = "\x1b[31mred\x1b[0m and plain"
	ids := map[int]string{}
	for _, code := range []int{0, 1, 2, 123, 126, 127, 130, 137, 139, 143, 255} {
		ids[code] = x.call(c, "exit_code", map[string]any{"code": code})
	}
	for code, id := range ids {
		task := x.wait(c, id)
		if task.Status != "completed" || task.Result.IsError != (code != 0) {
			t.Errorf("exit %d: the task is %s (%s): %+v", code, task.Status, task.StatusMessage, task.Result)
			continue
		}
		text := task.Result.Text()
		if !strings.Contains(text, printed) || code != 0 && !strings.Contains(text, "code "+strconv.Itoa(code)) {
			t.Errorf("exit %d: the result is %q", code, text)
		}
	}
	if text := x.result(c, "terminal", nil); text != "\x1b]0;title\x07\x1b[2J\x1b[1;31mred\x1b[0m\rover\b\b\x1b[10A" {
		t.Errorf("what moves a terminal's cursor came as %q", text)
	}
}
