package draft

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

// An argument is a property that the draft proposes, with the places of the template where its value stands.
type argument struct {
	property string
	variable string // without the prefix
	kind     string // JSON Schema's type
	value    string
	origins  []string
	// places are set to the value of the call.
	places []*string
	// quote: a shell script reads it, and has to put it into double quotes.
	quote bool
}

// maxValue is how long a text may be that is proposed, in bytes. What is longer is a program or a document.
const maxValue = 256

var (
	// secret are names of what must not become an argument, which everybody may read who may read MCPTasks.
	secret = regexp.MustCompile(`(?i)pass(word|wd|phrase)?$|_pwd$|secret|token|credential|` +
		`(api|access|private|signing|encryption)[_.-]?key|^key$|auth$`)
	// userinfo is a password in an address.
	userinfo = regexp.MustCompile(`://[^/\s]*:[^/\s]*@`)
	// setup are environment variables that say how a program runs, not what it does; some of them choose code.
	setup = regexp.MustCompile(`(?i)^(PATH|HOME|SHELL|USER|LOGNAME|PWD|TERM|TZ|LANG|LC_.*|TMPDIR|HOSTNAME|IFS|ENV|BASH_.*|LD_.*|` +
		`PYTHON.*|NODE_.*|PERL.*|RUBY.*|.*JAVA.*OPT.*|JVM_.*|MAVEN_.*|GIT_.*|GO(PATH|ROOT|PROXY|FLAGS|ENV|MAXPROCS|MEMLIMIT)|` +
		`KUBECONFIG|.*_PROXY)$`)
	wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,14})$`)
	// assigned is an option with its value; those of Java's machine, -Dname=value, are not meant.
	assigned = regexp.MustCompile(`^(--?)([A-Za-z][A-Za-z0-9._-]*)=(.*)$`)
	// long is an option whose value may be the next word.
	long = regexp.MustCompile(`^--([A-Za-z][A-Za-z0-9._-]*)$`)
)

// proposer looks for what callers may choose.
type proposer struct {
	draft     *draft
	arguments []*argument
	taken     map[string]bool // variables
}

// propose proposes arguments and puts their variables into the template.
func (d *draft) propose() []*argument {
	p := &proposer{draft: d, taken: map[string]bool{}}
	if !p.safe() {
		return nil // Something else is in the way, which the author hears of.
	}
	pod := &d.template.Spec.Template.Spec
	for i := range pod.InitContainers {
		p.container(&pod.InitContainers[i])
	}
	p.container(&pod.Containers[0]) // the others are sidecars
	return p.arguments
}

func (p *proposer) container(c *corev1.Container) {
	script := script(c)
	for i := range c.Env {
		e := &c.Env[i]
		if e.ValueFrom != nil || setup.MatchString(e.Name) {
			continue
		}
		a := p.offer(e.Name, &e.Value, e.Value, "", fmt.Sprintf("the environment variable %s of the container %s", e.Name, c.Name))
		if a != nil && script != "" && usesVariable(script, e.Name) {
			a.quote = true
		}
	}
	for _, argv := range [][]string{c.Command, c.Args} {
		p.argv(c, argv)
	}
}

// argv proposes the values of options.
func (p *proposer) argv(c *corev1.Container, argv []string) {
	for i := range argv {
		origin := func(option string) string { return fmt.Sprintf("the option %s of the container %s", option, c.Name) }
		if m := assigned.FindStringSubmatch(argv[i]); m != nil && (m[1] == "--" || strings.ToLower(m[2][:1]) == m[2][:1]) {
			prefix := strings.TrimSuffix(argv[i], m[3])
			p.offer(m[2], &argv[i], m[3], prefix, origin(m[1]+m[2]))
			continue
		}
		m := long.FindStringSubmatch(argv[i])
		if m != nil && i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "-") {
			p.offer(m[1], &argv[i+1], argv[i+1], "", origin(argv[i]))
		}
	}
}

// offer proposes the value that stands at a place behind a prefix, unless there is a reason not to.
func (p *proposer) offer(name string, place *string, value, prefix, origin string) *argument {
	if secret.MatchString(name) || userinfo.MatchString(value) {
		if value != "" && !strings.Contains(value, "$(") {
			p.draft.warn("%s looks like a secret, and everybody who may read MCPTools can read it. Put it into a Secret and refer to "+
				"that by secretKeyRef. It is not offered to callers.", origin)
		}
		return nil
	}
	// What Kubernetes expands is no literal value.
	if value == "" || len(value) > maxValue || strings.Contains(value, "$(") || strings.ContainsAny(value, "\r\n\x00") {
		return nil
	}
	value = strings.ReplaceAll(value, "$$", "$")
	a := p.argument(name, value)
	before := *place
	*place = prefix + "$(" + job.VariablePrefix + a.variable + ")"
	if !slices.Contains(p.arguments, a) {
		p.arguments = append(p.arguments, a)
	}
	if !p.safe() {
		*place = before
		if len(a.places) == 0 {
			p.arguments = slices.DeleteFunc(p.arguments, func(other *argument) bool { return other == a })
			delete(p.taken, a.variable)
		}
		p.draft.warn("%s is not offered to callers: its value would be read as code there, or as an option.", origin)
		return nil
	}
	a.places, a.origins = append(a.places, place), append(a.origins, origin)
	return a
}

// argument is the one of a name and value: a new one, unless another place has led to the same.
func (p *proposer) argument(name, value string) *argument {
	property := propertyName(name)
	for _, a := range p.arguments {
		if a.property == property && a.value == value {
			return a
		}
	}
	base := property
	for n := 2; p.taken[variableOf(property)]; n++ {
		property = fmt.Sprintf("%s_%d", base, n)
	}
	a := &argument{property: property, variable: variableOf(property), kind: "string", value: value}
	switch {
	case value == "true" || value == "false":
		a.kind = "boolean"
	case wholeNumber.MatchString(value):
		a.kind = "integer"
	}
	p.taken[a.variable] = true
	return a
}

// propertyName is the name of a property for a variable or option: in lower case and with "_".
func propertyName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		default:
			return '_'
		}
	}, name)
	name = name[:min(len(name), 64)]
	if strings.ToUpper(name) == name {
		name = strings.ToLower(name)
	}
	return name
}

func variableOf(property string) string { return strings.ToUpper(property) }

// safe asks package job about a tool that has the arguments proposed so far and nothing but what the containers run.
func (p *proposer) safe() bool {
	tool := &v1alpha1.MCPTool{}
	tool.Name = "draft"
	properties := map[string]any{}
	for _, a := range p.arguments {
		properties[a.property] = map[string]any{"type": a.kind, "enum": []any{a.typed()}}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
	if err != nil {
		return false
	}
	tool.Spec.InputSchema = &apiextensionsv1.JSON{Raw: schema}
	bare := func(containers []corev1.Container) (all []corev1.Container) {
		for _, c := range containers {
			all = append(all, corev1.Container{
				Name: c.Name, Command: c.Command, Args: c.Args, Env: c.Env, LivenessProbe: c.LivenessProbe,
				ReadinessProbe: c.ReadinessProbe, StartupProbe: c.StartupProbe, Lifecycle: c.Lifecycle,
			})
		}
		return all
	}
	pod, from := &tool.Spec.JobTemplate.Spec.Template.Spec, &p.draft.template.Spec.Template.Spec
	pod.InitContainers, pod.Containers = bare(from.InitContainers), bare(from.Containers)
	return job.Check(tool) == nil
}

// typed is the argument's value in the type of its schema.
func (a *argument) typed() any {
	switch a.kind {
	case "boolean":
		return a.value == "true"
	case "integer":
		return json.Number(a.value)
	default:
		return a.value
	}
}

// script is the shell script that a container runs; "" where it runs none.
func script(c *corev1.Container) string {
	argv := slices.Concat(c.Command, c.Args)
	for i := range argv {
		if !slices.Contains([]string{"sh", "bash", "ash", "dash", "ksh", "zsh"}, path.Base(argv[i])) {
			continue
		}
		for j := i + 1; j+1 < len(argv) && strings.HasPrefix(argv[j], "-"); j++ {
			if !strings.HasPrefix(argv[j], "--") && strings.HasSuffix(argv[j], "c") {
				return argv[j+1]
			}
		}
	}
	return ""
}

// usesVariable reports whether a shell script reads an environment variable.
func usesVariable(script, name string) bool {
	return regexp.MustCompile(`\$\{?` + regexp.QuoteMeta(name) + `\b`).MatchString(script)
}
