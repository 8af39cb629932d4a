package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/kube"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// pod changes the template's pod.
func (b *toolBuilder) pod(change func(*corev1.PodSpec)) *toolBuilder {
	change(&b.tool.Spec.JobTemplate.Spec.Template.Spec)
	return b
}

// main changes the template's container.
func (b *toolBuilder) main(change func(*corev1.Container)) *toolBuilder {
	return b.pod(func(p *corev1.PodSpec) { change(&p.Containers[0]) })
}

// job changes the Job's template.
func (b *toolBuilder) job(change func(*batchv1.JobTemplateSpec)) *toolBuilder {
	change(&b.tool.Spec.JobTemplate)
	return b
}

func (b *toolBuilder) startsWithin(d time.Duration) *toolBuilder {
	b.tool.Spec.Execution.StartupDeadline = metav1.Duration{Duration: d}
	return b
}

// says waits until the task's status message has these words in it.
func (x *tenant) says(id, words string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	task := &v1alpha1.MCPTask{}
	err := cluster.Wait(ctx, task, x.key(id), func() bool { return strings.Contains(task.Status.Message, words) })
	if err != nil {
		x.t.Fatalf("task %s is %s (%s), and never says %q: %v", id, task.Status.Reason, task.Status.Message, words, err)
	}
}

// fails waits for the end of a task, which has to be failed for that reason and in these words.
func (x *tenant) fails(c *mcpclient.Client, id, reason, words string) {
	x.t.Helper()
	task := x.wait(c, id)
	if task.Status != "failed" || task.Error == nil || task.Error.Code != -32603 || !strings.Contains(task.Error.Message, words) {
		x.t.Errorf("the task is %s: %v, want an error about %s", task.Status, task.Error, words)
		return
	}
	var data struct{ Reason string }
	x.must(json.Unmarshal(task.Error.Data, &data))
	if data.Reason != reason {
		x.t.Errorf("the reason is %s, want %s", data.Reason, reason)
	}
	x.waitStopped(id)
}

// greets waits for the end of a task of toolbox greet --name=you.
func (x *tenant) greets(c *mcpclient.Client, id string) {
	x.t.Helper()
	if task := x.wait(c, id); task.Status != "completed" || task.Result == nil || task.Result.Text() != "Hello, you!" {
		x.t.Errorf("the task is %s (%s), result %+v", task.Status, task.StatusMessage, task.Result)
	}
}

func greeting(name string) *toolBuilder { return tool(name, "greet", "--name=you") }

const short = 20 * time.Second

func TestJob_B05_ImageCannotBePulled(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	image := func(name, image string, policy corev1.PullPolicy) *toolBuilder {
		return greeting(name).startsWithin(short).main(func(c *corev1.Container) { c.Image, c.ImagePullPolicy = image, policy })
	}
	x.offer(image("nowhere", "no.such.host.invalid/a:1", corev1.PullAlways))
	x.offer(image("upper", "UPPER/Case", corev1.PullAlways))
	x.offer(image("never", "example.invalid/never:1", corev1.PullNever))
	c := x.replicas(1)[0]
	nowhere, upper, never := x.call(c, "nowhere", nil), x.call(c, "upper", nil), x.call(c, "never", nil)
	x.fails(c, upper, v1alpha1.ReasonImagePullFailed, "The image name UPPER/Case is not valid.")
	x.fails(c, never, v1alpha1.ReasonImagePullFailed, "is not on the node, and the tool's imagePullPolicy is Never.")
	x.says(nowhere, "The image no.such.host.invalid/a:1 cannot be pulled: ")
	x.fails(c, nowhere, v1alpha1.ReasonImagePullFailed,
		"It did not start within 20s. The image no.such.host.invalid/a:1 cannot be pulled")
}

