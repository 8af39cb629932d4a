package controller

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// A patch that is computed from a task of the cache leaves alone what the cache has left out.
func TestPatchesKeepWhatTheCacheLeavesOut(t *testing.T) {
	cached := &v1alpha1.MCPTask{
		ObjectMeta: metav1.ObjectMeta{Name: "t", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}}},
		Spec:       v1alpha1.MCPTaskSpec{Arguments: `{"a":1}`},
		Status:     v1alpha1.MCPTaskStatus{State: v1alpha1.StateCompleted, Result: `{"content":[]}`},
	}
	if _, err := transform(slimTask)(cached); err != nil {
		t.Fatal(err)
	}
	if cached.Spec.Arguments != "" || cached.Status.Result != "" || cached.ManagedFields != nil {
		t.Errorf("the cache keeps %+v", cached)
	}
	changed := cached.DeepCopy()
	changed.Status.Message = "other"
	patch, err := client.MergeFrom(cached).Data(changed)
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{"arguments", "result", "managedFields"} {
		if strings.Contains(string(patch), left) {
			t.Errorf("the patch touches %s: %s", left, patch)
		}
	}
}

func TestCacheKeepsWhatIsLookedAt(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	deadline := int64(60)
	spec := corev1.PodSpec{
		NodeName: "n", ActiveDeadlineSeconds: &deadline,
		InitContainers: []corev1.Container{{Name: "proxy", RestartPolicy: &always}},
		Containers:     []corev1.Container{{Name: "main", Image: "i", Env: []corev1.EnvVar{{Name: "SECRET", Value: "x"}}}},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{v1alpha1.LabelTask: "t"},
			Annotations: map[string]string{v1alpha1.AnnotationArguments: "{}"},
		},
		Spec: *spec.DeepCopy(), Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationOutputSchema: `{}`}},
		Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: spec}},
	}
	for _, transform := range []func() (any, error){
		func() (any, error) { return transform(slimPod)(pod) },
		func() (any, error) { return transform(slimJob)(job) },
	} {
		if _, err := transform(); err != nil {
			t.Fatal(err)
		}
	}
	for where, got := range map[string]corev1.PodSpec{"pod": pod.Spec, "Job": job.Spec.Template.Spec} {
		if got.NodeName != "n" || *got.ActiveDeadlineSeconds != 60 || *got.InitContainers[0].RestartPolicy != always ||
			got.Containers[0].Name != "main" || got.Containers[0].Image != "i" {
			t.Errorf("%s: something is missing in %+v", where, got)
		}
		if got.Containers[0].Env != nil {
			t.Errorf("%s: the environment is kept", where)
		}
	}
	if pod.Labels == nil || pod.Annotations != nil || pod.Status.Phase == "" ||
		job.Annotations[v1alpha1.AnnotationOutputSchema] == "" {
		t.Errorf("pod %+v, Job %+v", pod.ObjectMeta, job.ObjectMeta)
	}
}
