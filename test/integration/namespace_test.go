package integration

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// kubelet plays the kubelet for pods that are being deleted: they stop at once. It ends with the test.
func (w *world) kubelet() {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	changes := w.watch(ctx, &corev1.PodList{}, client.InNamespace(w.ns))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for change := range changes.ResultChan() {
			pod, ok := change.Object.(*corev1.Pod)
			if !ok || pod.DeletionTimestamp == nil || change.Type == "DELETED" {
				continue
			}
			err := admin.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && ctx.Err() == nil {
				w.Errorf("stop pod %s: %v", pod.Name, err)
			}
		}
	}()
	w.Cleanup(func() { cancel(); <-done })
}

// A tenant's namespace goes away with tasks in any state, whether a controller runs or not: nothing of ours holds it.
func TestNamespaceGoesAway_B14(t *testing.T) {
	for name, running := range map[string]bool{"B14: with the controller": true, "B14: without it": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.kubelet()
			w.logs.set("done", nil)
			stop := w.controller()
			w.finished(named("finished"))
			asked := w.ask(named("asks"), asks("sure"))
			busy := w.call(w.tool(named("busy")))
			w.runs(w.pod(busy))
			w.awaitReason(busy, v1alpha1.ReasonRunning)
			starting := w.call(w.newToolRef(busy))
			w.pod(starting)
			if !running {
				stop()
			}
			for _, task := range []*v1alpha1.MCPTask{asked, busy, starting} {
				if len(task.Finalizers) != 0 {
					t.Errorf("the task has finalizers: %v", task.Finalizers)
				}
			}
			w.deleteNamespace()
			if !running { // nor does a controller that comes too late
				w.controller()
			}
			w.awaitNamespaceGone()
		})
	}
}

func (w *world) deleteNamespace() {
	w.Helper()
	w.must(admin.Delete(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}))
}

func (w *world) awaitNamespaceGone() {
	w.Helper()
	// Kubernetes looks through all kinds of objects for each namespace, and takes its time where many go at once.
	ctx, cancel := context.WithTimeout(w.ctx, 5*patience)
	defer cancel()
	changes := w.watch(ctx, &corev1.NamespaceList{}, client.MatchingFields{"metadata.name": w.ns})
	defer changes.Stop()
	ns := &corev1.Namespace{}
	if err := admin.Get(ctx, client.ObjectKey{Name: w.ns}, ns); apierrors.IsNotFound(err) {
		return
	}
	for change := range changes.ResultChan() {
		if change.Type == "DELETED" {
			return
		}
	}
	w.must(admin.Get(w.ctx, client.ObjectKey{Name: w.ns}, ns))
	w.Fatalf("the namespace stays: %+v", ns.Status)
}
