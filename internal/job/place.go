package job

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// A kind is what a field that can be bound holds.
type kind int

const (
	kindQuantity kind = iota // an amount of a resource
	kindCount                // a whole number, at least 1
	kindText                 // one of the texts that the author lists
)

// types are the CEL types that a value of the kind may have.
func (k kind) types() []*cel.Type {
	switch k {
	case kindQuantity:
		return []*cel.Type{cel.IntType, cel.DoubleType, cel.StringType}
	case kindCount:
		return []*cel.Type{cel.IntType}
	default:
		return []*cel.Type{cel.StringType}
	}
}

// A place is a field of a Job that a binding may set. There are few kinds of them on purpose: what a pod may do, as whom, and
// where its data is, are never a caller's to say.
type place struct {
	// name is the field's path in its one normal form.
	name string
	kind kind
	// most is what max may be for a kindCount, and mostIs what that is called.
	most   int64
	mostIs string
	// set puts a value into a Job. number is for all kinds but text.
	set func(job *batchv1.JobSpec, number resource.Quantity, text string)
}

// bindable names the fields that can be bound, for messages.
const bindable = "spec.template.spec.containers[name=NAME].resources.requests.RESOURCE and .limits.RESOURCE, " +
	"spec.template.spec.containers[name=NAME].image, both also for initContainers, spec.template.spec.nodeSelector[\"KEY\"], " +
	"spec.template.spec.activeDeadlineSeconds, spec.completions and spec.parallelism"

var (
	containerPlace = regexp.MustCompile(`^spec\.template\.spec\.(containers|initContainers)\[name=([a-z0-9-]+)\]\.` +
		`(image|resources\.(requests|limits)(?:\.([a-z0-9-]+)|\["([^"]+)"\]))$`)
	selectorPlace = regexp.MustCompile(`^spec\.template\.spec\.nodeSelector(?:\.([A-Za-z0-9_-]+)|\["([^"]+)"\])$`)
)

// findPlace reads the path of a field that is to be bound in a tool's template.
func findPlace(path string, tool *v1alpha1.MCPTool) (place, error) {
	template := &tool.Spec.JobTemplate.Spec
	switch path {
	case "spec.template.spec.activeDeadlineSeconds":
		return deadlinePlace(path, tool), nil
	case "spec.completions", "spec.parallelism":
		return podsPlace(path, template)
	}
	if found := selectorPlace.FindStringSubmatch(path); found != nil {
		return selectorOf(found[1] + found[2])
	}
	if found := containerPlace.FindStringSubmatch(path); found != nil {
		return containerOf(found, template)
	}
	return place{}, fmt.Errorf("is no field that can be bound; these are %s", bindable)
}

func deadlinePlace(path string, tool *v1alpha1.MCPTool) place {
	p := place{name: path, kind: kindCount, most: math.MaxInt32}
	// A task is kept for as long at least as its tool's deadline says.
	if deadline := seconds(tool.Spec.Execution.Deadline.Duration); deadline != nil {
		p.most, p.mostIs = *deadline, "spec.execution.deadline, in seconds"
	}
	p.set = func(job *batchv1.JobSpec, number resource.Quantity, _ string) {
		seconds := number.Value()
		job.Template.Spec.ActiveDeadlineSeconds = &seconds
	}
	return p
}

// podsPlace is one of the numbers of pods. Whether there are several must not depend on the call: what callers get does.
func podsPlace(path string, template *batchv1.JobSpec) (place, error) {
	p := place{name: path, kind: kindCount, most: MaxPods, mostIs: "the most pods that a Job may have"}
	if path == "spec.completions" {
		if !Indexed(template) || template.SuccessPolicy != nil || template.MaxFailedIndexes != nil {
			return place{}, errors.New("can be bound only with completionMode Indexed, and without successPolicy and maxFailedIndexes, " +
				"which count on a number of indexes")
		}
		p.set = func(job *batchv1.JobSpec, number resource.Quantity, _ string) {
			completions := int32(number.Value())
			job.Completions = &completions
		}
		return p, nil
	}
	if !Indexed(template) && (template.Completions == nil || *template.Completions == 1) {
		return place{}, errors.New("can be bound only where the Job has several completions, or completionMode Indexed")
	}
	p.set = func(job *batchv1.JobSpec, number resource.Quantity, _ string) {
		parallelism := int32(number.Value())
		job.Parallelism = &parallelism
	}
	return p, nil
}

func selectorOf(key string) (place, error) {
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return place{}, fmt.Errorf("%q is no label: %s", shorten(key, 63), strings.Join(problems, "; "))
	}
	p := place{name: fmt.Sprintf("spec.template.spec.nodeSelector[%q]", key), kind: kindText}
	p.set = func(job *batchv1.JobSpec, _ resource.Quantity, text string) {
		pod := &job.Template.Spec
		pod.NodeSelector = with(pod.NodeSelector, map[string]string{key: text})
	}
	return p, nil
}

// containerOf is a field of a container, given what containerPlace has found in its path.
func containerOf(found []string, template *batchv1.JobSpec) (place, error) {
	list, name := found[1], found[2]
	container := func(job *batchv1.JobSpec) *corev1.Container {
		containers := job.Template.Spec.Containers
		if list == "initContainers" {
			containers = job.Template.Spec.InitContainers
		}
		i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == name })
		if i < 0 {
			return nil
		}
		return &containers[i]
	}
	if container(template) == nil {
		return place{}, fmt.Errorf("the template has no container %q among its %s", name, list)
	}
	if found[3] == "image" {
		p := place{name: found[0], kind: kindText}
		p.set = func(job *batchv1.JobSpec, _ resource.Quantity, text string) { container(job).Image = text }
		return p, nil
	}
	amounts, of := found[4], corev1.ResourceName(found[5]+found[6])
	if problems := validation.IsQualifiedName(string(of)); len(problems) > 0 {
		return place{}, fmt.Errorf("%q is no resource: %s", shorten(string(of), 63), strings.Join(problems, "; "))
	}
	p := place{
		name: fmt.Sprintf("spec.template.spec.%s[name=%s].resources.%s[%q]", list, name, amounts, of), kind: kindQuantity,
	}
	p.set = func(job *batchv1.JobSpec, number resource.Quantity, _ string) {
		resources := &container(job).Resources
		into := &resources.Requests
		if amounts == "limits" {
			into = &resources.Limits
		}
		if *into == nil {
			*into = corev1.ResourceList{}
		}
		(*into)[of] = number
	}
	return p, nil
}
