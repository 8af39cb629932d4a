package job

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/question"
)

// Words of the annotation v1alpha1.AnnotationUnsafe.
const (
	allowShell = "shell"
	allowDash  = "dash"
)

// An inspection looks at every text of a template that Kubernetes expands.
type inspection struct {
	declared map[string]variable
	allowed  map[string]bool
	// unknown are mistakes: references to variables that do not exist.
	unknown field.ErrorList
	// unsafe are places where an argument could become code or an option.
	unsafe field.ErrorList
	// used are the variables that the template refers to.
	used map[string]bool
}

// inspect looks through a template's pod.
func inspect(pod *corev1.PodSpec, at *field.Path, variables []variable, allowed map[string]bool) *inspection {
	in := &inspection{declared: map[string]variable{}, allowed: allowed, used: map[string]bool{}}
	for _, v := range variables {
		in.declared[v.name] = v
	}
	for i := range pod.InitContainers {
		in.container(&pod.InitContainers[i], at.Child("initContainers").Index(i))
	}
	for i := range pod.Containers {
		in.container(&pod.Containers[i], at.Child("containers").Index(i))
	}
	return in
}

func (in *inspection) container(c *corev1.Container, at *field.Path) {
	// Variables refer to those before them, as the kubelet has it.
	makeups := map[string]makeup{}
	for name := range in.declared {
		makeups[name] = makeup{uses: []string{name}, leads: []string{name}}
	}
	for i := range c.Env {
		in.check(c.Env[i].Value, at.Child("env").Index(i).Child("value"))
		m := compose(c.Env[i].Value, makeups)
		if c.Env[i].ValueFrom != nil {
			m = makeup{solid: true}
		}
		makeups[c.Env[i].Name] = m
	}
	for i := range c.VolumeMounts {
		path := at.Child("volumeMounts").Index(i).Child("subPathExpr")
		in.check(c.VolumeMounts[i].SubPathExpr, path)
		in.shown(compose(c.VolumeMounts[i].SubPathExpr, makeups), path)
	}

	var argv []element
	for i, text := range c.Command {
		argv = append(argv, element{text, at.Child("command").Index(i)})
	}
	for i, text := range c.Args {
		argv = append(argv, element{text, at.Child("args").Index(i)})
	}
	in.argv(argv, len(c.Command) == 0, makeups)
	for _, command := range execs(c, at) {
		in.argv(command, false, makeups)
		for _, e := range command {
			in.shown(compose(e.text, makeups), e.at)
		}
	}
}

// An element is one text of an argv and its place in the tool.
type element struct {
	text string
	at   *field.Path
}

// execs are the commands that probes and hooks of a container run.
func execs(c *corev1.Container, at *field.Path) [][]element {
	var all [][]element
	add := func(exec *corev1.ExecAction, at *field.Path) {
		if exec == nil {
			return
		}
		var argv []element
		for i, text := range exec.Command {
			argv = append(argv, element{text, at.Child("exec", "command").Index(i)})
		}
		all = append(all, argv)
	}
	for _, probe := range []struct {
		name string
		*corev1.Probe
	}{{"livenessProbe", c.LivenessProbe}, {"readinessProbe", c.ReadinessProbe}, {"startupProbe", c.StartupProbe}} {
		if probe.Probe != nil {
			add(probe.Exec, at.Child(probe.name))
		}
	}
	if hooks := c.Lifecycle; hooks != nil {
		if hooks.PostStart != nil {
			add(hooks.PostStart.Exec, at.Child("lifecycle", "postStart"))
		}
		if hooks.PreStop != nil {
			add(hooks.PreStop.Exec, at.Child("lifecycle", "preStop"))
		}
	}
	return all
}

// argv inspects one command. Where the image names the program, anything may stand before it.
func (in *inspection) argv(argv []element, programUnknown bool, makeups map[string]makeup) {
	texts := make([]string, len(argv))
	for i, e := range argv {
		texts[i] = e.text
	}
	roles := roles(texts)
	afterDashes := false // only elements that begin with arguments stand between this one and "--"
	for i, e := range argv {
		in.check(e.text, e.at)
		m := compose(e.text, makeups)
		switch {
		case i == 0 && !programUnknown:
			in.program(m, e.at)
		case roles[i] == roleCode:
			in.code(m, e.at)
		case programUnknown && i == 1 && shell.classify(texts[0]) == codeNext:
			in.perhapsCode(m, e.at)
		case roles[i] == roleOther && !afterDashes:
			in.dash(m, e.at)
		}
		afterDashes = e.text == "--" || afterDashes && len(m.leads) > 0
	}
}

