package task

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// The rules of a podFailurePolicy are read as the Job controller reads them.
func TestFailureAction_C05(t *testing.T) {
	const (
		count  = batchv1.PodFailurePolicyActionCount
		ignore = batchv1.PodFailurePolicyActionIgnore
		fail   = batchv1.PodFailurePolicyActionFailJob
	)
	exit := func(action batchv1.PodFailurePolicyAction, container *string, in bool, values ...int32) batchv1.PodFailurePolicyRule {
		operator := batchv1.PodFailurePolicyOnExitCodesOpNotIn
		if in {
			operator = batchv1.PodFailurePolicyOnExitCodesOpIn
		}
		return batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			ContainerName: container, Operator: operator, Values: values,
		}}
	}
	ended := func(name string, code int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code},
		}}
	}
	running := corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	disrupted := func(status corev1.ConditionStatus) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: status}}
	}
	for name, c := range map[string]struct {
		rules  []batchv1.PodFailurePolicyRule
		status corev1.PodStatus
		want   batchv1.PodFailurePolicyAction
	}{
		"no rule": {nil, corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{ended("main", 1)}}, count},
		"the code": {[]batchv1.PodFailurePolicyRule{exit(fail, nil, true, 42)},
			corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{ended("main", 42)}}, fail},
		"another code": {[]batchv1.PodFailurePolicyRule{exit(fail, nil, true, 42)},
			corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{ended("main", 41)}}, count},
		"none of the codes": {[]batchv1.PodFailurePolicyRule{exit(ignore, nil, false, 42)},
			corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{ended("main", 41)}}, ignore},
		"a code that is no failure": {[]batchv1.PodFailurePolicyRule{exit(ignore, nil, false, 42)},
			corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{ended("main", 0)}}, count},
		"of another container": {[]batchv1.PodFailurePolicyRule{exit(fail, ptr.To("main"), true, 42)},
			corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{ended("proxy", 42), ended("main", 1)}}, count},
		"of an init container": {[]batchv1.PodFailurePolicyRule{exit(fail, nil, true, 42)},
			corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{ended("clone", 42)}}, fail},
		"not ended yet": {[]batchv1.PodFailurePolicyRule{exit(fail, nil, false, 42)},
			corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{running}}, count},
		"disrupted": {[]batchv1.PodFailurePolicyRule{ignoreDisruptions},
			corev1.PodStatus{Conditions: disrupted(corev1.ConditionTrue)}, ignore},
		"not disrupted": {[]batchv1.PodFailurePolicyRule{ignoreDisruptions},
			corev1.PodStatus{Conditions: disrupted(corev1.ConditionFalse)}, count},
		"the first rule that matches": {[]batchv1.PodFailurePolicyRule{exit(fail, nil, true, 42), ignoreDisruptions},
			corev1.PodStatus{
				Conditions: disrupted(corev1.ConditionTrue), ContainerStatuses: []corev1.ContainerStatus{ended("main", 42)},
			}, fail},
	} {
		t.Run(name, func(t *testing.T) {
			policy := &batchv1.PodFailurePolicy{Rules: c.rules}
			if got := failureAction(policy, &corev1.Pod{Status: c.status}); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	if got := failureAction(nil, &corev1.Pod{}); got != count {
		t.Errorf("without a policy: %s", got)
	}
}
