package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

// pod is the first pod of the task's Job, once the Job controller has made it.
func (w *world) pod(t *v1alpha1.MCPTask) *corev1.Pod {
	w.Helper()
	return w.podWith(t, nil)
}

// index is the pod of a completion index of the task's Job, once the Job controller has made it: the first one, or the next after
// others.
func (w *world) index(t *v1alpha1.MCPTask, n int, others ...*corev1.Pod) *corev1.Pod {
	w.Helper()
	return w.podWith(t, map[string]string{batchv1.JobCompletionIndexAnnotation: strconv.Itoa(n)}, others...)
}

// podWith is a pod of the task's Job that has the labels and is none of the others.
func (w *world) podWith(t *v1alpha1.MCPTask, labels map[string]string, others ...*corev1.Pod) *corev1.Pod {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	match := client.MatchingLabels{v1alpha1.LabelTask: t.Name}
	maps.Copy(match, labels)
	changes := w.watch(ctx, &corev1.PodList{}, client.InNamespace(w.ns), match)
	defer changes.Stop()
	for change := range changes.ResultChan() {
		pod, ok := change.Object.(*corev1.Pod)
		known := ok && slices.ContainsFunc(others, func(other *corev1.Pod) bool { return other.UID == pod.UID })
		if ok && !known && change.Type != "DELETED" {
			return pod
		}
	}
	w.Fatalf("waited in vain for a pod of %s", t.Name)
	return nil
}

// schedule gives a pod its node, as the scheduler does.
func (w *world) schedule(pod *corev1.Pod) {
	w.Helper()
	to := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	w.must(admin.SubResource("binding").Create(w.ctx, pod, to))
}

// runs is the kubelet's word that the pod's containers run.
func (w *world) runs(pod *corev1.Pod) {
	w.Helper()
	w.schedule(pod)
	w.setStatus(pod, func(s *corev1.PodStatus) {
		now := metav1.Now()
		s.Phase, s.StartTime = corev1.PodRunning, &now
		for _, c := range pod.Spec.Containers {
			s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{
				Name: c.Name, Image: c.Image, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
			})
		}
	})
}

// waits is the kubelet's word that the first container cannot be started yet.
func (w *world) waits(pod *corev1.Pod, reason, message string) {
	w.Helper()
	w.schedule(pod)
	w.setStatus(pod, func(s *corev1.PodStatus) {
		s.Phase = corev1.PodPending
		s.ContainerStatuses = []corev1.ContainerStatus{{
			Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}
	})
}

// exits is the kubelet's word that a running container has ended; with the last one, the pod has.
func (w *world) exits(pod *corev1.Pod, container string, code int32) {
	w.Helper()
	w.setStatus(pod, func(s *corev1.PodStatus) { terminate(s, container, code) })
}

// terminate is what the kubelet writes when a container has ended.
func terminate(s *corev1.PodStatus, container string, code int32) {
	over := true
	for i := range s.ContainerStatuses {
		state := &s.ContainerStatuses[i].State
		if s.ContainerStatuses[i].Name == container {
			*state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: code, Reason: "Completed", StartedAt: metav1.Now(), FinishedAt: metav1.Now(),
			}}
		}
		over = over && state.Terminated != nil
	}
	switch {
	case over && code == 0:
		s.Phase = corev1.PodSucceeded
	case over:
		s.Phase = corev1.PodFailed
	}
}

// setStatus changes the pod's status in one write.
func (w *world) setStatus(pod *corev1.Pod, change func(*corev1.PodStatus)) {
	w.Helper()
	w.must(admin.Get(w.ctx, client.ObjectKeyFromObject(pod), pod))
	before := pod.DeepCopy()
	change(&pod.Status)
	w.must(admin.Status().Patch(w.ctx, pod, client.MergeFrom(before)))
}

// stops is what the kubelet does with a pod that is being deleted: its container gets SIGTERM and exits, and the pod goes.
func (w *world) stops(pod *corev1.Pod, code int32) {
	w.Helper()
	await(w, pod, "the pod's deletion to begin", func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
	w.exits(pod, pod.Spec.Containers[0].Name, code)
	w.removes(pod)
}

// removes is the kubelet's word that nothing is left of a pod that was being deleted.
func (w *world) removes(pod *corev1.Pod) {
	w.Helper()
	await(w, pod, "the pod's deletion to begin", func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
	now := client.GracePeriodSeconds(0)
	w.must(client.IgnoreNotFound(admin.Delete(w.ctx, pod, now, client.Preconditions{UID: &pod.UID})))
	w.awaitGone(pod)
}

// logs are what containers have written: the same text for all pods of a test but those that have their own, or an error.
type logs struct {
	mu   sync.Mutex
	text string
	own  map[string]string
	err  error
	read int
}

// Tail implements controller.LogReader.
func (l *logs) Tail(_ context.Context, pod types.NamespacedName, container string, limit int64) (job.Output, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read++
	if l.err != nil {
		return job.Output{}, l.err
	}
	if pod.Name == "" || container == "" || limit <= 0 {
		return job.Output{}, fmt.Errorf("asked for %d bytes of container %q of pod %q", limit, container, pod)
	}
	text, ok := l.own[pod.Name]
	if !ok {
		text = l.text
	}
	return job.Output{Data: []byte(text), Total: int64(len(text))}, nil
}

// of sets what the container of one pod has written.
func (l *logs) of(pod *corev1.Pod, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own == nil {
		l.own = map[string]string{}
	}
	l.own[pod.Name] = text
}

// Errors implements controller.LogReader for a cluster that keeps no streams apart.
func (l *logs) Errors(context.Context, types.NamespacedName, string, int64) ([]byte, int64, error) {
	return nil, 0, errors.New("stream: Forbidden: may not be specified")
}

func (l *logs) set(text string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text, l.err = text, err
}

func (l *logs) reads() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read
}
