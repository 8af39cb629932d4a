package api

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/integration/setup"
)

const day = 24 * time.Hour

func keepFor(d time.Duration) v1alpha1.Retention {
	return v1alpha1.Retention{Task: &metav1.Duration{Duration: d}, Job: metav1.Duration{Duration: d}}
}

// TestToolDefaults: what an author leaves out gets the documented defaults.
func TestToolDefaults(t *testing.T) {
	needCluster(t)
	manifest := map[string]any{
		"apiVersion": "mcptasks.dev/v1alpha1", "kind": "MCPTool", "metadata": map[string]any{"name": "defaults"},
		"spec": map[string]any{
			"description": "says hello",
			"jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"team": "a"}},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": "hello"}}},
			}}},
		},
	}
	if out, err := kubectl(t, manifest, "apply", "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var tool v1alpha1.MCPTool
	if err := cluster.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "defaults"}, &tool); err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.Execution{
		Mode:            v1alpha1.ModeOptional,
		BlockFor:        metav1.Duration{Duration: 25 * time.Second},
		PollInterval:    metav1.Duration{Duration: 2 * time.Second},
		StartupDeadline: metav1.Duration{Duration: 10 * time.Minute},
		QueueDeadline:   metav1.Duration{Duration: 24 * time.Hour},
		Deadline:        metav1.Duration{Duration: time.Hour},
		Retention:       v1alpha1.Retention{Task: &metav1.Duration{Duration: day}, Job: metav1.Duration{Duration: time.Hour}},
	}
	if diff := cmp.Diff(want, tool.Spec.Execution); diff != "" {
		t.Errorf("execution: %s", diff)
	}
	if r := tool.Spec.Result; r.From != v1alpha1.ResultFromLogs || r.Limit.String() != "256Ki" {
		t.Errorf("result: %+v", r)
	}
	if tool.Spec.JobTemplate.Spec.Template.Labels["team"] != "a" {
		t.Error("the template's labels were dropped")
	}
}

// TestKubectlApplyRefusesTypos: an author learns of a misspelt field at once, also deep in the template.
func TestKubectlApplyRefusesTypos(t *testing.T) {
	needCluster(t)
	for name, tc := range map[string]struct{ before, after, field string }{
		"container":         {`"image"`, `"imagee"`, `spec.jobTemplate.spec.template.spec.containers[0].imagee`},
		"template metadata": {`"labels"`, `"labls"`, `spec.jobTemplate.spec.template.metadata.labls`},
		"our own":           {`"description"`, `"describe"`, `spec.describe`},
	} {
		t.Run(name, func(t *testing.T) {
			good := newTool()
			good.TypeMeta = metav1.TypeMeta{APIVersion: "mcptasks.dev/v1alpha1", Kind: "MCPTool"}
			good.GenerateName, good.Name = "", "typo"
			good.Spec.JobTemplate.Spec.Template.Labels = map[string]string{"team": "a"}
			text, err := json.Marshal(good)
			if err != nil {
				t.Fatal(err)
			}
			bad := json.RawMessage(strings.Replace(string(text), tc.before, tc.after, 1))
			out, err := kubectl(t, bad, "apply", "-f", "-")
			if err == nil || !strings.Contains(out, `unknown field "`+tc.field+`"`) {
				t.Errorf("error %v, output %q; want a refusal that names %s", err, out, tc.field)
			}
		})
	}
}

// TestKubectlExplain: our own fields are documented in the cluster; Kubernetes' own are not, twice.
func TestKubectlExplain(t *testing.T) {
	needCluster(t)
	for field, want := range map[string]string{
		"mcptool.spec.jobTemplate":                  "is the Job that a call becomes",
		"mcptool.spec.execution.retention.task":     "how long the MCPTask",
		"mcptask.status.state":                      "state on the wire",
		"mcptool.spec.jobTemplate.spec.completions": "<empty>",
	} {
		out, err := kubectl(t, nil, "explain", field)
		if err != nil || !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("kubectl explain %s: error %v, output lacks %q:\n%s", field, err, want, out)
		}
	}
}

