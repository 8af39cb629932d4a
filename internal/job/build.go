package job

import (
	"errors"
	"fmt"
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/question"
	"github.com/mcptasks/mcptasks/internal/schema"
)

const (
	// MountPath is the directory of every container that mcptasks fills.
	MountPath = "/mcp"
	// ArgumentsFile has the arguments of the call, the caller's JSON byte for byte.
	ArgumentsFile = MountPath + "/" + argumentsFileName

	// AnswersFile has the answers to the tool's questions by key, as {"<key>": {"action": "accept", "content": {…}}}. It is there
	// for tools that have questions.
	AnswersFile = MountPath + "/" + answersFileName

	argumentsFileName = "arguments.json"
	answersFileName   = "answers.json"
	argumentsVolume   = "mcptasks-arguments"

	// annotationDefaultContainer tells kubectl logs and others which container is meant where none is named.
	annotationDefaultContainer = "kubectl.kubernetes.io/default-container"
)

// stayPut asks autoscalers not to move a pod to another node only to save one: the work would be lost. A template may say
// otherwise.
var stayPut = map[string]string{
	"karpenter.sh/do-not-disrupt":                    "true",
	"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
}

// disruptionsDoNotCount lets the Job controller replace a pod that was evicted, preempted or lost with its node, however often,
// without counting it as a retry.
var disruptionsDoNotCount = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
	Action: batchv1.PodFailurePolicyActionIgnore,
	OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
		{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
	},
}}}

// idempotent: the tool's author says that doing the same again changes nothing more.
func idempotent(tool *v1alpha1.MCPTool) bool {
	a := tool.Spec.Annotations
	return a != nil && a.IdempotentHint != nil && *a.IdempotentHint
}

// Name is the name of the Job of the task of that name: the same.
func Name(task string) string { return task }

// MainContainer is the container whose output is the result and whose exit ends the task: the one that source names, or else
// the template's first. It is "" for a template without containers.
func MainContainer(source v1alpha1.ResultSource, template *corev1.PodTemplateSpec) string {
	if source.Container != "" || len(template.Spec.Containers) == 0 {
		return source.Container
	}
	return template.Spec.Containers[0].Name
}

// Build makes the Job of a task from the tool as it is now and what the task has recorded of it. Every container, also every init
// container, gets the arguments and the answers: as the files ArgumentsFile and AnswersFile, and in its environment before the
// author's own variables, so that those may refer to them. Secret arguments come from the task's Secret. While a question is
// open, or has an answer that does not let the call proceed, there is no Job.
//
// An error is a *Problem with a Reason constant of tasks: ToolChanged where the tool has changed since the call and no longer
// takes the arguments or cannot be used at all, otherwise Rejected.
func Build(tool *v1alpha1.MCPTool, task *v1alpha1.MCPTask) (*batchv1.Job, error) {
	b, err := NewBlueprint(tool)
	if err != nil {
		return nil, refusal(tool, task, err.Error())
	}
	return b.Build(task)
}

// Build is the function Build for the blueprint's tool.
func (b *Blueprint) Build(task *v1alpha1.MCPTask) (*batchv1.Job, error) {
	answers := question.AnswersOf(task)
	if err := b.mayProceed(task, answers); err != nil {
		return nil, refusal(b.tool, task, err.Error())
	}
	if err := b.validate(task); err != nil {
		return nil, refusal(b.tool, task, err.Error())
	}
	arguments, err := schema.Decode([]byte(task.Spec.Arguments))
	if err != nil {
		return nil, refusal(b.tool, task, err.Error())
	}
	var secret []string
	if task.Spec.SecretArguments != nil {
		secret = task.Spec.SecretArguments.Variables
	}
	env, err := b.environ(arguments, secret, answers)
	if err != nil {
		return nil, refusal(b.tool, task, err.Error())
	}
	template := b.tool.Spec.JobTemplate.DeepCopy()
	main := MainContainer(task.Spec.Result, &template.Spec.Template)
	if !hasContainer(&template.Spec.Template, main) {
		return nil, refusal(b.tool, task, fmt.Sprintf("its template has no container %q", main))
	}

	job := &batchv1.Job{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	job.Name, job.GenerateName, job.Namespace = Name(task.Name), "", task.Namespace
	job.Labels = with(job.Labels, labels(b.tool, task))
	job.Annotations = with(job.Annotations, annotations(task))
	if output := OutputSchema(b.tool); output != nil {
		job.Annotations = with(job.Annotations, map[string]string{v1alpha1.AnnotationOutputSchema: string(output)})
	}
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(task, v1alpha1.GroupVersion.WithKind("MCPTask"))}

	retries, replacement := task.Spec.Execution.Retries, batchv1.Failed
	job.Spec.BackoffLimit, job.Spec.PodReplacementPolicy = &retries, &replacement
	if job.Spec.PodFailurePolicy == nil && idempotent(b.tool) {
		job.Spec.PodFailurePolicy = disruptionsDoNotCount.DeepCopy()
	}

	pod := &job.Spec.Template
	pod.Name, pod.GenerateName = "", ""
	pod.Labels = with(pod.Labels, labels(b.tool, task))
	// What the template says of these wins.
	pod.Annotations = with(with(map[string]string{annotationDefaultContainer: main}, stayPut), pod.Annotations)
	pod.Annotations = with(pod.Annotations, annotations(task))
	files := map[string]string{}
	if task.Spec.SecretArguments == nil {
		pod.Annotations[v1alpha1.AnnotationArguments] = task.Spec.Arguments
		files[argumentsFileName] = v1alpha1.AnnotationArguments
	}
	if !b.questions.Empty() {
		rendered, err := question.RenderAnswers(answers)
		if err != nil {
			return nil, refusal(b.tool, task, err.Error())
		}
		pod.Annotations[v1alpha1.AnnotationAnswers] = string(rendered)
		files[answersFileName] = v1alpha1.AnnotationAnswers
	}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	pod.Spec.ActiveDeadlineSeconds = seconds(task.Spec.Execution.Deadline.Duration)
	if err := b.bindings.apply(&job.Spec, arguments); err != nil {
		return nil, refusal(b.tool, task, err.Error())
	}
	if err := ownSeveral(job, task.Spec.Execution); err != nil {
		return nil, refusal(b.tool, task, err.Error())
	}
	deliver(&pod.Spec, env.vars(task), volume(task, files))
	return job, nil
}

