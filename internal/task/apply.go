package task

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// Apply puts a verdict on the record: it changes t.Status and reports whether there is anything to write. job is the task's Job,
// nil where there is none; once a Job is on the record it stays there.
//
// A passing verdict that does not change the state is left out; it is not worth a write.
func Apply(v Verdict, t *v1alpha1.MCPTask, job *batchv1.Job, now time.Time) bool {
	if t.Status.State.Terminal() {
		return false
	}
	before := t.Status.DeepCopy()
	s := &t.Status
	if s.Job == nil && job != nil {
		s.Job = &v1alpha1.JobReference{Name: job.Name, UID: job.UID}
	}
	// That a task is at work, which clients take for granted, is no news either, before there is a Job.
	noNews := s.State == "" && v.State == v1alpha1.StateWorking && s.Job == nil
	if !v.Passing || s.State != v.State && !noNews {
		s.State, s.Reason, s.Message = v.State, v.Reason, v.Message
		s.Result, s.Error = v.Result, v.Error
		// The Job controller notes a suspension a moment after it began; that is no other one.
		if by := v.AdmitBy; !by.IsZero() && (s.AdmitBy == nil || by.Sub(s.AdmitBy.Time).Abs() >= settling) {
			s.AdmitBy = &metav1.MicroTime{Time: by}
		}
	}
	for key, q := range v.Questions {
		if s.Questions == nil {
			s.Questions = map[string]v1alpha1.Question{}
		}
		s.Questions[key] = q
	}
	applyInputRequired(t, now)
	if started := v.StartedAt; s.StartedAt == nil && !started.IsZero() && !v.Passing {
		s.StartedAt = &metav1.MicroTime{Time: started}
		setTrue(t, v1alpha1.ConditionStarted, v1alpha1.ReasonRunning, "The main container ran.", started)
	}
	if s.State.Terminal() {
		s.Log = v.Log
		s.FinishedAt = &metav1.MicroTime{Time: now}
		s.ExpiresAt = ExpiresAt(t, now)
		setTrue(t, v1alpha1.ConditionFinished, s.Reason, s.Message, now)
	}
	if reflect.DeepEqual(before, s) {
		return false
	}
	s.LastUpdatedAt = &metav1.MicroTime{Time: now}
	return true
}

// applyInputRequired keeps the condition of that name, which tasks without questions never have.
func applyInputRequired(t *v1alpha1.MCPTask, now time.Time) {
	if t.Status.State == v1alpha1.StateInputRequired {
		setTrue(t, v1alpha1.ConditionInputRequired, t.Status.Reason, t.Status.Message, now)
		return
	}
	if meta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionInputRequired) {
		meta.SetStatusCondition(&t.Status.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionInputRequired, Status: metav1.ConditionFalse, ObservedGeneration: t.Generation,
			Reason: t.Status.Reason, Message: "No question is open.", LastTransitionTime: metav1.NewTime(now),
		})
	}
}

func setTrue(t *v1alpha1.MCPTask, condition, reason, message string, at time.Time) {
	meta.SetStatusCondition(&t.Status.Conditions, metav1.Condition{
		Type: condition, Status: metav1.ConditionTrue, ObservedGeneration: t.Generation,
		Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(at),
	})
}