func kubectl(t *testing.T, stdin any, args ...string) (string, error) {
	t.Helper()
	program := os.Getenv("MCPTASKS_KUBECTL")
	if program == "" {
		t.Fatal("MCPTASKS_KUBECTL is not set; make test-integration sets it")
	}
	args = append(args, "--kubeconfig", os.Getenv(setup.Kubeconfig), "--namespace", namespace)
	cmd := exec.CommandContext(t.Context(), program, args...)
	if stdin != nil {
		text, err := json.Marshal(stdin)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdin = strings.NewReader(string(text))
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestToolRules: what the API server refuses, in words an author understands, and what it accepts at the same limits.
func TestToolRules(t *testing.T) {
	needCluster(t)
	execution := func(change func(*v1alpha1.Execution)) func(*v1alpha1.MCPTool) {
		return func(tool *v1alpha1.MCPTool) { change(&tool.Spec.Execution) }
	}
	blockFor := func(d time.Duration) func(*v1alpha1.MCPTool) {
		return execution(func(e *v1alpha1.Execution) { e.BlockFor.Duration = d })
	}
	deadline := func(d time.Duration) func(*v1alpha1.MCPTool) {
		return execution(func(e *v1alpha1.Execution) { e.Deadline.Duration = d })
	}
	keptTask := func(d time.Duration) func(*v1alpha1.MCPTool) {
		return execution(func(e *v1alpha1.Execution) { e.Retention.Task.Duration = d })
	}
	limit := func(q string) func(*v1alpha1.MCPTool) {
		return func(tool *v1alpha1.MCPTool) { tool.Spec.Result.Limit = resource.MustParse(q) }
	}
	polls := func(least, most time.Duration) func(*v1alpha1.MCPTool) {
		return execution(func(e *v1alpha1.Execution) { e.PollInterval.Duration, e.MaxPollInterval.Duration = least, most })
	}
	toolName := func(name string) func(*v1alpha1.MCPTool) {
		return func(tool *v1alpha1.MCPTool) { tool.Spec.Name = name }
	}
	objectName := func(name string) func(*v1alpha1.MCPTool) {
		return func(tool *v1alpha1.MCPTool) { tool.GenerateName, tool.Name = "", name }
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.MCPTool)
		err    string // empty: accepted
	}{
		"as small as can be":       {func(*v1alpha1.MCPTool) {}, ""},
		"name":                     {toolName("Run_migration.v2/x-1"), ""},
		"S-83: with a space":       {toolName("run migration"), "spec.name"},
		"name of 64 characters":    {toolName(strings.Repeat("n", 64)), ""},
		"S-83: 65 characters":      {toolName(strings.Repeat("n", 65)), "spec.name"},
		"object of 63 characters":  {objectName(strings.Repeat("n", 63)), ""},
		"object of 64 characters":  {objectName(strings.Repeat("n", 64)), "at most 63 characters"},
		"S-83: no description":     {func(tool *v1alpha1.MCPTool) { tool.Spec.Description = "" }, "spec.description"},
		"unknown mode":             {execution(func(e *v1alpha1.Execution) { e.Mode = "Sometimes" }), "spec.execution.mode"},
		"blockFor 1s":              {blockFor(time.Second), ""},
		"blockFor 11m":             {blockFor(11 * time.Minute), "from 1s to 10m"},
		"pollInterval 99ms":        {execution(func(e *v1alpha1.Execution) { e.PollInterval.Duration = 99e6 }), "from 100ms to 1h"},
		"pollInterval 1m alone":    {polls(time.Minute, 0), ""},
		"maxPollInterval 61m":      {polls(time.Second, 61*time.Minute), "from 100ms to 1h"},
		"maxPollInterval equal":    {polls(time.Minute, time.Minute), ""},
		"maxPollInterval below":    {polls(time.Minute, time.Minute-time.Millisecond), "must not be shorter than pollInterval"},
		"queueDeadline 1ms":        {execution(func(e *v1alpha1.Execution) { e.QueueDeadline.Duration = 1e6 }), "1s to 8760h"},
		"startupDeadline 25h":      {execution(func(e *v1alpha1.Execution) { e.StartupDeadline.Duration = 25 * day }), "1s to 24h"},
		"deadline 720h":            {deadline(720 * time.Hour), ""},
		"deadline half a second":   {deadline(5e8), "from 1s to 720h"},
		"A16: deadline gone by":    {deadline(-time.Hour), "from 1s to 720h"},
		"retries 20":               {execution(func(e *v1alpha1.Execution) { e.Retries = 20 }), ""},
		"retries 21":               {execution(func(e *v1alpha1.Execution) { e.Retries = 21 }), "spec.execution.retries"},
		"A16: kept for no time":    {execution(func(e *v1alpha1.Execution) { e.Retention.Task.Duration = 0 }), "must be null or"},
		"A16: kept for ever":       {execution(func(e *v1alpha1.Execution) { e.Retention.Task = nil }), ""},
		"A16: kept for 999ms":      {keptTask(999 * time.Millisecond), "must be null or"},
		"A16: kept for 1.5s":       {keptTask(1500 * time.Millisecond), ""},
		"A16: kept for less":       {keptTask(-time.Second), "must be null or"},
		"A16: kept for 8761h":      {keptTask(8761 * time.Hour), "must be null or"},
		"A16: kept past integers":  {keptTask(1 << 31 * time.Second), "must be null or"},
		"Job removed at once":      {execution(func(e *v1alpha1.Execution) { e.Retention.Job.Duration = 0 }), ""},
		"limit 512Ki":              {limit("512Ki"), ""},
		"limit 513Ki":              {limit("513Ki"), "from 1 to 512Ki"},
		"limit -1":                 {limit("-1"), "from 1 to 512Ki"},
		"unknown source":           {func(tool *v1alpha1.MCPTool) { tool.Spec.Result.From = "Runtime" }, "spec.result.from"},
		"schema that is no object": {func(tool *v1alpha1.MCPTool) { tool.Spec.InputSchema = raw("true") }, "spec.inputSchema"},
		"no container": {
			func(tool *v1alpha1.MCPTool) { tool.Spec.JobTemplate.Spec.Template.Spec.Containers = nil }, "containers",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tool := newTool(tc.change)
			want := tool.Spec.Execution.Retention
			refused(t, cluster.Create(t.Context(), tool), tc.err)
			if tc.err == "" && !cmp.Equal(want, tool.Spec.Execution.Retention) {
				t.Errorf("retention %v became %v", want, tool.Spec.Execution.Retention)
			}
		})
	}
}

