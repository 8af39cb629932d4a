package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

func TestExpiryComesInTime(t *testing.T) {
	now := time.Now()
	c := expiryController{clock: testclock.NewFakePassiveClock(now)}
	expires := func(in time.Duration) *v1alpha1.MCPTask {
		return &v1alpha1.MCPTask{Status: v1alpha1.MCPTaskStatus{
			State: v1alpha1.StateCompleted, ExpiresAt: &metav1.Time{Time: now.Add(in)},
		}}
	}
	for name, c2 := range map[string]struct {
		task *v1alpha1.MCPTask
		wait time.Duration
		due  bool
	}{
		"in a while":  {expires(time.Hour), time.Hour, true},
		"in a moment": {expires(time.Millisecond), time.Millisecond, true},
		"now":         {expires(0), 0, true},
		"long ago":    {expires(-time.Hour), 0, true},
		"never":       {&v1alpha1.MCPTask{Status: v1alpha1.MCPTaskStatus{State: v1alpha1.StateCompleted}}, 0, false},
		"not finished, whatever it says": {&v1alpha1.MCPTask{Status: v1alpha1.MCPTaskStatus{
			State: v1alpha1.StateWorking, ExpiresAt: &metav1.Time{Time: now},
		}}, 0, false},
		"being deleted": {&v1alpha1.MCPTask{
			ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: now}}, Status: expires(0).Status,
		}, 0, false},
	} {
		got, due := c.left(c2.task)
		if due != c2.due || got.RequeueAfter != c2.wait {
			t.Errorf("%s: wait %v, due %v; want %v, %v", name, got.RequeueAfter, due, c2.wait, c2.due)
		}
	}
}
