package listen

import (
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

// A24: what happens while a client does not read costs no memory, however much it is.
func TestPendingIsBoundedBySubjects(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	p := newPending(clock)
	subjects := []*subject{{}, {}, {}}
	for range 10_000 {
		for _, s := range subjects {
			p.add(s)
			p.addAfter(s, time.Second)
		}
	}
	if len(p.queue) != len(subjects) || clock.Waiters() != 0 {
		t.Fatalf("%d entries and %d timers for %d subjects", len(p.queue), clock.Waiters(), len(subjects))
	}
	for i, want := range subjects {
		<-p.wake
		if got := p.take(); got != want {
			t.Fatalf("take %d: not the one that has waited longest", i)
		}
	}
	if len(p.wake) != 0 || p.take() != nil {
		t.Error("there is something left")
	}
}

func TestPendingWaitsOnceForEachSubject(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	p := newPending(clock)
	s := &subject{}
	for range 100 {
		p.addAfter(s, time.Second)
	}
	if n := clock.Waiters(); n != 1 {
		t.Fatalf("%d timers, want 1", n)
	}
	clock.Step(time.Second)
	if p.take() != s || p.take() != nil {
		t.Error("not there, or more than once")
	}
	p.addAfter(s, time.Second)
	p.add(s) // meanwhile something happens
	if p.take() != s {
		t.Error("held up by the wait")
	}
	clock.Step(time.Second)
	if p.take() != s {
		t.Error("what was waited for never came")
	}
}
