//go:build unix

package resilience

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/integration/setup"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// seedVariable is the environment variable that chooses another order of accidents.
const seedVariable = "MCPTASKS_TEST_SEED"

// Agents go on calling while whatever can be killed is killed, in random order. Every call becomes one task, which is run once,
// ends once, and keeps its result.
func TestStorm_B02_B03_B30_B32_B36(t *testing.T) {
	const callers, between = 6, 5
	w := newWorld(t)
	s := &storm{world: w, random: seeded(t)}
	w.breakable()
	s.node = startNode(t, w.namespace, s.work)
	w.offer()
	for range 2 {
		s.controllers = append(s.controllers, w.controller())
		s.replicas = append(s.replicas, w.endpoint(endpointConfig))
	}
	w.awaitOffered(w.client(s.replicas[0]))
	ends := w.watchEndings()

	var calls atomic.Int32
	over := make(chan struct{})
	var calling sync.WaitGroup
	for range callers {
		calling.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					s.through(int(calls.Add(1)))
				}
			}
		})
	}
	accidents := s.accidents()
	s.random.Shuffle(len(accidents), func(i, j int) { accidents[i], accidents[j] = accidents[j], accidents[i] })
	for _, accident := range accidents {
		// What was ended by the accident before is done again by now, so that this one finds work to disturb.
		goal := ends.ended() + between
		s.until("tasks end before "+accident.name, func() bool { return ends.ended() >= goal })
		t.Logf("%d tasks have ended; %s", ends.ended(), accident.name)
		accident.happen()
	}
	goal := ends.ended() + between
	s.until("tasks end after all that", func() bool { return ends.ended() >= goal })
	close(over)
	s.until("all tasks have ended", func() bool { return ends.ended() >= int(calls.Load()) })
	calling.Wait()

	tasks := w.tasks()
	t.Logf("%d calls have become %d tasks", calls.Load(), len(tasks))
	if len(tasks) != int(calls.Load()) {
		t.Error("these are not as many")
	}
	cancelled := 0
	for i := range tasks {
		if tasks[i].Spec.Cancel == nil {
			w.wantOnce(s.node, &tasks[i])
			continue
		}
		cancelled++
		if state := tasks[i].Status.State; state != v1alpha1.StateCancelled && state != v1alpha1.StateCompleted {
			t.Errorf("the cancelled task %s is %s (%s)", tasks[i].Name, state, tasks[i].Status.Message)
		}
		w.wantNoMore(s.node, &tasks[i])
	}
	if cancelled == len(tasks) || cancelled == 0 {
		t.Errorf("of %d tasks %d were cancelled", len(tasks), cancelled)
	}
	w.wantOneJobEach(tasks)
}

// seeded is a source of random numbers that is the same in each run, unless the environment says otherwise.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(20261130)
	if chosen := os.Getenv(seedVariable); chosen != "" {
		var err error
		if seed, err = strconv.ParseUint(chosen, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
	}
	t.Logf("the seed is %d; %s chooses another", seed, seedVariable)
	return rand.New(rand.NewPCG(seed, seed))
}

// storm has what is killed.
type storm struct {
	*world
	node   *node
	random *rand.Rand // only for the test's own goroutine
	// controllers belong to the test's own goroutine.
	controllers []*setup.Process

	mu       sync.Mutex
	replicas []*replica
}

// work is what the containers do.
func (*storm) work(_ string, stop <-chan struct{}) {
	select {
	case <-stop:
	case <-time.After(rand.N(2 * time.Second)):
	}
}

type accident struct {
	name   string
	happen func()
}

func (s *storm) accidents() []accident {
	return []accident{
		{"the leader is killed", func() { s.leader().Kill() }},
		{"the leader is told to go", func() { s.leader().Terminate() }},
		{"somebody else takes the lease", s.takeLease},
		{"the leader is held up until another leads", s.holdUp},
		{"all controllers are killed", func() {
			for _, c := range s.controllers {
				c.Kill()
			}
		}},
		{"an endpoint is killed", s.killEndpoint},
		{"the API server is killed", func() { s.components.Restart("kube-apiserver") }},
		{"the API server is away until a call fails", s.awayAPIServer},
		{"etcd is killed", func() { s.components.Restart("etcd") }},
		{"the Job controller is killed", func() { s.components.Restart("kube-controller-manager") }},
	}
}