// mayProceed says why the questions of the tool do not let the call become a Job.
func (b *Blueprint) mayProceed(task *v1alpha1.MCPTask, answers map[string]v1alpha1.Answer) error {
	plan, err := b.questions.Plan(v1alpha1.AskTask, []byte(task.Spec.Arguments), answers)
	switch {
	case err != nil:
		return err
	case plan.Outcome == question.Ask:
		return fmt.Errorf("the question %q has not been answered", plan.Questions[0].Key)
	case plan.Outcome != question.Proceed:
		return errors.New(plan.Message)
	}
	return nil
}

// environ makes the environment for arguments, as schema.Decode returns them, which have been validated, and answers. The error
// says which of them does not fit and why.
func (b *Blueprint) environ(arguments any, secret []string, answers map[string]v1alpha1.Answer) (environment, error) {
	in := inputs{secret: secret, answers: map[string]map[string]any{}}
	in.arguments, _ = arguments.(map[string]any)
	for key, answer := range answers {
		if answer.Action != v1alpha1.AnswerAccept || answer.Content == "" {
			continue
		}
		content, err := schema.Decode([]byte(answer.Content))
		if err != nil {
			return environment{}, fmt.Errorf("the answer to %q cannot be read: %w", shorten(key, 63), err)
		}
		in.answers[key], _ = content.(map[string]any)
	}
	pod := &b.tool.Spec.JobTemplate.Spec.Template.Spec
	env := environ(b.variables, in, len(pod.InitContainers)+len(pod.Containers))
	for _, v := range b.variables {
		if why, ok := env.omitted[v.name]; ok && b.used[v.name] {
			return environment{}, fmt.Errorf("%s: cannot be put on the command line of this tool: %s", v.at(), why)
		}
	}
	return env, nil
}

// refusal is why a task does not become a Job.
func refusal(tool *v1alpha1.MCPTool, task *v1alpha1.MCPTask, why string) error {
	if !sameTool(tool, task) {
		return &Problem{Reason: v1alpha1.ReasonToolChanged, Message: "The tool was changed after the call: " + why}
	}
	return &Problem{Reason: v1alpha1.ReasonRejected, Message: "The call cannot become a Job: " + why}
}

// sameTool reports whether the tool is still as it was when it was called.
func sameTool(tool *v1alpha1.MCPTool, task *v1alpha1.MCPTask) bool {
	return tool.UID == task.Spec.Tool.UID && tool.Generation == task.Spec.Tool.Generation
}

func labels(tool *v1alpha1.MCPTool, task *v1alpha1.MCPTask) map[string]string {
	return map[string]string{v1alpha1.LabelTask: task.Name, v1alpha1.LabelTool: tool.Name}
}

// annotations are those that Job and pods have in common.
func annotations(task *v1alpha1.MCPTask) map[string]string {
	if task.Spec.Traceparent == "" {
		return nil
	}
	return map[string]string{v1alpha1.AnnotationTraceparent: task.Spec.Traceparent}
}

// with is entries with more, which win. It may change entries.
func with(entries, more map[string]string) map[string]string {
	if entries == nil {
		entries = make(map[string]string, len(more))
	}
	maps.Copy(entries, more)
	return entries
}

// seconds are the whole seconds of a time limit, rounded up; nil without one.
func seconds(d time.Duration) *int64 {
	if d <= 0 {
		return nil
	}
	n := int64((d + time.Second - 1) / time.Second)
	return &n
}

// volume has the files, each made from an annotation of the pod, and, where the task has secret arguments, the file of the
// arguments from their Secret. Without the Secret the pod does not start.
func volume(task *v1alpha1.MCPTask, files map[string]string) corev1.VolumeSource {
	var items []corev1.DownwardAPIVolumeFile
	for _, name := range sortedKeys(files) {
		items = append(items, corev1.DownwardAPIVolumeFile{
			Path:     name,
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: fmt.Sprintf("metadata.annotations['%s']", files[name])},
		})
	}
	if task.Spec.SecretArguments == nil {
		return corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: items}}
	}
	sources := []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: SecretName(task.Name)},
		Items:                []corev1.KeyToPath{{Key: argumentsFileName, Path: argumentsFileName}},
	}}}
	if len(items) > 0 {
		sources = append(sources, corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{Items: items}})
	}
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}
}

// deliver gives the volume with the files, and the environment, to all containers of a pod.
func deliver(pod *corev1.PodSpec, env []corev1.EnvVar, files corev1.VolumeSource) {
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: argumentsVolume, VolumeSource: files})
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			c := &containers[i]
			c.Env = append(append([]corev1.EnvVar{}, env...), c.Env...)
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: argumentsVolume, MountPath: MountPath, ReadOnly: true})
		}
	}
}
