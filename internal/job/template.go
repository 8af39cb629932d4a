package job

import (
	"fmt"
	"path"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/question"
)

// maxTemplateAnnotations is how much a template's annotations may take, in bytes. Kubernetes allows an object 256 KiB, of
// which the arguments may need half.
const maxTemplateAnnotations = 64 << 10

// checkTemplate lists what of a Job template mcptasks does not support or sets itself. What Kubernetes would refuse anyway is
// left to Kubernetes.
func checkTemplate(tool *v1alpha1.MCPTool, at *field.Path) field.ErrorList {
	template := &tool.Spec.JobTemplate
	spec := at.Child("spec")
	pod := &template.Spec.Template
	all := checkMeta(&template.ObjectMeta, at.Child("metadata"))
	all = append(all, checkMeta(&pod.ObjectMeta, spec.Child("template", "metadata"))...)
	all = append(all, checkJobSpec(&template.Spec, spec)...)
	all = append(all, checkPodSpec(&pod.Spec, spec.Child("template", "spec"))...)
	all = append(all, checkRetries(tool)...)
	return append(all, checkMain(tool)...)
}

// checkMeta checks the metadata of a Job or pod template. Its names are without effect, so that manifests can be used as they
// are.
func checkMeta(meta *metav1.ObjectMeta, at *field.Path) field.ErrorList {
	var all field.ErrorList
	if meta.Namespace != "" {
		all = append(all, field.Forbidden(at.Child("namespace"), "a tool's Jobs are created in the namespace of the calling tenant"))
	}
	if len(meta.OwnerReferences) > 0 {
		all = append(all, field.Forbidden(at.Child("ownerReferences"), "a tool's Jobs are owned by their MCPTask"))
	}
	if len(meta.Finalizers) > 0 {
		all = append(all, field.Forbidden(at.Child("finalizers"), "finalizers would keep Jobs of finished tasks for ever"))
	}
	size := 0
	for name, entries := range map[string]map[string]string{"labels": meta.Labels, "annotations": meta.Annotations} {
		for _, key := range sortedKeys(entries) {
			if strings.HasPrefix(key, v1alpha1.Group+"/") {
				all = append(all, field.Forbidden(at.Child(name).Key(key), "the prefix "+v1alpha1.Group+"/ is for mcptasks itself"))
			}
		}
	}
	for key, value := range meta.Annotations {
		size += len(key) + len(value)
	}
	if size > maxTemplateAnnotations {
		all = append(all, field.Forbidden(at.Child("annotations"),
			fmt.Sprintf("the annotations have %d bytes; at most %d are allowed", size, maxTemplateAnnotations)))
	}
	slices.SortStableFunc(all, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return all
}

func checkJobSpec(spec *batchv1.JobSpec, at *field.Path) field.ErrorList {
	all := checkPods(spec, at)
	forbid := func(set bool, name, why string) {
		if set {
			all = append(all, field.Forbidden(at.Child(name), why))
		}
	}
	forbid(spec.ManagedBy != nil && *spec.ManagedBy != batchv1.JobControllerName, "managedBy",
		"Jobs of other controllers are not supported")
	forbid(spec.ManualSelector != nil && *spec.ManualSelector, "manualSelector", "the Job must select its pods by itself")
	forbid(spec.Selector != nil, "selector", "the Job must select its pods by itself")

	const setBy = "is set from another field; use "
	forbid(spec.BackoffLimit != nil, "backoffLimit", setBy+"spec.execution.retries")
	forbid(spec.ActiveDeadlineSeconds != nil, "activeDeadlineSeconds", setBy+"spec.execution.deadline")
	forbid(spec.TTLSecondsAfterFinished != nil, "ttlSecondsAfterFinished", setBy+"spec.execution.retention.job")
	forbid(spec.PodReplacementPolicy != nil && *spec.PodReplacementPolicy != batchv1.Failed, "podReplacementPolicy",
		"is always Failed, so that a tool never runs twice at a time")
	return all
}

func checkPodSpec(pod *corev1.PodSpec, at *field.Path) field.ErrorList {
	var all field.ErrorList
	if pod.ActiveDeadlineSeconds != nil {
		all = append(all, field.Forbidden(at.Child("activeDeadlineSeconds"), "is set from another field; use spec.execution.deadline"))
	}
	if pod.RestartPolicy != "" && pod.RestartPolicy != corev1.RestartPolicyNever {
		all = append(all, field.Forbidden(at.Child("restartPolicy"),
			fmt.Sprintf("must be Never: with %s, Kubernetes throws the log of a failed run away; to run again after a failure, use "+
				"spec.execution.retries", pod.RestartPolicy)))
	}
	for i := range pod.Volumes {
		if pod.Volumes[i].Name == argumentsVolume {
			all = append(all, field.Forbidden(at.Child("volumes").Index(i).Child("name"), "is the name of the volume with the arguments"))
		}
	}
	for i := range pod.InitContainers {
		all = append(all, checkContainer(&pod.InitContainers[i], at.Child("initContainers").Index(i))...)
	}
	for i := range pod.Containers {
		c, at := &pod.Containers[i], at.Child("containers").Index(i)
		all = append(all, checkContainer(c, at)...)
		if (c.RestartPolicy != nil && *c.RestartPolicy != corev1.ContainerRestartPolicyNever) || len(c.RestartPolicyRules) > 0 {
			all = append(all, field.Forbidden(at.Child("restartPolicy"),
				"containers are not restarted in place; to run again after a failure, use spec.execution.retries"))
		}
	}
	return all
}

func checkContainer(c *corev1.Container, at *field.Path) field.ErrorList {
	var all field.ErrorList
	for i := range c.Env {
		if reserved(c.Env[i].Name) {
			all = append(all, field.Forbidden(at.Child("env").Index(i).Child("name"), fmt.Sprintf(
				"names that begin with %s or %s are for the arguments and answers of the call", VariablePrefix, question.EnvPrefix)))
		}
	}
	for i := range c.VolumeMounts {
		if mount := path.Clean(c.VolumeMounts[i].MountPath); mount == MountPath || strings.HasPrefix(mount, MountPath+"/") {
			all = append(all, field.Forbidden(at.Child("volumeMounts").Index(i).Child("mountPath"),
				MountPath+" is where containers find the arguments of the call"))
		}
	}
	return all
}

// checkMain checks that there is a main container.
func checkMain(tool *v1alpha1.MCPTool) field.ErrorList {
	pod := &tool.Spec.JobTemplate.Spec.Template
	if len(pod.Spec.Containers) == 0 {
		return field.ErrorList{field.Required(field.NewPath("spec", "jobTemplate", "spec", "template", "spec", "containers"),
			"the Job needs a container")}
	}
	if name := tool.Spec.Result.Container; name != "" && !hasContainer(pod, name) {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "result", "container"), name,
			"must be the name of one of the template's containers (not of an init container)")}
	}
	return nil
}

func hasContainer(template *corev1.PodTemplateSpec, name string) bool {
	return slices.ContainsFunc(template.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
}