// until waits, and meanwhile starts controllers that have ended again, as a Deployment does.
func (s *storm) until(what string, ok func() bool) {
	s.Helper()
	s.eventually(what, func() bool {
		for i, c := range s.controllers {
			if c.HasEnded() {
				s.controllers[i] = s.controller()
			}
		}
		return ok()
	})
}

// leader waits for one.
func (s *storm) leader() (leader *setup.Process) {
	s.Helper()
	s.until("there is a leader", func() bool {
		for _, c := range s.controllers {
			if leads(c) {
				leader = c
			}
		}
		return leader != nil
	})
	return leader
}

// takeLease gives the lease to somebody else, who then does not renew it: the leader has to end.
func (s *storm) takeLease() {
	leader := s.leader()
	lease, now, thief := s.lease(release), metav1.NowMicro(), "somebody else"
	before := lease.DeepCopy()
	lease.Spec.HolderIdentity, lease.Spec.AcquireTime, lease.Spec.RenewTime = &thief, &now, &now
	s.must(cluster.Patch(s.Context(), lease, client.MergeFrom(before)))
	if err := leader.AwaitEnd(); err == nil {
		s.Error("a leader that lost its lease ended as if all were well")
	}
}

// holdUp stops the leader until another one leads, and lets it go on: it has to end.
func (s *storm) holdUp() {
	held := s.leader()
	held.Pause()
	s.until("another one leads", func() bool {
		for _, c := range s.controllers {
			if c != held && leads(c) {
				return true
			}
		}
		return false
	})
	held.Resume()
	if err := held.AwaitEnd(); err == nil {
		s.Error("a leader that lost its lease ended as if all were well")
	}
}

// killEndpoint kills an endpoint and starts another.
func (s *storm) killEndpoint() {
	i := s.random.IntN(len(s.replicas))
	s.replicas[i].Kill()
	other := s.endpoint(endpointConfig)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replicas[i] = other
}

func (s *storm) awayAPIServer() {
	s.components.Stop("kube-apiserver")
	c := s.someClient()
	s.until("a call fails", func() bool {
		_, err := c.CallTool(s.Context(), "no-such-tool-"+s.namespace, nil)
		return err != nil
	})
	s.components.Start("kube-apiserver")
}

// someClient talks to any endpoint.
func (s *storm) someClient() *mcpclient.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client(s.replicas[rand.IntN(len(s.replicas))])
}

// through makes one call, with a key of its own, and follows its task to the end. What fails is tried again, at any endpoint;
// every third call is repeated although it has been answered, and every seventh task is cancelled.
func (s *storm) through(number int) {
	ctx, cancel := context.WithTimeout(s.Context(), 5*setup.Patience)
	defer cancel()
	key := fmt.Sprintf("call-%d", number)
	var id string
	for range 1 + (number%3)/2 {
		called, err := insist(ctx, func() (*mcpclient.Call, error) {
			return keyed(s.someClient(), key).CallTool(ctx, toolName, map[string]any{"n": number})
		})
		switch {
		case err != nil:
			s.Errorf("%s: %v", key, err)
			return
		case called.Task == nil:
			s.Errorf("%s was answered without a task: %+v", key, called)
			return
		case id != "" && called.Task.TaskID != id:
			s.Errorf("%s has become the tasks %s and %s", key, id, called.Task.TaskID)
		}
		id = called.Task.TaskID
	}
	if number%7 == 6 {
		if _, err := insist(ctx, func() (any, error) { return nil, s.someClient().Cancel(ctx, id) }); err != nil {
			s.Errorf("cancel task %s: %v", id, err)
		}
	}
	task, err := insist(ctx, func() (*mcpclient.Task, error) { return s.someClient().Wait(ctx, id, nil) })
	switch {
	case err != nil:
		s.Errorf("wait for the end of task %s: %v", id, err)
	case number%7 != 6 && (task.Status != "completed" || !s.node.hasPrinted(id, task.Result.Text())):
		s.Errorf("task %s is %s with the result %+v", id, task.Status, task.Result)
	}
}

// insist tries until it works, or the request is at fault, or ctx ends.
func insist[T any](ctx context.Context, try func() (T, error)) (T, error) {
	for {
		got, err := try()
		var refused *mcpclient.Error
		if err == nil || errors.As(err, &refused) && refused.Code == invalidParams || !pause(ctx, again) {
			return got, err
		}
	}
}

// invalidParams is JSON-RPC's error code for what trying again cannot mend.
const invalidParams = -32602