func raw(s string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(s)} }

// refused checks that err is a refusal with the words; no words: that there is none.
func refused(t *testing.T, err error, words string) {
	t.Helper()
	if words == "" && err != nil || words != "" && (err == nil || !strings.Contains(err.Error(), words)) {
		t.Errorf("error %v, want %q", err, words)
	}
}

// TestBindingRules: a binding has a bound of the one kind or the other.
func TestBindingRules(t *testing.T) {
	needCluster(t)
	one := resource.MustParse("1")
	number := v1alpha1.Binding{Field: "f", Value: "1", Max: &one}
	for name, tc := range map[string]struct {
		bindings []v1alpha1.Binding
		err      string // empty: accepted
	}{
		"number":   {[]v1alpha1.Binding{number}, ""},
		"text":     {[]v1alpha1.Binding{{Field: "f", Value: "'a'", Values: []string{"a"}}}, ""},
		"no bound": {[]v1alpha1.Binding{{Field: "f", Value: "1"}}, "a binding needs max"},
		"both bounds": {[]v1alpha1.Binding{{Field: "f", Value: "1", Max: &one, Values: []string{"a"}}},
			"a binding needs max"},
		"no expression":         {[]v1alpha1.Binding{{Field: "f", Max: &one}}, "spec.bindings[0].value"},
		"one field bound twice": {[]v1alpha1.Binding{number, number}, "spec.bindings[1]"},
	} {
		t.Run(name, func(t *testing.T) {
			tool := newTool(func(tool *v1alpha1.MCPTool) { tool.Spec.Bindings = tc.bindings })
			refused(t, cluster.Create(t.Context(), tool), tc.err)
		})
	}
}
