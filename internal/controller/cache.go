package controller

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// CacheOptions say what the controllers keep in memory: MCPTasks, MCPTools, namespaces, and of Jobs and pods only those of tasks;
// of each object only what is looked at. Nothing else is ever cached: reads of other kinds fail.
func CacheOptions() cache.Options {
	ours, err := labels.NewRequirement(v1alpha1.LabelTask, selection.Exists, nil)
	if err != nil {
		panic(err) // a constant that is not a label
	}
	ofTasks := labels.NewSelector().Add(*ours)
	return cache.Options{
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.MCPTask{}: {Transform: transform(slimTask)},
			&v1alpha1.MCPTool{}: {Transform: transform(func(*v1alpha1.MCPTool) {})},
			&corev1.Namespace{}: {Transform: transform(slimNamespace)},
			&batchv1.Job{}:      {Label: ofTasks, Transform: transform(slimJob)},
			&corev1.Pod{}:       {Label: ofTasks, Transform: transform(slimPod)},
		},
	}
}

// transform makes a cache transform of slim, and drops what no controller looks at in any object.
func transform[T client.Object](slim func(T)) func(any) (any, error) {
	return func(obj any) (any, error) {
		if o, ok := obj.(T); ok {
			o.SetManagedFields(nil)
			if annotations := o.GetAnnotations(); annotations != nil {
				delete(annotations, corev1.LastAppliedConfigAnnotation)
			}
			slim(o)
		}
		return obj, nil
	}
}

// slimTask drops what can be large: the arguments, which are read past the cache before the launch, and the result, which no
// controller reads. A patch never clears them: it is made from the difference to the object it was computed from, which doesn't
// have them either.
func slimTask(t *v1alpha1.MCPTask) {
	t.Spec.Arguments = ""
	t.Status.Result = ""
}

func slimNamespace(n *corev1.Namespace) {
	n.Spec, n.Status, n.Annotations = corev1.NamespaceSpec{}, corev1.NamespaceStatus{}, nil
}

// slimJob keeps of the template the containers' names.
func slimJob(j *batchv1.Job) {
	j.Spec.Template.ObjectMeta = metav1.ObjectMeta{}
	j.Spec.Template.Spec = slimPodSpec(j.Spec.Template.Spec)
	j.Status.UncountedTerminatedPods = nil
}

func slimPod(p *corev1.Pod) {
	p.Annotations = nil
	p.Spec = slimPodSpec(p.Spec)
}

func slimPodSpec(s corev1.PodSpec) corev1.PodSpec {
	return corev1.PodSpec{
		InitContainers: slimContainers(s.InitContainers),
		Containers:     slimContainers(s.Containers),
		NodeName:       s.NodeName,
		// Tells a container that the deadline ended from one that ended before.
		ActiveDeadlineSeconds: s.ActiveDeadlineSeconds,
	}
}

func slimContainers(containers []corev1.Container) []corev1.Container {
	slim := make([]corev1.Container, len(containers))
	for i, c := range containers {
		slim[i] = corev1.Container{Name: c.Name, Image: c.Image, RestartPolicy: c.RestartPolicy}
	}
	return slim
}

// Indexes of the cache.
const (
	// byTask finds pods by their task's name.
	byTask = "task"
	// byWaitingFor finds the MCPTasks that ask a tool's questions, by the tool's namespace and name.
	byWaitingFor = "waitingFor"
	// byToolName finds MCPTools by their name in the agents' list.
	byToolName = "toolName"
)

func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range []struct {
		obj   client.Object
		field string
		value client.IndexerFunc
	}{
		{&corev1.Pod{}, byTask, func(o client.Object) []string { return []string{o.GetLabels()[v1alpha1.LabelTask]} }},
		{&v1alpha1.MCPTask{}, byWaitingFor, waitingForIndex},
		{&v1alpha1.MCPTool{}, byToolName, func(o client.Object) []string {
			if tool, ok := o.(*v1alpha1.MCPTool); ok {
				return []string{toolName(tool)}
			}
			return nil
		}},
	} {
		if err := indexer.IndexField(ctx, index.obj, index.field, index.value); err != nil {
			return fmt.Errorf("index %T by %s: %w", index.obj, index.field, err)
		}
	}
	return nil
}
