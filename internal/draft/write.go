package draft

import (
	"fmt"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

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
