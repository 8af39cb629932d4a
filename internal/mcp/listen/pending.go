package listen

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// pending is the set of subjects that a stream has yet to look at, in the order in which they were added. A subject is in it
// at most once, whatever happens to it meanwhile, so it never holds more than the stream has subjects. None of its methods
// blocks.
type pending struct {
	// wake has a value while the set is not empty.
	wake  chan struct{}
	clock clock.WithDelayedExecution

	mu    sync.Mutex
	queue []*subject
}

func newPending(c clock.WithDelayedExecution) *pending {
	return &pending{wake: make(chan struct{}, 1), clock: c}
}

// add adds a subject.
func (p *pending) add(s *subject) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enqueue(s)
}

// addAfter adds a subject when some time has passed, unless it is waited with already.
func (p *pending) addAfter(s *subject, pause time.Duration) {
	if !p.postpone(s) {
		return
	}
	p.clock.AfterFunc(pause, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		s.postponed = false
		p.enqueue(s)
	})
}

func (p *pending) postpone(s *subject) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.queued || s.postponed {
		return false
	}
	s.postponed = true
	return true
}

// take removes the subject that has waited longest and returns it, or nil. What happens to it from now on adds it again.
func (p *pending) take() *subject {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return nil
	}
	s := p.queue[0]
	s.queued = false
	if p.queue = p.queue[1:]; len(p.queue) == 0 {
		p.queue = nil
	} else {
		p.signal()
	}
	return s
}

func (p *pending) enqueue(s *subject) {
	if s.queued {
		return
	}
	s.queued = true
	p.queue = append(p.queue, s)
	p.signal()
}

func (p *pending) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
