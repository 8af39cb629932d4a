//go:build unix

package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// rounds is how often the two sides of a comparison take turns, so that whatever else the machine does meets both.
const rounds = 5

// side is one side of a comparison: an operation, and how it went.
type side struct {
	do    func(ctx context.Context, worker int) error
	took  []time.Duration
	spent time.Duration
}

// perSecond is how many operations were done a second.
func (s *side) perSecond() float64 { return float64(len(s.took)) / s.spent.Seconds() }

// p99 is what 99 of a hundred operations took at most.
func (s *side) p99() time.Duration {
	slices.Sort(s.took)
	return s.took[min(len(s.took)*99/100, len(s.took)-1)]
}

// compare lets both sides do as much as they can for the given time each, in turns.
func compare(ctx context.Context, o options, sides ...*side) error {
	for range rounds {
		for _, s := range sides {
			if err := s.load(ctx, o.workers, o.share/rounds); err != nil {
				return err
			}
		}
	}
	return nil
}

// load lets workers repeat the operation until the time is over.
func (s *side) load(ctx context.Context, workers int, share time.Duration) error {
	var group sync.WaitGroup
	took, errs := make([][]time.Duration, workers), make([]error, workers)
	begin := time.Now()
	for worker := range workers {
		group.Go(func() {
			for time.Since(begin) < share && errs[worker] == nil && ctx.Err() == nil {
				from := time.Now()
				errs[worker] = s.do(ctx, worker)
				took[worker] = append(took[worker], time.Since(from))
			}
		})
	}
	group.Wait()
	s.spent += time.Since(begin)
	s.took = append(s.took, slices.Concat(took...)...)
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// paced does the operation so many times a second, whether or not those before it are done, and returns how long each took.
func paced(ctx context.Context, perSecond int, share time.Duration, do func(ctx context.Context) error) (*side, error) {
	ticker := time.NewTicker(time.Second / time.Duration(perSecond))
	defer ticker.Stop()
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		s     side
		first error
	)
	for begin := time.Now(); time.Since(begin) < share && ctx.Err() == nil; {
		<-ticker.C
		group.Go(func() {
			from := time.Now()
			err := do(ctx)
			mu.Lock()
			defer mu.Unlock()
			s.took = append(s.took, time.Since(from))
			if first == nil {
				first = err
			}
		})
	}
	group.Wait()
	return &s, first
}
