//go:build unix

package supervise

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/lock"
)

const (
	// How often a component that isn't ready, and one that is, are asked.
	startingInterval = 100 * time.Millisecond
	readyInterval    = 2 * time.Second
	// How often is looked whether a component is to be held down.
	holdInterval = 100 * time.Millisecond
	// The wait before a component that ended is started again; it doubles with each time up to the limit, and is short again
	// for one that has been up longer than the limit.
	firstBackoff = 200 * time.Millisecond
	lastBackoff  = 10 * time.Second
)

// Run runs a plan until ctx ends, and then kills its components. They have to bear that anyway.
func Run(ctx context.Context, plan Plan) error {
	s := &supervisor{stateFile: plan.StateFile, reaper: newReaper(), state: State{Components: make([]Status, len(plan.Components))}}
	for i, c := range plan.Components {
		s.state.Components[i] = Status{Name: c.Name, Log: c.Log, Since: time.Now(), Detail: "waits for the components before it"}
	}
	if err := writeJSON(s.stateFile, s.state); err != nil {
		return err
	}
	defer s.reaper.stop()
	var running sync.WaitGroup
	defer running.Wait()
	for i, c := range plan.Components {
		check, err := c.Ready.check()
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		k := &keeper{
			supervisor: s, index: i, component: c, holdFile: plan.holdFile(c.Name), check: check, ready: make(chan struct{}),
		}
		running.Go(func() { k.keep(ctx) })
		running.Go(func() { k.watch(ctx) })
		if !c.Gate {
			continue
		}
		select {
		case <-k.ready:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

type supervisor struct {
	stateFile string
	reaper    *reaper
	mu        sync.Mutex
	state     State
}

// update changes a component's status and writes the state if that made a difference.
func (s *supervisor) update(i int, change func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.state.Components[i]
	after := before
	change(&after)
	if after == before {
		return
	}
	if after.PID != before.PID || after.Ready != before.Ready {
		after.Since = time.Now()
	}
	s.state.Components[i] = after
	if err := writeJSON(s.stateFile, s.state); err != nil {
		fmt.Fprintln(os.Stderr, "write the state:", err)
	}
}

// keeper keeps one component running.
type keeper struct {
	*supervisor
	index     int
	component Component
	// holdFile keeps the component down as long as it exists.
	holdFile string
	check    check
	// ready is closed when the component has been ready for the first time.
	ready     chan struct{}
	readyOnce sync.Once
}

// keep starts the component, and again when it ends, until ctx ends.
func (k *keeper) keep(ctx context.Context) {
	backoff := firstBackoff
	for {
		k.awaitRelease(ctx)
		if ctx.Err() != nil {
			return
		}
		began := time.Now()
		why := k.runOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if k.held() {
			backoff = firstBackoff
			continue
		}
		if time.Since(began) > lastBackoff {
			backoff = firstBackoff
		}
		fmt.Fprintf(os.Stderr, "%s ended (%s); starting it again in %s\n", k.component.Name, why, backoff)
		k.update(k.index, func(s *Status) { s.PID, s.Ready, s.Detail, s.Restarts = 0, false, why, s.Restarts+1 })
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

// held says whether the component is to be down.
func (k *keeper) held() bool {
	_, err := os.Stat(k.holdFile)
	return err == nil
}

// awaitRelease waits until the component may run, or ctx ends.
func (k *keeper) awaitRelease(ctx context.Context) {
	if !k.held() {
		return
	}
	fmt.Fprintf(os.Stderr, "%s is held down\n", k.component.Name)
	k.update(k.index, func(s *Status) { s.PID, s.Ready, s.Held, s.Detail = 0, false, true, "stopped by hand" })
	for k.held() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(holdInterval):
		}
	}
	k.update(k.index, func(s *Status) { s.Held, s.Detail, s.Restarts = false, "", 0 })
}

// runOnce runs the component until it ends or is to be down, and says how it ended.
func (k *keeper) runOnce(ctx context.Context) string {
	pid, ended, err := k.start()
	if err != nil {
		return err.Error()
	}
	k.update(k.index, func(s *Status) { s.PID = pid })
	look := time.NewTicker(holdInterval)
	defer look.Stop()
	for ctx.Err() == nil && !k.held() {
		select {
		case status := <-ended:
			return describe(status)
		case <-look.C:
		case <-ctx.Done():
		}
	}
	// The component leads a process group of its own.
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	return describe(<-ended)
}

func (k *keeper) start() (int, <-chan syscall.WaitStatus, error) {
	c := k.component
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = log.Close() }()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = null.Close() }()
	attr := &os.ProcAttr{
		// Of two values of a variable the first counts.
		Env:   append(slices.Clone(c.Env), os.Environ()...),
		Files: []*os.File{null, log, log},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	if c.Lock == "" {
		return k.reaper.start(c.Path, c.Args, attr)
	}
	l, err := lock.Try(c.Lock)
	if err != nil {
		return 0, nil, err
	}
	if l == nil {
		return 0, nil, fmt.Errorf("%s of an earlier start still runs", c.Name)
	}
	defer func() { _ = l.Release() }()
	attr.Files = append(attr.Files, l.File())
	pid, ended, err := k.reaper.start(c.Path, c.Args, attr)
	if err != nil {
		return 0, nil, err
	}
	return pid, ended, l.SetHolder(pid)
}

func describe(s syscall.WaitStatus) string {
	if s.Signaled() {
		return "killed by signal: " + s.Signal().String()
	}
	return fmt.Sprintf("exit status %d", s.ExitStatus())
}

// watch asks the component whether it is ready until ctx ends.
func (k *keeper) watch(ctx context.Context) {
	for {
		err := k.check(ctx)
		if ctx.Err() != nil {
			return
		}
		interval := readyInterval
		if err == nil {
			k.readyOnce.Do(func() { close(k.ready) })
		} else {
			interval = startingInterval
		}
		k.update(k.index, func(s *Status) {
			// Something else that answers at a component's address isn't the component.
			s.Ready = err == nil && s.PID != 0
			switch {
			case s.Ready:
				s.Detail = ""
			case s.PID != 0 && err != nil:
				s.Detail = err.Error()
			}
		})
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}