func TestJob_B06_ContainerCannotBeCreated(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	fromSecret := func(b *toolBuilder, secret, key string) *toolBuilder {
		return b.main(func(c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key,
			}}}}
		})
	}
	volume := func(b *toolBuilder, source corev1.VolumeSource) *toolBuilder {
		return b.pod(func(p *corev1.PodSpec) {
			p.Volumes = append(p.Volumes, corev1.Volume{Name: "data", VolumeSource: source})
			p.Containers[0].VolumeMounts = append(p.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "data", MountPath: "/data"})
		})
	}
	app := corev1.LocalObjectReference{Name: "app"}
	config := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: app}}
	claim := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "disk"}}
	x.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "db"}, StringData: map[string]string{"user": "u-n-s-a-i-d"},
	})
	x.offer(fromSecret(greeting("late"), "later", "password"))
	x.offer(fromSecret(greeting("key").startsWithin(short), "db", "password"))
	x.offer(volume(greeting("config").startsWithin(short), config))
	x.offer(volume(greeting("claim").startsWithin(short), claim))
	c := x.replicas(1)[0]
	late, key := x.call(c, "late", nil), x.call(c, "key", nil)
	configured, claimed := x.call(c, "config", nil), x.call(c, "claim", nil)

	x.says(late, `The container tool cannot be created: secret "later" not found.`)
	x.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "later"}, StringData: map[string]string{"password": "x"},
	})
	x.greets(c, late)
	x.fails(c, key, v1alpha1.ReasonCannotStart, "couldn't find key password in Secret")
	x.fails(c, configured, v1alpha1.ReasonCannotStart, `A volume cannot be mounted yet: `)
	x.fails(c, claimed, v1alpha1.ReasonUnschedulable, `persistentvolumeclaim "disk" not found`)
	for _, id := range []string{late, key, configured} {
		if message := x.record(id).Status.Message; strings.Contains(message, "u-n-s-a-i-d") {
			t.Errorf("the message has a secret's value: %s", message)
		}
	}
}

func TestJob_B07_NoNode(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	label := "mcptasks.dev/e2e-" + x.namespace
	selecting := func(b *toolBuilder) *toolBuilder {
		return b.pod(func(p *corev1.PodSpec) { p.NodeSelector = map[string]string{label: "yes"} })
	}
	x.offer(selecting(greeting("arrives")))
	x.offer(selecting(greeting("never").startsWithin(short)))
	x.offer(greeting("gpu").startsWithin(short).main(func(c *corev1.Container) {
		c.Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("99")}
	}))
	x.offer(greeting("gated").startsWithin(short).pod(func(p *corev1.PodSpec) {
		p.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.org/gate"}}
	}))
	c := x.replicas(1)[0]
	arrives, never := x.call(c, "arrives", nil), x.call(c, "never", nil)
	gpu, gated := x.call(c, "gpu", nil), x.call(c, "gated", nil)
	x.says(gpu, "Waiting for a node: insufficient nvidia.com/gpu.")
	x.says(gated, "Held back by a scheduling gate")
	x.fails(c, never, v1alpha1.ReasonUnschedulable, "didn't match Pod's node affinity/selector")
	x.fails(c, gpu, v1alpha1.ReasonUnschedulable, "insufficient nvidia.com/gpu")
	x.fails(c, gated, v1alpha1.ReasonUnschedulable, "scheduling gate")

	nodes := &corev1.NodeList{}
	x.must(cluster.List(x.ctx, nodes))
	mark := func(ctx context.Context, value any) error {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{label: value}}})
		if err != nil {
			return err
		}
		return cluster.Patch(ctx, &nodes.Items[0], client.RawPatch("application/merge-patch+json", patch))
	}
	t.Cleanup(func() {
		if err := mark(context.Background(), nil); err != nil {
			t.Errorf("take the label off the node: %v", err)
		}
	})
	x.must(mark(x.ctx, "yes"))
	x.greets(c, arrives)
}

func TestJob_B08_PodIsRefused(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	c := x.replicas(1)[0]

	x.offer(greeting("root").main(func(c *corev1.Container) { c.SecurityContext.AllowPrivilegeEscalation = ptr.To(true) }))
	x.fails(c, x.call(c, "root", nil), v1alpha1.ReasonRejected, `violates PodSecurity "restricted:latest": allowPrivilegeEscalation`)

	x.offer(greeting("greet"))
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "pods"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	x.create(quota)
	id := x.call(c, "greet", nil)
	x.says(id, "Waiting for room in the quota: exceeded quota: pods, requested: pods=1")
	before := x.record(id).Status.Job
	x.must(cluster.Delete(x.ctx, quota))
	x.greets(c, id)
	if after := x.record(id).Status.Job; *after != *before {
		t.Errorf("the Job was %+v, and is %+v", before, after)
	}

	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "small"}}
	limits.Spec.Limits = []corev1.LimitRangeItem{{
		Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
	}}
	x.create(limits)
	x.offer(greeting("large").main(func(c *corev1.Container) {
		c.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	}))
	x.fails(c, x.call(c, "large", nil), v1alpha1.ReasonRejected, "maximum cpu usage per Container is 100m, but limit is 1")
	x.must(cluster.Delete(x.ctx, limits))

	cpu := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "cpu"}}
	cpu.Spec.Hard = corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse("1")}
	x.create(cpu)
	x.fails(c, x.call(c, "greet", nil), v1alpha1.ReasonRejected, "must specify requests.cpu")
	x.must(cluster.Delete(x.ctx, cpu))
}

