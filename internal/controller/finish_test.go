package controller

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/internal/task"
)

func TestLeftoverDeadline(t *testing.T) {
	now := time.Now()
	running := func(containers int) *task.Observation {
		pod := corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, containers)}}
		start := metav1.NewTime(now.Add(-90 * time.Second))
		return &task.Observation{Now: now, Job: &batchv1.Job{Status: batchv1.JobStatus{StartTime: &start}}, Pods: []corev1.Pod{pod}}
	}
	for _, c := range []struct {
		name   string
		change func(o *task.Observation)
		pods   int
		want   int64
	}{
		{"a pod with one container ends by itself", func(*task.Observation) {}, 1, 0},
		{"one with others is ended half a minute from now", func(*task.Observation) {}, 2, 120},
		{"a Job that is over needs no deadline", func(o *task.Observation) {
			o.Job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		}, 2, 0},
		{"an earlier deadline stays", func(o *task.Observation) { d := int64(100); o.Job.Spec.ActiveDeadlineSeconds = &d }, 2, 0},
		{"a later deadline is moved", func(o *task.Observation) { d := int64(500); o.Job.Spec.ActiveDeadlineSeconds = &d }, 2, 120},
		{"a Job that does not say yet when it started counts from its creation", func(o *task.Observation) {
			o.Job.Status.StartTime = nil
			o.Job.CreationTimestamp = metav1.NewTime(now.Add(-2 * time.Second))
		}, 2, 32},
	} {
		o := running(c.pods)
		c.change(o)
		if got := leftoverDeadline(o); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestWholeSeconds(t *testing.T) {
	for d, want := range map[time.Duration]int64{0: 0, 1: 1, time.Second: 1, time.Second + 1: 2, time.Hour: 3600} {
		if got := wholeSeconds(d); got != want {
			t.Errorf("%v: %d, want %d", d, got, want)
		}
	}
}
