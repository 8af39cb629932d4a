package task

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// failureAction is what a Job's podFailurePolicy says of a failed pod, as the Job controller reads it: the first rule that
// matches decides, and where none does, the failure is counted.
func failureAction(policy *batchv1.PodFailurePolicy, pod *corev1.Pod) batchv1.PodFailurePolicyAction {
	if policy != nil {
		for i := range policy.Rules {
			if rule := &policy.Rules[i]; matchesExit(rule.OnExitCodes, pod) || matchesCondition(rule.OnPodConditions, pod) {
				return rule.Action
			}
		}
	}
	return batchv1.PodFailurePolicyActionCount
}

func matchesExit(on *batchv1.PodFailurePolicyOnExitCodesRequirement, pod *corev1.Pod) bool {
	if on == nil {
		return false
	}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		t := s.State.Terminated
		if t == nil || t.ExitCode == 0 || on.ContainerName != nil && *on.ContainerName != s.Name {
			continue
		}
		if slices.Contains(on.Values, t.ExitCode) == (on.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn) {
			return true
		}
	}
	return false
}

func matchesCondition(on []batchv1.PodFailurePolicyOnPodConditionsPattern, pod *corev1.Pod) bool {
	return slices.ContainsFunc(on, func(pattern batchv1.PodFailurePolicyOnPodConditionsPattern) bool {
		return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == pattern.Type && c.Status == pattern.Status
		})
	})
}

// ignores reports whether the policy leaves any failure out of the count.
func ignores(policy *batchv1.PodFailurePolicy) bool {
	return policy != nil && slices.ContainsFunc(policy.Rules, func(rule batchv1.PodFailurePolicyRule) bool {
		return rule.Action == batchv1.PodFailurePolicyActionIgnore
	})
}
