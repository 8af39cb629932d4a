package job

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

const canary = "canary-9Qe"

// loginSchema has arguments of all kinds that must not be on the record.
const loginSchema = `{"type":"object","required":["user","password"],"additionalProperties":false,"properties":{
	"user":{"type":"string","pattern":"^[a-z]"},
	"password":{"type":"string","writeOnly":true,"maxLength":100000},
	"pin":{"type":"integer","writeOnly":true},
	"region":{"type":"string","writeOnly":true,"default":"eu"},
	"db":{"type":"object","properties":{"host":{"type":"string"},"token":{"type":"string","writeOnly":true}}},
	"keys":{"type":"array","items":{"type":"string","writeOnly":true}}}}`

// login makes the task that a call becomes.
func login(t *testing.T, tool *v1alpha1.MCPTool, arguments string) (*v1alpha1.MCPTask, *corev1.Secret) {
	t.Helper()
	b, err := NewBlueprint(tool)
	if err != nil {
		t.Fatal(err)
	}
	split, err := b.Split([]byte(arguments))
	if err != nil {
		t.Fatal(err)
	}
	task := aTask().arguments(string(split.Public)).obj()
	if split.Secret == nil {
		return task, nil
	}
	task.Spec.SecretArguments = &v1alpha1.SecretArguments{}
	for _, v := range split.Secret.Variables {
		task.Spec.SecretArguments.Variables = append(task.Spec.SecretArguments.Variables, v.Name)
	}
	return task, NewSecret(task, split.Secret)
}

// B28: what is writeOnly is in the Secret and nowhere else, and the container gets it all the same.
func TestBuild_B28_SecretArguments(t *testing.T) {
	tool := aTool().input(loginSchema).args("--user=$(MCP_ARG_USER)", "--password=$(MCP_ARG_PASSWORD)").obj()
	raw := `{ "user":"ada", "password":"` + canary + `$(HOME)", "pin":1e3, "db":{"host":"h","token":"` + canary + `"},` +
		`"keys":["` + canary + `","b"] }`
	task, secret := login(t, tool, raw)
	if want := `{"db":{"host":"h"},"keys":[null,null],"user":"ada"}`; task.Spec.Arguments != want {
		t.Errorf("on the record: %s, want %s", task.Spec.Arguments, want)
	}
	wantData := map[string][]byte{
		"arguments.json": []byte(raw), "MCP_ARG_PASSWORD": []byte(canary + "$(HOME)"), "MCP_ARG_PIN": []byte("1000"),
		"MCP_ARG_REGION": []byte("eu"),
	}
	if diff := cmp.Diff(wantData, secret.Data); diff != "" {
		t.Errorf("the Secret's data (-want +got):\n%s", diff)
	}
	job, err := Build(tool, task)
	if err != nil {
		t.Fatal(err)
	}
	for what, object := range map[string]any{"Job": job, "task": task} {
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), canary) {
			t.Errorf("the %s has the secret:\n%s", what, text)
		}
	}
	pod := job.Spec.Template
	if _, there := pod.Annotations[v1alpha1.AnnotationArguments]; there {
		t.Error("the pod has the arguments as an annotation")
	}
	fromSecret := func(name string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "t-abc"}, Key: name,
		}}}
	}
	wantEnv := []corev1.EnvVar{
		fromSecret("MCP_ARG_PASSWORD"), fromSecret("MCP_ARG_PIN"), fromSecret("MCP_ARG_REGION"), {Name: "MCP_ARG_USER", Value: "ada"},
	}
	if diff := cmp.Diff(wantEnv, pod.Spec.Containers[0].Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	wantVolume := corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
		Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "t-abc"},
			Items:                []corev1.KeyToPath{{Key: "arguments.json", Path: "arguments.json"}},
		},
	}}}}
	if diff := cmp.Diff(wantVolume, pod.Spec.Volumes[0].VolumeSource); diff != "" {
		t.Errorf("volume (-want +got):\n%s", diff)
	}
}

// Answers are on the record, and so come from there, beside secret arguments.
func TestBuildWithSecretArgumentsAndAnswers(t *testing.T) {
	tool := aTool().input(loginSchema).change(func(tool *v1alpha1.MCPTool) {
		tool.Spec.Questions = []v1alpha1.ToolQuestion{{Key: "sure", When: "arguments.user == 'ada'", Message: "'?'"}}
	}).obj()
	task, _ := login(t, tool, `{"user":"ada","password":"x"}`)
	task.Spec.Answers = map[string]v1alpha1.Answer{"sure": {Action: v1alpha1.AnswerAccept}}
	job, err := Build(tool, task)
	if err != nil {
		t.Fatal(err)
	}
	sources := job.Spec.Template.Spec.Volumes[0].Projected.Sources
	if len(sources) != 2 || sources[1].DownwardAPI == nil || sources[1].DownwardAPI.Items[0].Path != "answers.json" {
		t.Errorf("sources %+v", sources)
	}
}

