package draft

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	yamlv3 "go.yaml.in/yaml/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

// A Draft is the first draft of one MCPTool.
type Draft struct {
	// From names the object that the draft was made of: "Job pi".
	From string
	// YAML is the draft's manifest with comments for the author, one document that ends with a newline.
	YAML []byte
	// NotReady says, in the words of the Ready condition, why agents would not see the tool as it is; empty where nothing is known
	// that speaks against it.
	NotReady string
	// Warnings are sentences about what the author has to see to.
	Warnings []string
	// Needs are objects that have to exist in the namespace of each tenant that calls the tool: "Secret flyway".
	Needs []string
}

// FromManifests makes a draft of each Job and CronJob in a stream of YAML or JSON documents. namespace is that of the drafts;
// empty: they have none. others names the further objects of the stream, which are left out. It is an error if there is no Job.
func FromManifests(stream []byte, namespace string) (drafts []Draft, others []string, err error) {
	manifests, others, err := read(stream)
	if err != nil {
		return nil, nil, err
	}
	if len(manifests) == 0 {
		return nil, nil, errors.New("there is no Job or CronJob of batch/v1 in it")
	}
	for _, m := range manifests {
		d := newDraft(m, namespace)
		finished, err := d.finish()
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", m.what(), err)
		}
		drafts = append(drafts, finished)
	}
	return drafts, others, nil
}

// A draft is one in the making.
type draft struct {
	*manifest
	namespace string
	// name is the tool's metadata.name.
	name string
	// described is the tool's description; empty where the manifest has none.
	described string
	execution execution
	arguments []*argument
	// dropped are what the template does not have any more, with the reasons.
	dropped []string
	// added is what the template has besides, in words; "" where it has nothing.
	added    string
	user     bool // a user to run as was chosen
	warnings []string
}

// execution is what becomes of the Job's limits.
type execution struct {
	deadline, retention time.Duration // 0: the Job had none
	keep                bool          // retention was set
	retries             int32
	retriesSet          bool
	perIndex            bool
}

func newDraft(m *manifest, namespace string) *draft {
	d := &draft{manifest: m, namespace: namespace}
	d.name, d.described = d.toolName(), d.shortened(m.description())
	for _, field := range m.unknown {
		d.warn("%s: Kubernetes does not know this field; it is left out.", field)
	}
	d.leaveOut()
	d.arguments = d.propose()
	d.secure()
	return d
}

func (d *draft) warn(format string, args ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, args...))
}

// drop notes what is left out of the template, and why.
func (d *draft) drop(what, why string) {
	d.dropped = append(d.dropped, fmt.Sprintf("- %s: %s", what, why))
}

// maxDescription is how long the description of a tool may be, in characters.
const maxDescription = 4096

func (d *draft) shortened(description string) string {
	if characters := []rune(description); len(characters) > maxDescription {
		d.warn("The description has %d characters; a tool's has at most %d, so it was cut.", len(characters), maxDescription)
		return string(characters[:maxDescription])
	}
	return description
}

var notInNames = regexp.MustCompile(`[^a-z0-9.-]+`)

// toolName is the object's name, as far as tools can be called so.
func (d *draft) toolName() string {
	name := cmp.Or(d.meta.Name, d.meta.GenerateName)
	name = notInNames.ReplaceAllString(strings.ToLower(name), "-")
	name = strings.Trim(name[:min(len(name), 63)], "-.")
	if name == "" {
		d.warn("The manifest has no name, so the draft is called my-tool. Give it a better one.")
		return "my-tool"
	}
	return name
}

// Limits of MCPTools.
const (
	maxRetries   = 20
	maxDeadline  = 720 * time.Hour
	maxRetention = 8760 * time.Hour
)

