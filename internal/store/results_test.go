package store

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestResultsStayWithinTheirLimit(t *testing.T) {
	r := newResults(10)
	r.put("a", "1234")
	r.put("b", "1234")
	r.put("too long", "12345678901")
	if _, ok := r.get("a"); !ok { // now b is the one that was used least
		t.Error("a is gone")
	}
	r.put("c", "1234")
	for uid, want := range map[string]bool{"a": true, "b": false, "c": true, "too long": false} {
		if _, ok := r.byUID[types.UID(uid)]; ok != want {
			t.Errorf("%s: %t", uid, ok)
		}
	}
	if r.size != 8 || r.order.Len() != 2 {
		t.Errorf("%d bytes in %d results", r.size, r.order.Len())
	}
}
