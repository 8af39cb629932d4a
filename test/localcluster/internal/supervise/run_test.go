//go:build unix

package supervise

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/lock"
)

// A supervisor collects all children of its process, so only one may run at a time, and no test beside it may run a command.

// planner makes plans for a test.
type planner struct {
	*testing.T
	dir string
}

func newPlanner(t *testing.T) *planner {
	dir, err := os.MkdirTemp("", "run") //nolint:usetesting // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return &planner{t, dir}
}

func (p *planner) path(name string) string { return filepath.Join(p.dir, name) }

func (p *planner) plan(components ...Component) Plan {
	return Plan{Components: components, StateFile: p.path("state"), HoldDir: p.path("hold")}
}

// script is a component that runs a shell script, and is ready when its socket is listened to.
func (p *planner) script(name, text string) Component {
	return Component{
		Name: name, Path: "/bin/sh", Args: []string{"-c", text}, Log: p.path(name + ".log"), Lock: p.path(name + ".lock"),
		Ready: Probe{Socket: p.path(name + ".sock")},
	}
}

// makeReady listens to a component's socket in its place.
func (p *planner) makeReady(name string) {
	p.Helper()
	l, err := net.Listen("unix", p.path(name+".sock"))
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = l.Close() })
}

// run runs a plan until the test ends, or stop is called.
func (p *planner) run(plan Plan) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, plan) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				p.Error(err)
			}
		case <-time.After(20 * time.Second):
			p.Error("the supervisor doesn't end")
		}
	}
	p.Cleanup(stop)
	return stop
}

// await waits until a component's status is as wanted.
func (p *planner) await(name, what string, wanted func(Status) bool) Status {
	p.Helper()
	var last Status
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		state, err := ReadState(p.path("state"))
		if err != nil {
			continue
		}
		last, _ = state.Component(name)
		if wanted(last) {
			return last
		}
	}
	p.Fatalf("%s: never %s; it is %+v", name, what, last)
	return last
}

// awaitFree waits until no process of a component is left.
func (p *planner) awaitFree(name string) {
	p.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		_, held, err := lock.Holder(p.path(name + ".lock"))
		if err != nil {
			p.Fatal(err)
		}
		if !held {
			return
		}
		if time.Now().After(end) {
			p.Fatalf("something still holds the lock of %s", name)
		}
	}
}

func ready(s Status) bool   { return s.Ready }
func running(s Status) bool { return s.PID != 0 }

func TestGateDelaysWhatComesAfterIt(t *testing.T) {
	p := newPlanner(t)
	first := p.script("first", "exec sleep 60")
	first.Gate = true
	p.run(p.plan(first, p.script("second", "exec sleep 60")))

	p.await("first", "running", running)
	state, err := ReadState(p.path("state"))
	if err != nil {
		t.Fatal(err)
	}
	if second, _ := state.Component("second"); second.PID != 0 || second.Detail == "" {
		t.Errorf("the second runs before the first is ready, or doesn't say what it waits for: %+v", second)
	}
	p.makeReady("first")
	p.await("first", "ready", ready)
	p.await("second", "running", running)
}

func TestComponentThatEndsIsStartedAgain(t *testing.T) {
	p := newPlanner(t)
	p.makeReady("c")
	p.run(p.plan(p.script("c", "echo started; exec sleep 60")))
	first := p.await("c", "ready", ready)
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := p.await("c", "ready again", func(s Status) bool { return s.Ready && s.Restarts == 1 })
	if second.PID == first.PID {
		t.Errorf("it is the same process, %d", second.PID)
	}
	log, err := os.ReadFile(p.path("c.log"))
	if err != nil || strings.Count(string(log), "started\n") != 2 {
		t.Errorf("the log has %q, %v; want the output of both", log, err)
	}
}

func TestHeldComponentStaysDownUntilItIsReleased(t *testing.T) {
	p := newPlanner(t)
	p.makeReady("c")
	other := p.script("other", "exec sleep 60")
	// Its child has to end, too.
	plan := p.plan(p.script("c", "echo started; sleep 60 & wait"), other)
	p.run(plan)
	first := p.await("c", "ready", ready)
	bystander := p.await("other", "running", running)

	if err := Hold(plan, "c"); err != nil {
		t.Fatal(err)
	}
	held := p.await("c", "held", func(s Status) bool { return s.Held })
	if held.PID != 0 || held.Ready || held.Detail == "" {
		t.Errorf("a held component is %+v", held)
	}
	p.awaitFree("c")
	if err := Release(plan, "c"); err != nil {
		t.Fatal(err)
	}
	second := p.await("c", "ready again", ready)
	if second.Held || second.PID == first.PID || second.Restarts != 0 {
		t.Errorf("released, after process %d, it is %+v", first.PID, second)
	}
	if now := p.await("other", "running", running); now != bystander {
		t.Errorf("the other component was %+v and is %+v", bystander, now)
	}
	if err := Release(plan, "c"); err != nil {
		t.Errorf("released twice: %v", err)
	}
}

func TestHeldComponentIsNotStartedWithTheSupervisor(t *testing.T) {
	p := newPlanner(t)
	plan := p.plan(p.script("c", "echo started; exec sleep 60"))
	if err := Hold(plan, "c"); err != nil {
		t.Fatal(err)
	}
	p.run(plan)
	p.await("c", "held", func(s Status) bool { return s.Held })
	if log, err := os.ReadFile(p.path("c.log")); !os.IsNotExist(err) {
		t.Errorf("it was started: %q, %v", log, err)
	}
	if err := Release(plan, "c"); err != nil {
		t.Fatal(err)
	}
	p.await("c", "running", running)
}

func TestWhyAComponentEnds(t *testing.T) {
	for text, want := range map[string]string{"exit 3": "exit status 3", "kill -9 $$": "killed by signal: killed"} {
		t.Run(text, func(t *testing.T) {
			p := newPlanner(t)
			p.run(p.plan(p.script("c", text)))
			ended := func(s Status) bool { return s.Restarts > 0 && s.PID == 0 }
			if s := p.await("c", "ended", ended); s.Detail != want {
				t.Errorf("the detail is %q, want %q", s.Detail, want)
			}
		})
	}
}

func TestStrangerAtTheAddressIsNotTheComponent(t *testing.T) {
	p := newPlanner(t)
	p.makeReady("c")
	c := p.script("c", "")
	c.Path = p.path("no-such-program")
	p.run(p.plan(c))
	if s := p.await("c", "tried again", func(s Status) bool { return s.Restarts > 0 }); s.Ready {
		t.Errorf("a component that can't be started is ready: %+v", s)
	}
}

func TestEndOfTheSupervisorEndsAll(t *testing.T) {
	p := newPlanner(t)
	// The component's own child has to end with it.
	stop := p.run(p.plan(p.script("c", "sleep 60 & wait")))
	s := p.await("c", "running", running)
	if pid, held, err := lock.Holder(p.path("c.lock")); pid != s.PID || !held || err != nil {
		t.Errorf("the lock of process %d is held by %d, %t, %v", s.PID, pid, held, err)
	}
	stop()
	p.awaitFree("c")
}

func TestSurvivorOfAnEarlierStartIsNotJoined(t *testing.T) {
	p := newPlanner(t)
	survivor, err := lock.Try(p.path("c.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = survivor.Release() }()
	p.run(p.plan(p.script("c", "exec sleep 60")))
	s := p.await("c", "refused", func(s Status) bool { return s.Restarts > 0 })
	if s.PID != 0 || !strings.Contains(s.Detail, "earlier start") {
		t.Errorf("a component whose predecessor lives: %+v", s)
	}
}