// leaveOut takes out of the template what mcptasks sets itself, and moves it to the tool's execution.
func (d *draft) leaveOut() {
	if d.cron != nil {
		d.drop("the CronJob's schedule", "agents call a tool when they want to; keep the CronJob where it is to run by the clock too")
	}
	t := &d.template
	d.leaveOutMeta(&t.ObjectMeta, "metadata")
	d.leaveOutMeta(&t.Spec.Template.ObjectMeta, "spec.template.metadata")

	s := &t.Spec
	d.execution.perIndex = s.BackoffLimitPerIndex != nil
	if d.execution.perIndex && s.BackoffLimit != nil {
		d.drop("spec.backoffLimit", "a tool with backoffLimitPerIndex has no limit for all indexes together")
		s.BackoffLimit = nil
	}
	if s.BackoffLimit != nil {
		d.execution.retries, d.execution.retriesSet = min(*s.BackoffLimit, maxRetries), true
		if *s.BackoffLimit > maxRetries {
			d.warn("backoffLimit is %d; a tool has at most %d retries.", *s.BackoffLimit, maxRetries)
		}
		d.drop("spec.backoffLimit", "is execution.retries")
		s.BackoffLimit = nil
	}
	pod := &s.Template.Spec
	for _, limit := range []struct {
		at    string
		value **int64
	}{{"spec.activeDeadlineSeconds", &s.ActiveDeadlineSeconds},
		{"spec.template.spec.activeDeadlineSeconds", &pod.ActiveDeadlineSeconds}} {
		if *limit.value == nil {
			continue
		}
		seconds := max(**limit.value, 1)
		if longest := int64(maxDeadline / time.Second); seconds > longest {
			d.warn("%s is %d; a tool may run for at most %d seconds.", limit.at, seconds, longest)
			seconds = longest
		}
		if deadline := time.Duration(seconds) * time.Second; d.execution.deadline == 0 || deadline < d.execution.deadline {
			d.execution.deadline = deadline
		}
		d.drop(limit.at, "is execution.deadline, which counts from when a pod runs")
		*limit.value = nil
	}
	if s.TTLSecondsAfterFinished != nil {
		d.execution.retention = min(time.Duration(*s.TTLSecondsAfterFinished)*time.Second, maxRetention)
		d.execution.keep = true
		d.drop("spec.ttlSecondsAfterFinished",
			"is execution.retention.job, which counts from when the result is on the record and so loses none")
		s.TTLSecondsAfterFinished = nil
	}
	if s.PodReplacementPolicy != nil && *s.PodReplacementPolicy != batchv1.Failed {
		d.drop("spec.podReplacementPolicy", "is always Failed, so that a tool never runs twice at a time")
		s.PodReplacementPolicy = nil
	}
	switch {
	case s.Suspend == nil:
	case *s.Suspend:
		d.warn("The Job is created suspended: each call waits until a queue such as Kueue, or somebody, resumes it, at most " +
			"execution.queueDeadline.")
	default:
		s.Suspend = nil
	}
	if s.Selector != nil || s.ManualSelector != nil {
		d.drop("spec.selector", "each Job selects its own pods")
		s.Selector, s.ManualSelector = nil, nil
	}
	if s.ManagedBy != nil {
		if *s.ManagedBy != batchv1.JobControllerName {
			d.drop("spec.managedBy", "tools are run by Kubernetes' own Job controller")
		}
		s.ManagedBy = nil
	}
	d.leaveOutRestarts(pod)
	if pod.DeprecatedServiceAccount == pod.ServiceAccountName {
		pod.DeprecatedServiceAccount = ""
	}
}

func (d *draft) leaveOutRestarts(pod *corev1.PodSpec) {
	if pod.RestartPolicy == corev1.RestartPolicyOnFailure {
		d.drop("restartPolicy: OnFailure",
			"is Never, for else Kubernetes throws the log of a failed run away; execution.retries starts new pods")
		d.warn("restartPolicy was OnFailure; the draft has Never, and after a failure a new pod starts with empty emptyDir volumes.")
	}
	pod.RestartPolicy = corev1.RestartPolicyNever
	for i := range pod.Containers {
		c := &pod.Containers[i]
		if c.RestartPolicy != nil || len(c.RestartPolicyRules) > 0 {
			d.drop("restartPolicy of the container "+c.Name, "containers are not restarted in place; use execution.retries")
			c.RestartPolicy, c.RestartPolicyRules = nil, nil
		}
	}
}

// ofOthers are prefixes of labels and annotations that say who made an object, not what it does.
var ofOthers = []string{
	"kubectl.kubernetes.io/last-applied-configuration", "kubectl.kubernetes.io/restartedAt", "batch.kubernetes.io/", "helm.sh/",
	"meta.helm.sh/", "argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", v1alpha1.Group + "/",
	"app.kubernetes.io/managed-by", "controller-uid", "job-name",
}

// leaveOutMeta keeps of the metadata of a Job or a pod what its labels and annotations say to others.
func (d *draft) leaveOutMeta(meta *metav1.ObjectMeta, at string) {
	if meta.Namespace != "" {
		d.drop(at+".namespace", "Jobs are created in the namespace of the calling tenant")
	}
	if len(meta.OwnerReferences) > 0 || len(meta.Finalizers) > 0 {
		d.drop(at+".ownerReferences and finalizers", "each Job is owned by the MCPTask of its call")
	}
	var removed []string
	for _, entries := range []map[string]string{meta.Labels, meta.Annotations} {
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			other := func(prefix string) bool {
				return key == prefix || strings.HasSuffix(prefix, "/") && strings.HasPrefix(key, prefix)
			}
			if slices.ContainsFunc(ofOthers, other) || isDescription(key) {
				if !isDescription(key) {
					removed = append(removed, key)
				}
				delete(entries, key)
			}
		}
	}
	if len(removed) > 0 {
		d.drop(at+": "+strings.Join(slices.Compact(removed), ", "), "say who made this object; a tool's Jobs are made by mcptasks")
	}
	*meta = metav1.ObjectMeta{Labels: meta.Labels, Annotations: meta.Annotations}
}

