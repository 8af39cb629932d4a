package draft

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

var update = flag.Bool("update", false, "write the drafts into testdata/drafts instead of comparing them")

// TestDrafts compares the drafts of all manifests in testdata, and what is said about them, with those in testdata/drafts. What
// of the drafts is not supported is for package job to say, and may change.
func TestDrafts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no manifests", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			manifests, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			drafts, others, err := FromManifests(manifests, "mcptasks")
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, d := range drafts {
				fmt.Fprintf(&b, "%s# From: %s\n", d.YAML, d.From)
				for _, w := range d.Warnings {
					fmt.Fprintf(&b, "# Warning: %s\n", w)
				}
				for _, n := range d.Needs {
					fmt.Fprintf(&b, "# Needs: %s\n", n)
				}
			}
			for _, o := range others {
				fmt.Fprintf(&b, "# Left out: %s\n", o)
			}
			golden := filepath.Join("testdata", "drafts", name+".yaml")
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("the draft is another one (go test ./internal/draft -update writes it):\n%s", diff)
			}
		})
	}
}

// TestGuide: the Job of the guide has the draft, and the notes, that the guide shows.
func TestGuide(t *testing.T) {
	content, err := os.ReadFile("../../docs/how-to/from-a-job.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(content)
	_, rest, _ := strings.Cut(guide, "```yaml\n")
	manifest, _, found := strings.Cut(rest, "```\n")
	drafts, _, err := FromManifests([]byte(manifest), "")
	if !found || err != nil {
		t.Fatal("the guide has no manifest of a Job", err)
	}
	notes := slices.Clone(drafts[0].Warnings)
	if drafts[0].NotReady != "" {
		t.Error(drafts[0].NotReady)
	}
	notes = append(notes, "needs in the namespace of each tenant that calls it: "+strings.Join(drafts[0].Needs, ", "))
	for _, note := range notes {
		if line := drafts[0].From + ": " + note + "\n"; !strings.Contains(guide, line) {
			t.Errorf("the guide does not show: %s", line)
		}
	}
	properties := string(parse(t, drafts[0].YAML).Spec.InputSchema.Raw)
	for _, want := range []string{`"directory":{"default":"uploads","enum":["uploads"]`, `"days":{"default":30,"enum":[30]`} {
		if !strings.Contains(properties, want) {
			t.Errorf("the draft proposes %s, want %s in it", properties, want)
		}
	}
}

// TestNotReady: what the author has to change first is told with the draft.
func TestNotReady(t *testing.T) {
	for name, test := range map[string]struct{ container, want string }{
		"fine":              {`"workingDir": "/"`, ""},
		"its directory":     {`"volumeMounts": [{"name": "v", "mountPath": "/mcp"}]`, "mountPath"},
		"a name of its own": {`"env": [{"name": "MCP_ARG_X", "value": "x"}, {"name": "Y", "value": "y"}]`, "MCP_ARG_"},
	} {
		t.Run(name, func(t *testing.T) {
			stream := `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": {"template": {"spec": {"containers": [
				{"name": "c", "image": "i", ` + test.container + `}]}}}}`
			drafts, _, err := FromManifests([]byte(stream), "")
			if err != nil {
				t.Fatal(err)
			}
			if why := drafts[0].NotReady; (why == "") != (test.want == "") || !strings.Contains(why, test.want) {
				t.Errorf("NotReady is %q, want %q in it", why, test.want)
			}
		})
	}
}

// TestRefusals are streams that no draft can be made of.
func TestRefusals(t *testing.T) {
	for name, test := range map[string]struct{ stream, want string }{
		"nothing":        {"# nothing\n---\n", "there is no Job"},
		"no Job":         {"apiVersion: v1\nkind: Pod\n", "there is no Job"},
		"another Job":    {"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\n", "there is no Job"},
		"a template":     {"kind: Job\nmetadata:\n  name: {{ .Release.Name }}\n  {{- end }}\n", "render it first"},
		"no object":      {"- a\n- b\n", "document 1: this is no Kubernetes object"},
		"no kind":        {"---\nname: x\n", "no kind"},
		"no containers":  {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\n", "Job x has no containers"},
		"a wrong type":   {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\nspec: {backoffLimit: many}\n", "backoffLimit"},
		"the same twice": {"apiVersion: batch/v1\nkind: Job\nkind: CronJob\n", "already set"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := FromManifests([]byte(test.stream), ""); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// TestNoSecretIsOffered: whatever holds a secret stays where it is, and its value is in no schema.
func TestNoSecretIsOffered(t *testing.T) {
	for _, name := range []string{
		"PASSWORD", "DB_PASSWORD", "MYSQL_PWD", "PGPASS", "API_TOKEN", "AWS_SECRET_ACCESS_KEY", "apiKey", "PRIVATE_KEY", "KEY",
		"SSH_PASSPHRASE", "GOOGLE_CREDENTIALS", "BASIC_AUTH", "client-secret",
	} {
		stream := fmt.Sprintf(`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": {"template": {"spec": {
			"containers": [{
				"name": "c", "image": "i", "env": [{"name": %q, "value": "hunter2"}], "args": [%q, "-u", "--%s", "hunter2"]
			}]}}}}`, name, "--"+name+"=hunter2", name)
		drafts, _, err := FromManifests([]byte(stream), "")
		if err != nil {
			t.Fatal(err)
		}
		tool := parse(t, drafts[0].YAML)
		if strings.Contains(string(tool.Spec.InputSchema.Raw), "hunter2") {
			t.Errorf("%s is offered to callers: %s", name, tool.Spec.InputSchema.Raw)
		}
		if warnings := strings.Join(drafts[0].Warnings, "\n"); strings.Count(warnings, "looks like a secret") != 3 {
			t.Errorf("%s: the warnings are %s", name, warnings)
		}
	}
}

func parse(t *testing.T, document []byte) *v1alpha1.MCPTool {
	t.Helper()
	tool := &v1alpha1.MCPTool{}
	if err := yaml.UnmarshalStrict(document, tool); err != nil {
		t.Fatalf("%v:\n%s", err, document)
	}
	return tool
}

// FuzzFromManifests: what is read ends as a draft that can be read, and in which no argument can become code or an option; or as
// an error.
func FuzzFromManifests(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		manifests, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(manifests)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		drafts, _, err := FromManifests(stream, "ns")
		if err != nil {
			return
		}
		for _, d := range drafts {
			tool := parse(t, d.YAML)
			var problem *job.Problem
			if err := job.Check(tool); errors.As(err, &problem) && problem.Reason == v1alpha1.ToolReasonUnsafeArgument {
				t.Errorf("%s\n%s", problem.Message, d.YAML)
			}
		}
	})
}

// TestTexts are texts that YAML would like to read as something else: each comes back as it was.
func TestTexts(t *testing.T) {
	for _, s := range []string{
		"", "plain", "two words", "yes", "No", "on", "y", "null", "~", "true", "0777", "1e3", "1:30", "2026-01-01", "-", "- a", "a: b",
		"a #b", "#", "*a", "&a", "!x", "%d", "@x", "`x`", "{a}", "[a]", "'", `"`, `\`, "a\tb", "\ta", "a\n", "a\nb", "\na", " a\nb",
		"a \nb", "a\n\n", "a\r\nb", "\x00", "\x1b[31m", "\u2028", "\u0085", "é🐈", "$(X)", "a\n  b\n c\n", "? a", "| a", "> a", "=",
		"<<", ".inf", "a:", "trailing ", "--- a", "...", "\ufeffx",
	} {
		tool := newTree()
		tool.set("text", text(s))
		document, err := tool.write("comment")
		if err != nil {
			t.Errorf("%q: %v", s, err)
			continue
		}
		var got map[string]any
		if err := yaml.Unmarshal(document, &got); err != nil || got["text"] != s {
			t.Errorf("%q came back as %q (%v):\n%s", s, got["text"], err, document)
		}
	}
}
