package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

func TestLedger(t *testing.T) {
	version := func(uid types.UID, v, message string) *v1alpha1.MCPTask {
		return &v1alpha1.MCPTask{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "t", UID: uid, ResourceVersion: v},
			Status:     v1alpha1.MCPTaskStatus{Message: message},
		}
	}
	for _, c := range []struct {
		name            string
		cached, written *v1alpha1.MCPTask
		want            string
		remembered      int
	}{
		{"nothing was written", version("a", "5", "cached"), nil, "cached", 0},
		{"the cache is behind", version("a", "99", "cached"), version("a", "100", "written"), "written", 1},
		{"the cache has caught up", version("a", "100", "cached"), version("a", "100", "written"), "cached", 0},
		{"somebody else wrote since", version("a", "101", "cached"), version("a", "100", "written"), "cached", 0},
		{"another task of the same name", version("b", "99", "cached"), version("a", "100", "written"), "cached", 0},
	} {
		var l ledger
		if c.written != nil {
			l.add(c.written)
		}
		if got := l.newest(c.cached).Status.Message; got != c.want {
			t.Errorf("%s: the %s one, want the %s one", c.name, got, c.want)
		}
		if len(l.tasks) != c.remembered {
			t.Errorf("%s: %d tasks remembered, want %d", c.name, len(l.tasks), c.remembered)
		}
		l.forget(client.ObjectKeyFromObject(c.cached))
		if len(l.tasks) != 0 {
			t.Errorf("%s: a task that is gone is remembered", c.name)
		}
	}
}
