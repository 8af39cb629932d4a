package job

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// seen is what a container sees of a variable and of an argument that refers to it: it expands them as the kubelet does.
func seen(c *corev1.Container) (env map[string]string, args []string) {
	env = map[string]string{}
	expand := func(text string) string {
		var b strings.Builder
		for _, p := range split(text) {
			value, ok := env[p.variable]
			switch {
			case p.variable == "":
				b.WriteString(p.literal)
			case ok:
				b.WriteString(value)
			default:
				b.WriteString("$(" + p.variable + ")")
			}
		}
		return b.String()
	}
	for _, v := range c.Env {
		if v.ValueFrom != nil {
			env[v.Name] = "canary-1f9" // a secret
			continue
		}
		env[v.Name] = expand(v.Value)
	}
	for _, arg := range c.Args {
		args = append(args, expand(arg))
	}
	return env, args
}

func TestEnvironment(t *testing.T) {
	tests := []struct {
		name      string
		property  string // the schema of "x"
		arguments string
		want      string // the value of MCP_ARG_X
	}{
		{"string", `{"type":"string"}`, `{"x":"a b"}`, "a b"},
		{"escapes", `{"type":"string"}`, `{"x":"\u00e9\n\"🐈"}`, "é\n\"🐈"},
		{"integer", `{"type":"integer"}`, `{"x":7}`, "7"},
		{"integer above 2^53", `{"type":"integer"}`, `{"x":9007199254740993}`, "9007199254740993"},
		{"least int64", `{"type":"integer"}`, `{"x":-9223372036854775808}`, "-9223372036854775808"},
		{"greatest uint64", `{"type":"integer"}`, `{"x":18446744073709551615}`, "18446744073709551615"},
		{"integer with exponent", `{"type":"integer"}`, `{"x":1e3}`, "1000"},
		{"integer with a large exponent", `{"type":"integer"}`, `{"x":1E25}`, "10000000000000000000000000"},
		{"integer with point", `{"type":"integer"}`, `{"x":-12.50e1}`, "-125"},
		{"negative zero", `{"type":"integer"}`, `{"x":-0}`, "-0"},
		{"number as written", `{"type":"number"}`, `{"x":1e-05}`, "1e-05"},
		{"number with zeros", `{"type":"number"}`, `{"x":1.50}`, "1.50"},
		{"number that is whole", `{"type":"number"}`, `{"x":1e3}`, "1e3"},
		{"true", `{"type":"boolean"}`, `{"x":true}`, "true"},
		{"false", `{"type":"boolean"}`, `{"x":false}`, "false"},
		{"one of several types", `{"type":["integer","string"]}`, `{"x":12}`, "12"},
		{"absent", `{"type":"string"}`, `{}`, ""},
		{"null", `{"type":["string","null"]}`, `{"x":null}`, ""},
		{"null wins over the default", `{"type":["string","null"],"default":"d"}`, `{"x":null}`, ""},
		{"default", `{"type":"string","default":"d"}`, `{}`, "d"},
		{"default integer", `{"type":"integer","default":1e2}`, `{}`, "100"},
		{"default false", `{"type":"boolean","default":false}`, `{}`, "false"},
		{"empty wins over the default", `{"type":"string","default":"d"}`, `{"x":""}`, ""},
	}
	// Kubernetes expands nothing of these, and no shell reads them.
	for _, text := range []string{
		"$(DB_PASSWORD)", "$$(DB_PASSWORD)", "$$$(DB_PASSWORD)", "a$b", "$", "$(", "$$", "$$$", "$(A)$(B", "a$", "${HOME}", "$é",
		"; touch /tmp/pwn", "$(id)", "`id`", `"; exit 0; #`, `'\''`, "a\nb", "{{workflow.name}}", "$(params.x)", "%s%n", "🐈",
		" -x", "-", "--",
	} {
		tests = append(tests, struct{ name, property, arguments, want string }{
			"text " + text, `{"type":"string"}`, fmt.Sprintf(`{"x":%q}`, text), text,
		})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tool := aTool().property(tt.property).args("--x=$(MCP_ARG_X)", "--author=$(AUTHOR)").env("AUTHOR", "<$(MCP_ARG_X)>").
				main(func(c *corev1.Container) {
					c.Env = append(c.Env, corev1.EnvVar{Name: "DB_PASSWORD", ValueFrom: &corev1.EnvVarSource{}})
				}).obj()
			task := aTask().arguments(tt.arguments).obj()
			job, err := Build(tool, task)
			if err != nil {
				t.Fatal(err)
			}
			env, args := seen(&job.Spec.Template.Spec.Containers[0])
			if env["MCP_ARG_X"] != tt.want {
				t.Errorf("MCP_ARG_X = %q, want %q", env["MCP_ARG_X"], tt.want)
			}
			if want := []string{"--x=" + tt.want, "--author=<" + tt.want + ">"}; !cmp.Equal(args, want) {
				t.Errorf("args = %q, want %q", args, want)
			}
			if got := job.Spec.Template.Annotations[v1alpha1.AnnotationArguments]; got != tt.arguments {
				t.Errorf("file = %q, want %q", got, tt.arguments)
			}
		})
	}
}

