package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestPods: where and as what the pods run is for whoever installs the chart to say.
func TestPods(t *testing.T) {
	for _, component := range []string{"controller", "endpoint"} {
		plain := deployment(t, render(t), component).Spec.Template
		if got := plain.Spec.PriorityClassName; got != "" {
			t.Errorf("%s: without a value the priority class is %q", component, got)
		}
		pod := deployment(t, render(t,
			component+".priorityClassName=system-cluster-critical",
			component+".nodeSelector.pool=tools",
			component+".tolerations[0].key=dedicated",
			component+".podLabels.team=platform",
			component+".podAnnotations.example\\.org/note=kept",
			component+".resources.limits.cpu=2",
			"imagePullSecrets[0].name=registry",
			"image.repository=registry.example.org/mcptasks",
		), component).Spec.Template
		spec := pod.Spec
		for what, diff := range map[string]string{
			"priority class": cmp.Diff("system-cluster-critical", spec.PriorityClassName),
			"node selector":  cmp.Diff(map[string]string{"pool": "tools"}, spec.NodeSelector),
			"tolerations":    cmp.Diff([]corev1.Toleration{{Key: "dedicated"}}, spec.Tolerations),
			"label":          cmp.Diff("platform", pod.Labels["team"]),
			"annotation":     cmp.Diff("kept", pod.Annotations["example.org/note"]),
			"limit":          cmp.Diff("2", spec.Containers[0].Resources.Limits.Cpu().String()),
			"pull secrets":   cmp.Diff([]corev1.LocalObjectReference{{Name: "registry"}}, spec.ImagePullSecrets),
			"image":          cmp.Diff("registry.example.org/mcptasks:0.1.0", spec.Containers[0].Image),
		} {
			if diff != "" {
				t.Errorf("%s: %s: %s", component, what, diff)
			}
		}
	}
}