// TestJob_B08_AdmissionOfPods: a policy that says no is final, a webhook that does not answer is waited for.
func TestJob_B08_AdmissionOfPods(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	c := x.replicas(1)[0]
	pods := admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}}
	create := []admissionregistrationv1.OperationType{admissionregistrationv1.Create}
	here := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": x.namespace}}
	temporary := func(obj client.Object) (remove func()) {
		x.create(obj)
		remove = func() { x.must(client.IgnoreNotFound(cluster.Delete(context.Background(), obj))) }
		t.Cleanup(remove)
		return remove
	}

	x.offer(greeting("greet"))
	webhook := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: x.namespace}}
	webhook.Webhooks = []admissionregistrationv1.ValidatingWebhook{{
		Name: "down.example.org", AdmissionReviewVersions: []string{"v1"},
		SideEffects:   ptr.To(admissionregistrationv1.SideEffectClassNone),
		FailurePolicy: ptr.To(admissionregistrationv1.Fail), NamespaceSelector: here,
		Rules: []admissionregistrationv1.RuleWithOperations{{Operations: create, Rule: pods}},
		ClientConfig: admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Namespace: x.namespace, Name: "nobody"},
		},
	}}
	remove := temporary(webhook)
	waiting := x.call(c, "greet", nil)
	x.says(waiting, `The pod cannot be created yet: Internal error occurred: failed calling webhook "down.example.org"`)
	remove()
	x.greets(c, waiting)

	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: x.namespace}}
	policy.Spec = admissionregistrationv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: ptr.To(admissionregistrationv1.Fail),
		MatchConstraints: &admissionregistrationv1.MatchResources{NamespaceSelector: here,
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{Operations: create, Rule: pods},
			}}},
		Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "not on a Friday"}},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: x.namespace}}
	binding.Spec = admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
	}
	temporary(policy)
	temporary(binding)
	// A new policy takes the API server a moment; a dry run tells when.
	probe := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "probe"}}
	probe.Spec = tool("probe", "greet").tool.Spec.JobTemplate.Spec.Template.Spec
	x.refuses(probe)
	x.fails(c, x.call(c, "greet", nil), v1alpha1.ReasonRejected, "not on a Friday")
}

// TestJob_C09_KueueSample runs the sample of Kueue's documentation as a tool, on a cluster without Kueue: the test is the queue.
func TestJob_C09_KueueSample(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	sample := func(name string) *toolBuilder {
		return greeting(name).job(func(j *batchv1.JobTemplateSpec) {
			j.GenerateName = "sample-job-"
			j.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "user-queue"}
			j.Spec.Parallelism, j.Spec.Completions, j.Spec.Suspend = ptr.To(int32(3)), ptr.To(int32(3)), ptr.To(true)
			j.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi"),
			}
		})
	}
	forgotten := sample("forgotten")
	forgotten.tool.Spec.Execution.QueueDeadline = metav1.Duration{Duration: 5 * time.Second}
	x.offer(sample("sample").startsWithin(time.Minute))
	x.offer(forgotten)
	c := x.replicas(1)[0]

	id := x.call(c, "sample", nil)
	x.says(id, "Queued until the queue user-queue admits it.")
	x.fails(c, x.call(c, "forgotten", nil), v1alpha1.ReasonNotAdmitted,
		"It was not admitted within 5s. Queued until the queue user-queue admits it.")

	job := &batchv1.Job{}
	x.must(cluster.Get(x.ctx, x.key(id), job))
	if job.Labels["kueue.x-k8s.io/queue-name"] != "user-queue" || job.Name != id {
		t.Errorf("the Job is %s with the labels %v", job.Name, job.Labels)
	}
	if pods, err := x.pods(x.ctx, id); err != nil || len(pods) != 0 {
		t.Errorf("there are %d pods in the queue (%v)", len(pods), err)
	}
	x.must(cluster.Patch(x.ctx, job, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":false}}`))))
	task := x.wait(c, id)
	if task.Status != "completed" || task.Result == nil || task.Result.IsError ||
		strings.Count(task.Result.Text(), "Hello, you!") != 3 {
		t.Errorf("the task is %s (%s), result %+v", task.Status, task.StatusMessage, task.Result)
	}
}

// refuses waits until the API server refuses an object, which it is not meant to create.
func (x *tenant) refuses(obj client.Object) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	x.must(kube.Poll(ctx, func(ctx context.Context) (bool, error) {
		clone, _ := obj.DeepCopyObject().(client.Object)
		err := cluster.Create(ctx, clone, client.DryRunAll)
		return apierrors.IsForbidden(err) || apierrors.IsInvalid(err), nil
	}))
}
