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
	// The wait before a component that ended is started again; it doubles with each time up to the limit, and is short again
	// for one that has been up longer than the limit.
	firstBackoff = 200 * time.Millisecond
	lastBackoff  = 10 * time.Second
	// How long a component has to end after SIGTERM.
	stopGrace = 10 * time.Second
)

// Run runs a plan until ctx ends, and then stops its components in reverse order.
func Run(ctx context.Context, plan Plan) error {
	s := &supervisor{stateFile: plan.StateFile, reaper: newReaper(), state: State{Components: make([]Status, len(plan.Components))}}
	for i, c := range plan.Components {
		s.state.Components[i] = Status{Name: c.Name, Log: c.Log, Since: time.Now(), Detail: "waits for the components before it"}
	}
	if err := writeJSON(s.stateFile, s.state); err != nil {
		return err
	}
	var keepers []*keeper
	for i, c := range plan.Components {
		k, err := s.newKeeper(i, c)
		if err != nil {
			return err
		}
		go k.keep()
		go k.watch()
		keepers = append(keepers, k)
		if !c.Gate {
			continue
		}
		select {
		case <-k.ready:
			continue
		case <-ctx.Done():
		}
		break
	}
	<-ctx.Done()
	for _, k := range slices.Backward(keepers) {
		k.cancel()
		<-k.stopped
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
	check     check
	ctx       context.Context
	cancel    context.CancelFunc
	// ready is closed when the component has been ready for the first time.
	ready     chan struct{}
	readyOnce sync.Once
	stopped   chan struct{}
}

func (s *supervisor) newKeeper(index int, c Component) (*keeper, error) {
	check, err := c.Ready.check()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	k := &keeper{supervisor: s, index: index, component: c, check: check, ready: make(chan struct{}), stopped: make(chan struct{})}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k, nil
}

// keep starts the component, and again when it ends, until it is told to stop.
func (k *keeper) keep() {
	defer close(k.stopped)
	backoff := firstBackoff
	for {
		began := time.Now()
		why := k.runOnce()
		if k.ctx.Err() != nil {
			return
		}
		if time.Since(began) > lastBackoff {
			backoff = firstBackoff
		}
		fmt.Fprintf(os.Stderr, "%s ended (%s); starting it again in %s\n", k.component.Name, why, backoff)
		k.update(k.index, func(s *Status) { s.PID, s.Ready, s.Detail, s.Restarts = 0, false, why, s.Restarts+1 })
		select {
		case <-k.ctx.Done():
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

// runOnce runs the component until it ends and says how it did.
func (k *keeper) runOnce() string {
	pid, ended, err := k.start()
	if err != nil {
		return err.Error()
	}
	k.update(k.index, func(s *Status) { s.PID = pid })
	select {
	case status := <-ended:
		return describe(status)
	case <-k.ctx.Done():
	}
	// The component leads a process group of its own.
	syscall.Kill(-pid, syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(stopGrace):
		syscall.Kill(-pid, syscall.SIGKILL)
		<-ended
	}
	return "stopped"
}

func (k *keeper) start() (int, <-chan syscall.WaitStatus, error) {
	c := k.component
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, nil, err
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, nil, err
	}
	defer null.Close()
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
	defer l.Release()
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

// watch asks the component whether it is ready until it is told to stop.
func (k *keeper) watch() {
	for {
		err := k.check(k.ctx)
		if k.ctx.Err() != nil {
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
		case <-k.ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}