func TestEnvironmentHasDeclaredScalarsOnly(t *testing.T) {
	tool := aTool().property(`{"type":"string"}`).obj()
	task := aTask().arguments(`{"x":"1","list":["a"],"undeclared":"b","PATH":"/tmp","namespace":"other",` +
		`"serviceAccountName":"admin"}`).obj()
	job, err := Build(tool, task)
	if err != nil {
		t.Fatal(err)
	}
	want := []corev1.EnvVar{{Name: "MCP_ARG_N"}, {Name: "MCP_ARG_X", Value: "1"}, {Name: "MCP_ARG_Y"}}
	if diff := cmp.Diff(want, job.Spec.Template.Spec.Containers[0].Env); diff != "" {
		t.Errorf("env (-want +got):\n%s", diff)
	}
	if job.Namespace != "team-a" || job.Spec.Template.Spec.ServiceAccountName != "" {
		t.Errorf("namespace %q, service account %q", job.Namespace, job.Spec.Template.Spec.ServiceAccountName)
	}
}

func TestVariableNames(t *testing.T) {
	tests := map[string]string{
		"environment": "MCP_ARG_ENVIRONMENT", "dry-run": "MCP_ARG_DRY_RUN", "db.host": "MCP_ARG_DB_HOST", "dryRun": "MCP_ARG_DRYRUN",
		"x1_y": "MCP_ARG_X1_Y", "1": "MCP_ARG_1",
	}
	for property, want := range tests {
		if got, err := variableName(property); got != want || err != nil {
			t.Errorf("variableName(%q) = %q, %v; want %q", property, got, err, want)
		}
	}
	for _, property := range []string{"", "a b", "a$b", "a=b", "ä", "a\x00", "a/b"} {
		if got, err := variableName(property); err == nil {
			t.Errorf("variableName(%q) = %q, want an error", property, got)
		}
	}
}

// What the environment cannot hold is left out, unless the template needs it there.
func TestEnvironmentLimits(t *testing.T) {
	long := strings.Repeat("v", maxValue+1)
	dollars := strings.Repeat("$", maxValue)
	tests := []struct {
		name       string
		arguments  string
		containers int
		omitted    string // the property that is left out
		why        string
	}{
		{"longest value", `{"x":"` + long[1:] + `"}`, 1, "", ""},
		{"value too long", `{"x":"` + long + `"}`, 1, "x", "/x: cannot be put on the command line of this tool: it has 65537 " +
			"bytes, more than the 65536"},
		{"NUL", `{"x":"a\u0000b"}`, 1, "x", "/x: cannot be put on the command line of this tool: it contains a NUL character"},
		{"twice the longest, doubled", `{"x":"` + dollars[:60000] + `","y":"` + dollars[:60000] + `"}`, 2, "", ""},
		{"too much for many containers", `{"x":"` + long[1:] + `","y":"short"}`, 9, "x",
			"/x: cannot be put on the command line of this tool: the arguments and answers together"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := aTool().property(`{"type":"string"}`).pod(func(p *corev1.PodTemplateSpec) {
				for i := 1; i < tt.containers; i++ {
					p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: fmt.Sprintf("i%d", i)})
				}
			})
			task := aTask().arguments(tt.arguments).obj()
			job, err := Build(b.obj(), task)
			if err != nil {
				t.Fatal(err)
			}
			size := 0
			for _, c := range append(job.Spec.Template.Spec.InitContainers, job.Spec.Template.Spec.Containers...) {
				env := map[string]bool{}
				for _, v := range c.Env {
					env[v.Name] = true
					size += len(v.Name) + len(v.Value)
				}
				if env["MCP_ARG_X"] != (tt.omitted != "x") || !env["MCP_ARG_Y"] {
					t.Errorf("%s: has x: %t, has y: %t; want all but %q", c.Name, env["MCP_ARG_X"], env["MCP_ARG_Y"], tt.omitted)
				}
			}
			if size > maxEnvironment {
				t.Errorf("%d bytes in all", size)
			}
			if got := job.Spec.Template.Annotations[v1alpha1.AnnotationArguments]; got != tt.arguments {
				t.Error("the file is not what the caller sent")
			}

			needed := b.args("--x=$(MCP_ARG_X)").obj()
			_, err = Build(needed, task)
			checkProblem(t, err, v1alpha1.ReasonRejected, tt.why)
			checkProblem(t, checkArguments(t, needed, tt.arguments), v1alpha1.ReasonRejected, tt.why)
		})
	}
}