func isDescription(annotation string) bool {
	return annotation == "description" || strings.HasSuffix(annotation, "/description")
}

// description is what annotations of the object, or of its pods, say about it, or "". Kubernetes' own one comes first.
func (m *manifest) description() string {
	for _, meta := range []*metav1.ObjectMeta{&m.meta, &m.template.ObjectMeta, &m.template.Spec.Template.ObjectMeta} {
		if own := meta.Annotations["kubernetes.io/description"]; own != "" {
			return own
		}
		for _, key := range slices.Sorted(maps.Keys(meta.Annotations)) {
			if isDescription(key) && meta.Annotations[key] != "" {
				return meta.Annotations[key]
			}
		}
	}
	return ""
}

// secure makes the pod one that the level restricted of Pod Security takes, unless it asks for what that level does not grant.
func (d *draft) secure() {
	pod := &d.template.Spec.Template.Spec
	if asked := demands(&d.template.Spec.Template); len(asked) > 0 {
		level, what := levelBaseline, make([]string, 0, len(asked))
		for _, a := range asked {
			what = append(what, a.what)
			if a.level == levelPrivileged {
				level = levelPrivileged
			}
		}
		d.warn("Namespaces with a stricter Pod Security level than %s refuse the pods, because of: %s. Calls from there end as failed.",
			level, strings.Join(what, ", "))
	} else {
		d.user = restrict(pod)
		d.added = "securityContext is completed so that namespaces with the Pod Security level restricted take the pods."
	}
	switch {
	case pod.ServiceAccountName != "" && pod.ServiceAccountName != "default":
		d.warn("The pods run as the service account %s: it has to exist in the namespace of each tenant, and every caller acts with "+
			"its rights.", pod.ServiceAccountName)
	case pod.AutomountServiceAccountToken == nil:
		no := false
		pod.AutomountServiceAccountToken = &no
		if d.added != "" {
			d.added += " "
		}
		d.added += "automountServiceAccountToken: false keeps the cluster's API out of reach."
	}
	var scripts, unlimited []string
	for c := range containers(pod) {
		if script(c) != "" {
			scripts = append(scripts, c.Name)
		}
		if len(c.Resources.Limits) == 0 {
			unlimited = append(unlimited, c.Name)
		}
	}
	if len(scripts) > 0 {
		d.warn("Shell scripts run in: %s. What callers may choose is read there as \"$MCP_ARG_<NAME>\", in double quotes; "+
			"$(MCP_ARG_<NAME>) would make code of it, and the tool not Ready.", strings.Join(scripts, ", "))
	}
	if len(unlimited) > 0 {
		d.warn("There are no resources.limits for: %s. A call may take all that its node has.", strings.Join(unlimited, ", "))
	}
}

// finish writes the draft and checks it.
func (d *draft) finish() (Draft, error) {
	document, err := d.write()
	if err != nil {
		return Draft{}, err
	}
	var tool v1alpha1.MCPTool
	if err := sigsyaml.UnmarshalStrict(document, &tool); err != nil {
		return Draft{}, fmt.Errorf("read the draft: %w", err)
	}
	finished := Draft{From: d.what(), YAML: document, Warnings: d.warnings, Needs: needs(&d.template.Spec.Template.Spec)}
	if err := job.Check(&tool); err != nil {
		finished.NotReady = err.Error()
	}
	return finished, nil
}

func (d *draft) write() ([]byte, error) {
	metadata := newTree()
	metadata.set("name", text(d.name))
	if d.namespace != "" {
		metadata.set("namespace", text(d.namespace))
	}
	spec, err := d.spec()
	if err != nil {
		return nil, err
	}
	tool := newTree()
	tool.set("apiVersion", text(v1alpha1.GroupVersion.String()))
	tool.set("kind", text("MCPTool"))
	tool.set("metadata", metadata.node)
	tool.set("spec", spec.node)
	return tool.write("A first draft, made of the " + d.what() + ". TODO marks what is for you to decide.")
}

