package draft

import (
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// leaveOut takes out of the template what mcptasks sets itself, and moves it to the tool's execution.
func (d *draft) leaveOut() {
	if d.cron != nil {
		d.drop("the CronJob's schedule", "agents call a tool when they want to; keep the CronJob where it is to run by the clock too")
	}
	t := &d.template
	d.leaveOutMeta(&t.ObjectMeta, "metadata")
	d.leaveOutMeta(&t.Spec.Template.ObjectMeta, "spec.template.metadata")

	s := &t.Spec
	d.execution.perIndex = s.BackoffLimitPerIndex != nil
	if d.execution.perIndex && s.BackoffLimit != nil {
		d.drop("spec.backoffLimit", "a tool with backoffLimitPerIndex has no limit for all indexes together")
		s.BackoffLimit = nil
	}
	if s.BackoffLimit != nil {
		d.execution.retries, d.execution.retriesSet = min(*s.BackoffLimit, maxRetries), true
		if *s.BackoffLimit > maxRetries {
			d.warn("backoffLimit is %d; a tool has at most %d retries.", *s.BackoffLimit, maxRetries)
		}
		d.drop("spec.backoffLimit", "is execution.retries")
		s.BackoffLimit = nil
	}
	pod := &s.Template.Spec
	for _, limit := range []struct {
		at    string
		value **int64
	}{{"spec.activeDeadlineSeconds", &s.ActiveDeadlineSeconds},
		{"spec.template.spec.activeDeadlineSeconds", &pod.ActiveDeadlineSeconds}} {
		if *limit.value == nil {
			continue
		}
		seconds := max(**limit.value, 1)
		if longest := int64(maxDeadline / time.Second); seconds > longest {
			d.warn("%s is %d; a tool may run for at most %d seconds.", limit.at, seconds, longest)
			seconds = longest
		}
		if deadline := time.Duration(seconds) * time.Second; d.execution.deadline == 0 || deadline < d.execution.deadline {
			d.execution.deadline = deadline
		}
		d.drop(limit.at, "is execution.deadline, which counts from when a pod runs")
		*limit.value = nil
	}
	if s.TTLSecondsAfterFinished != nil {
		d.execution.retention = min(time.Duration(*s.TTLSecondsAfterFinished)*time.Second, maxRetention)
		d.execution.keep = true
		d.drop("spec.ttlSecondsAfterFinished",
			"is execution.retention.job, which counts from when the result is on the record and so loses none")
		s.TTLSecondsAfterFinished = nil
	}
	if s.PodReplacementPolicy != nil && *s.PodReplacementPolicy != batchv1.Failed {
		d.drop("spec.podReplacementPolicy", "is always Failed, so that a tool never runs twice at a time")
		s.PodReplacementPolicy = nil
	}
	switch {
	case s.Suspend == nil:
	case *s.Suspend:
		d.warn("The Job is created suspended: each call waits until a queue such as Kueue, or somebody, resumes it, at most " +
			"execution.queueDeadline.")
	default:
		s.Suspend = nil
	}
	if s.Selector != nil || s.ManualSelector != nil {
		d.drop("spec.selector", "each Job selects its own pods")
		s.Selector, s.ManualSelector = nil, nil
	}
	if s.ManagedBy != nil {
		if *s.ManagedBy != batchv1.JobControllerName {
			d.drop("spec.managedBy", "tools are run by Kubernetes' own Job controller")
		}
		s.ManagedBy = nil
	}
	d.leaveOutRestarts(pod)
	if pod.DeprecatedServiceAccount == pod.ServiceAccountName {
		pod.DeprecatedServiceAccount = ""
	}
}

func (d *draft) leaveOutRestarts(pod *corev1.PodSpec) {
	if pod.RestartPolicy == corev1.RestartPolicyOnFailure {
		d.drop("restartPolicy: OnFailure",
			"is Never, for else Kubernetes throws the log of a failed run away; execution.retries starts new pods")
		d.warn("restartPolicy was OnFailure; the draft has Never, and after a failure a new pod starts with empty emptyDir volumes.")
	}
	pod.RestartPolicy = corev1.RestartPolicyNever
	for i := range pod.Containers {
		c := &pod.Containers[i]
		if c.RestartPolicy != nil || len(c.RestartPolicyRules) > 0 {
			d.drop("restartPolicy of the container "+c.Name, "containers are not restarted in place; use execution.retries")
			c.RestartPolicy, c.RestartPolicyRules = nil, nil
		}
	}
}

// ofOthers are prefixes of labels and annotations that say who made an object, not what it does.
var ofOthers = []string{
	"kubectl.kubernetes.io/last-applied-configuration", "kubectl.kubernetes.io/restartedAt", "batch.kubernetes.io/", "helm.sh/",
	"meta.helm.sh/", "argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", v1alpha1.Group + "/",
	"app.kubernetes.io/managed-by", "controller-uid", "job-name",
}

// leaveOutMeta keeps of the metadata of a Job or a pod what its labels and annotations say to others.
func (d *draft) leaveOutMeta(meta *metav1.ObjectMeta, at string) {
	if meta.Namespace != "" {
		d.drop(at+".namespace", "Jobs are created in the namespace of the calling tenant")
	}
	if len(meta.OwnerReferences) > 0 || len(meta.Finalizers) > 0 {
		d.drop(at+".ownerReferences and finalizers", "each Job is owned by the MCPTask of its call")
	}
	var removed []string
	for _, entries := range []map[string]string{meta.Labels, meta.Annotations} {
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			other := func(prefix string) bool {
				return key == prefix || strings.HasSuffix(prefix, "/") && strings.HasPrefix(key, prefix)
			}
			if slices.ContainsFunc(ofOthers, other) || isDescription(key) {
				if !isDescription(key) {
					removed = append(removed, key)
				}
				delete(entries, key)
			}
		}
	}
	if len(removed) > 0 {
		d.drop(at+": "+strings.Join(slices.Compact(removed), ", "), "say who made this object; a tool's Jobs are made by mcptasks")
	}
	*meta = metav1.ObjectMeta{Labels: meta.Labels, Annotations: meta.Annotations}
}