func TestSplitArguments(t *testing.T) {
	long := strings.Repeat("x", maxValue+1)
	for name, tt := range map[string]struct {
		arguments string
		variables string // of the Secret; "-" for no Secret
	}{
		"a required secret": {`{"user":"ada","password":"x"}`, "MCP_ARG_PASSWORD=x MCP_ARG_PIN= MCP_ARG_REGION=eu"},
		"a default is no secret": {`{"user":"ada","password":"","region":"us"}`,
			"MCP_ARG_PASSWORD= MCP_ARG_PIN= MCP_ARG_REGION=us"},
		"too long for a variable": {`{"user":"ada","password":"` + long + `"}`, "MCP_ARG_PIN= MCP_ARG_REGION=eu"},
		"NUL is in the file only": {`{"user":"ada","password":"a\u0000b"}`, "MCP_ARG_PIN= MCP_ARG_REGION=eu"},
		"binary-like text is as sent": {`{"user":"ada","password":"\u0001\u001b\ufffd\n"}`,
			"MCP_ARG_PASSWORD=\x01\x1b\ufffd\n MCP_ARG_PIN= MCP_ARG_REGION=eu"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := NewBlueprint(aTool().input(loginSchema).obj())
			if err != nil {
				t.Fatal(err)
			}
			split, err := b.Split([]byte(tt.arguments))
			if err != nil {
				t.Fatal(err)
			}
			var variables []string
			for _, v := range split.Secret.Variables {
				variables = append(variables, v.Name+"="+v.Value)
			}
			if got := strings.Join(variables, " "); got != tt.variables {
				t.Errorf("got %.200q, want %q", got, tt.variables)
			}
			if string(split.Secret.Document) != tt.arguments {
				t.Errorf("the document is %.200q", split.Secret.Document)
			}
		})
	}
	plain, err := NewBlueprint(aTool().input(`{"type":"object","properties":{"token":{"type":"string","writeOnly":true}}}`).obj())
	if err != nil {
		t.Fatal(err)
	}
	split, err := plain.Split([]byte(` { "n": 1.0 } `))
	if err != nil || split.Secret != nil || string(split.Public) != ` { "n": 1.0 } ` {
		t.Errorf("without a secret: %+v, %v", split, err)
	}
}

// B28: a message about arguments that do not fit says nothing of them.
func TestSplitArguments_B28_ErrorsTellNothing(t *testing.T) {
	b, err := NewBlueprint(aTool().input(loginSchema).args("--password=$(MCP_ARG_PASSWORD)").obj())
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range []string{
		`{"user":"ada","password":{"` + canary + `":1}}`, `{"user":"ada","password":["` + canary + `"]}`,
		`{"user":"ada","password":"` + canary + `\u0000"}`, `{"user":"ada","password":"` + strings.Repeat(canary, 7000) + `"}`,
		`{"user":"ada","password":"x","keys":[{"` + canary + `":"` + canary + `"}]}`,
	} {
		if _, err := b.Split([]byte(arguments)); err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%.80s: %v", arguments, err)
		}
	}
}

func TestBuildOfSecretArgumentsOfAnotherTool(t *testing.T) {
	tool := aTool().input(loginSchema).obj()
	task, _ := login(t, tool, `{"user":"ada","password":"x"}`)
	changed := tool.DeepCopy()
	changed.Generation++
	_, err := Build(changed, task)
	checkProblem(t, err, v1alpha1.ReasonToolChanged, "whether its secret arguments still fit cannot be checked")

	// What stands on the record is checked, also where somebody else than the endpoint has put it there.
	task.Spec.Arguments = `{"user":"-rf"}`
	_, err = Build(tool, task)
	checkProblem(t, err, v1alpha1.ReasonRejected, "/user: does not fit its schema")
}

// B28: nothing that is shown in events when it goes wrong may have a secret in it.
func TestCheck_B28_SecretsInWhatIsShown(t *testing.T) {
	tool := func() *toolBuilder {
		return aTool().input(`{"type":"object","properties":{"token":{"enum":["a","b"],"writeOnly":true}}}`)
	}
	for name, tt := range map[string]struct {
		tool *toolBuilder
		want string
	}{
		"argument": {tool().command("prog").args("$(MCP_ARG_TOKEN)"), ""},
		"program":  {tool().command("$(MCP_ARG_TOKEN)"), "command[0]: Forbidden: the property \"token\" is writeOnly"},
		"path": {tool().main(func(c *corev1.Container) {
			c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v", SubPathExpr: "x/$(MCP_ARG_TOKEN)"}}
		}), "subPathExpr: Forbidden"},
		"path by another variable": {tool().env("DIR", "x$(MCP_ARG_TOKEN)").main(func(c *corev1.Container) {
			c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v", SubPathExpr: "$(DIR)"}}
		}), "subPathExpr: Forbidden"},
		"hook": {tool().main(func(c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{
				Exec: &corev1.ExecAction{Command: []string{"register", "$(MCP_ARG_TOKEN)"}},
			}}
		}), "exec.command[1]: Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			checkProblem(t, Check(tt.tool.obj()), v1alpha1.ToolReasonUnsafeArgument, tt.want)
		})
	}
}

// Expressions are evaluated over the record, and what they make is on it.
func TestCheckQuestionsAboutSecrets(t *testing.T) {
	tool := aTool().input(loginSchema).change(func(tool *v1alpha1.MCPTool) {
		tool.Spec.Questions = []v1alpha1.ToolQuestion{{Key: "sure", Message: "'Use ' + arguments.password + '?'"}}
	}).obj()
	checkProblem(t, Check(tool), v1alpha1.ToolReasonInvalidQuestion, "undefined field 'password'")
}