func (d *draft) spec() (tree, error) {
	spec := newTree()
	name := strings.ReplaceAll(d.name, "-", "_")
	spec.set("name", text(name), "The name in the agents' tool list.")
	const purpose = "TODO: agents choose tools by this. Say what it does, when to use it, and what it returns."
	if d.described != "" {
		spec.set("description", text(d.described), purpose)
	} else {
		spec.set("description", text("TODO: describe "+name+"."), purpose)
		d.warn("There is no description. Write one before you apply the draft: agents choose tools by it.")
	}
	hints := newTree()
	hints.set("readOnlyHint", boolean(false))
	hints.set("destructiveHint", boolean(true))
	hints.set("idempotentHint", boolean(false))
	hints.set("openWorldHint", boolean(true))
	spec.set("annotations", hints.node, "TODO: these are MCP's careful defaults. Clients ask people before they call destructive "+
		"tools. idempotentHint allows to run again after a disruption.")
	input, err := d.inputSchema()
	if err != nil {
		return tree{}, err
	}
	spec.set("inputSchema", input.node)
	spec.set("execution", d.executionTree().node)
	if containers := d.template.Spec.Template.Spec.Containers; len(containers) > 1 {
		result := newTree()
		result.set("container", text(containers[0].Name), "TODO: the container whose log is the result and whose end is the call's.")
		spec.set("result", result.node)
	}
	template, err := fromValue(d.template)
	if err != nil {
		return tree{}, err
	}
	d.arrange(template)
	var comment []string
	if len(d.dropped) > 0 {
		comment = append(append(comment, "Left out of the Job:"), d.dropped...)
	}
	if d.added != "" {
		comment = append(comment, "Added to the Job: "+d.added)
	}
	spec.set("jobTemplate", template, comment...)
	return spec, nil
}

func (d *draft) inputSchema() (tree, error) {
	properties := newTree()
	for _, a := range d.arguments {
		value, err := fromValue(a.typed())
		if err != nil {
			return tree{}, err
		}
		property := newTree()
		property.set("type", text(a.kind))
		property.set("default", value)
		same := *value
		property.set("enum", &yamlv3.Node{Kind: yamlv3.SequenceNode, Tag: "!!seq", Content: []*yamlv3.Node{&same}})
		comment := []string{fmt.Sprintf("TODO: keep or drop. It was %s.", strings.Join(a.origins, ", and "))}
		if a.quote {
			comment = append(comment, "The container's script reads it: there it has to stand in double quotes.")
		}
		properties.set(a.property, property.node, comment...)
	}
	input := newTree()
	input.set("type", text("object"))
	input.set("additionalProperties", boolean(false))
	comment := []string{"TODO: what may a caller choose? Nothing so far: the manifest has no environment variable or option " +
		"with a value that could be proposed."}
	if len(d.arguments) > 0 {
		comment = []string{
			"TODO: what may a caller choose? Each has, as its only choice, what the Job had. To keep one, list the other choices in " +
				"enum, or put a pattern, or minimum and maximum, in its place, and describe it for the agent. To drop one, remove it here " +
				"and put its value back into the template in place of $(" + job.VariablePrefix + "…).",
		}
	}
	input.set("properties", properties.node, comment...)
	return input, nil
}

func (d *draft) executionTree() tree {
	e := newTree()
	if d.execution.deadline > 0 {
		e.set("deadline", text(job.DurationText(d.execution.deadline)))
	} else {
		e.set("deadline", text("1h"), "TODO: how long may it run? The Job had no limit.")
	}
	switch {
	case d.execution.perIndex:
		e.set("retries", integer("0"), "The template's backoffLimitPerIndex says how often each index is tried again.")
	case d.execution.retries > 0:
		e.set("retries", integer(fmt.Sprint(d.execution.retries)),
			"TODO: the Job's backoffLimit. Is it harmless to run it again after a failure?")
	case !d.execution.retriesSet:
		e.set("retries", integer("0"), "A Job without backoffLimit is run up to 7 times; a tool without retries once.")
	default:
		e.set("retries", integer("0"))
	}
	if d.execution.keep {
		retention := newTree()
		retention.set("job", text(job.DurationText(d.execution.retention)))
		e.set("retention", retention.node)
	}
	return e
}

// arrange brings the template into the order in which people write it, and removes what is empty.
func (d *draft) arrange(template *yamlv3.Node) {
	removeEmpty(template, "metadata")
	last(entry(template, "spec"), "template")
	podTemplate := entry(entry(template, "spec"), "template")
	removeEmpty(podTemplate, "metadata")
	pod := entry(podTemplate, "spec")
	last(pod, "initContainers", "containers", "volumes")
	for _, list := range []string{"initContainers", "containers"} {
		if containers := entry(pod, list); containers != nil {
			for _, c := range containers.Content {
				removeEmpty(c, "resources")
			}
		}
	}
	if d.user {
		context := entry(pod, "securityContext")
		for i := 0; i < len(context.Content); i += 2 {
			if context.Content[i].Value == "runAsUser" {
				context.Content[i].HeadComment = remark("TODO: the user that the image is made for, if it has to be a certain one.")
			}
		}
	}
}