// check notes which variables a text refers to, and finds those that do not exist.
func (in *inspection) check(text string, at *field.Path) {
	for _, p := range split(text) {
		if !reserved(p.variable) {
			continue
		}
		in.used[p.variable] = true
		if _, ok := in.declared[p.variable]; !ok {
			who, prefix := "inputSchema declares no scalar property", VariablePrefix
			if strings.HasPrefix(p.variable, question.EnvPrefix) {
				who, prefix = "no schema of a question declares a scalar property", question.EnvPrefix
			}
			in.unknown = append(in.unknown, field.Invalid(at, shorten(text, 100), fmt.Sprintf(
				"%s for $(%s); declared are %s", who, p.variable, in.names(prefix))))
		}
	}
}

// names lists the variables with that prefix, for a message.
func (in *inspection) names(prefix string) string {
	names := slices.DeleteFunc(sortedKeys(in.declared), func(name string) bool { return !strings.HasPrefix(name, prefix) })
	if len(names) == 0 {
		return "none"
	}
	if len(names) > 10 {
		names = append(names[:10], "…")
	}
	return strings.Join(names, ", ")
}

// program refuses an argument that chooses the program, unless the author has listed the choices.
func (in *inspection) program(m makeup, at *field.Path) {
	in.shown(m, at)
	for _, name := range m.uses {
		if in.declared[name].property.Enum == nil && !in.allowed[allowShell] {
			in.unsafe = append(in.unsafe, field.Forbidden(at, fmt.Sprintf(
				"the caller would choose the program by $(%s): give %s an enum of the programs allowed", name, in.declared[name].what())))
		}
	}
}

// shown refuses a secret in a text that the kubelet and the container runtime put into messages and events: paths, the program,
// and what probes and hooks run.
func (in *inspection) shown(m makeup, at *field.Path) {
	for _, name := range m.uses {
		if in.declared[name].writeOnly {
			in.unsafe = append(in.unsafe, field.Forbidden(at, fmt.Sprintf(
				"%s is writeOnly, and what stands here is shown in events when it goes wrong: read it in the program, from $%s or %s",
				in.declared[name].what(), name, ArgumentsFile)))
		}
	}
}

// code refuses an argument within code.
func (in *inspection) code(m makeup, at *field.Path) {
	for _, name := range m.uses {
		if !in.allowed[allowShell] {
			in.unsafe = append(in.unsafe, field.Forbidden(at, fmt.Sprintf(
				"$(%s) is put into code before an interpreter reads it, so that the caller could run anything: read it there as data, "+
					`in a shell by "$%s" in double quotes, or from %s (or accept this with the annotation %s: %s)`,
				name, name, ArgumentsFile, v1alpha1.AnnotationUnsafe, allowShell)))
		}
	}
}

// perhapsCode refuses an argument behind -c for a program that is the image's, and so perhaps a shell, unless only listed
// values can stand there.
func (in *inspection) perhapsCode(m makeup, at *field.Path) {
	for _, name := range m.uses {
		if p := in.declared[name].property; p.Enum == nil && slices.Contains(p.Types, "string") && !in.allowed[allowShell] {
			in.unsafe = append(in.unsafe, field.Forbidden(at, fmt.Sprintf(
				"$(%s) follows -c, and if the image's entrypoint is a shell, the caller could run anything: name the program in command "+
					"(or accept this with the annotation %s: %s)", name, v1alpha1.AnnotationUnsafe, allowShell)))
		}
	}
}

// dash refuses an argument at the beginning of an argv element if it may begin with a dash.
func (in *inspection) dash(m makeup, at *field.Path) {
	for _, name := range m.leads {
		if in.declared[name].property.MayStartWith('-') && !in.allowed[allowDash] {
			in.unsafe = append(in.unsafe, field.Forbidden(at, fmt.Sprintf(
				"a value of %s that begins with \"-\" would be read as an option: give it an enum, or a pattern such as \"^[^-]\", or write "+
					"--option=$(%s), or put \"--\" before it (or accept this with the annotation %s: %s)",
				in.declared[name].what(), name, v1alpha1.AnnotationUnsafe, allowDash)))
		}
	}
}

// allowances reads the annotation v1alpha1.AnnotationUnsafe of a tool.
func allowances(tool *v1alpha1.MCPTool) (map[string]bool, error) {
	allowed := map[string]bool{}
	for word := range strings.SplitSeq(tool.Annotations[v1alpha1.AnnotationUnsafe], ",") {
		switch word = strings.TrimSpace(word); word {
		case "":
		case allowShell, allowDash:
			allowed[word] = true
		default:
			return nil, fmt.Errorf("unknown word %q; %q and %q are known", shorten(word, 40), allowShell, allowDash)
		}
	}
	return allowed, nil
}
