package e2e

import (
	"encoding/json"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/images"
)

// toolBuilder builds an MCPTool around a command of the toolbox image.
type toolBuilder struct{ tool v1alpha1.MCPTool }

// tool is an Optional tool that runs a command of the toolbox with fixed flags; its other values come from the call's arguments.
func tool(name, command string, flags ...string) *toolBuilder {
	return &toolBuilder{v1alpha1.MCPTool{
		ObjectMeta: metav1.ObjectMeta{Name: strings.ReplaceAll(name, "_", "-")},
		Spec: v1alpha1.MCPToolSpec{
			Name:        name,
			Description: "Runs toolbox " + command + ".",
			Execution: v1alpha1.Execution{
				Mode:            v1alpha1.ModeOptional,
				PollInterval:    metav1.Duration{Duration: 200 * time.Millisecond},
				StartupDeadline: metav1.Duration{Duration: patience},
				Retention: v1alpha1.Retention{
					Task: &metav1.Duration{Duration: time.Hour}, Job: metav1.Duration{Duration: time.Hour},
				},
			},
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy:                corev1.RestartPolicyNever,
				AutomountServiceAccountToken: ptr.To(false),
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To(int64(65532)), FSGroup: ptr.To(int64(65532)),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Containers: []corev1.Container{{
					Name: "tool", Image: images.Toolbox.Tag, Args: append([]string{command}, flags...),
					SecurityContext: &corev1.SecurityContext{
						AllowPrivilegeEscalation: ptr.To(false),
						Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					},
				}},
			}}}},
		},
	}}
}

func (b *toolBuilder) in(namespace string) *v1alpha1.MCPTool {
	b.tool.Namespace = namespace
	return &b.tool
}

func (b *toolBuilder) mode(mode v1alpha1.ExecutionMode) *toolBuilder {
	b.tool.Spec.Execution.Mode = mode
	return b
}

// blocking is how long callers without Tasks are kept waiting.
func (b *toolBuilder) blocking(d time.Duration) *toolBuilder {
	b.tool.Spec.Execution.BlockFor = metav1.Duration{Duration: d}
	return b
}

// keepingJobs is how long finished Jobs are kept.
func (b *toolBuilder) keepingJobs(d time.Duration) *toolBuilder {
	b.tool.Spec.Execution.Retention.Job = metav1.Duration{Duration: d}
	return b
}

func (b *toolBuilder) resultLimit(limit string) *toolBuilder {
	b.tool.Spec.Result.Limit = resource.MustParse(limit)
	return b
}

// properties are the input schema's: each a name and its type. "!" behind a name makes it required.
func (b *toolBuilder) properties(nameTypes ...string) *toolBuilder {
	properties, required := map[string]any{}, []string{}
	for _, nameType := range nameTypes {
		name, kind, _ := strings.Cut(nameType, " ")
		if bare, ok := strings.CutSuffix(name, "!"); ok {
			name = bare
			required = append(required, name)
		}
		properties[name] = map[string]any{"type": kind}
	}
	schema, err := json.Marshal(map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	})
	if err != nil {
		panic(err) // strings always marshal
	}
	b.tool.Spec.InputSchema = &apiextensionsv1.JSON{Raw: schema}
	return b
}

// shell runs a script in the image instead, which must have a shell.
func (b *toolBuilder) shell(image images.Image, script string) *toolBuilder {
	c := &b.tool.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
	c.Image, c.Command, c.Args = image.Tag, []string{"sh", "-euc"}, []string{script}
	return b
}

// schema is the input schema.
func (b *toolBuilder) schema(doc string) *toolBuilder {
	b.tool.Spec.InputSchema = &apiextensionsv1.JSON{Raw: []byte(doc)}
	return b
}

// volume mounts a claim at a path.
func (b *toolBuilder) volume(claim, path string) *toolBuilder {
	pod := &b.tool.Spec.JobTemplate.Spec.Template.Spec
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}})
	pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: claim, MountPath: path})
	return b
}
