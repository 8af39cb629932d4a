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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
