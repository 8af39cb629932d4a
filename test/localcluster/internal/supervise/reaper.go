//go:build unix

package supervise

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// reaper starts processes and collects all that end: its own, and, where the supervisor is the first process of a namespace,
// those that lost their parent there, such as containerd's shims. os/exec can't be used beside it.
type reaper struct {
	signals  chan os.Signal
	mu       sync.Mutex
	children map[int]chan syscall.WaitStatus
}

func newReaper() *reaper {
	r := &reaper{signals: make(chan os.Signal, 1), children: map[int]chan syscall.WaitStatus{}}
	signal.Notify(r.signals, syscall.SIGCHLD)
	go func() {
		for range r.signals {
			r.collect()
		}
	}()
	return r
}

// stop makes it collect no more.
func (r *reaper) stop() {
	signal.Stop(r.signals)
	close(r.signals)
}

func (r *reaper) collect() {
	for {
		var status syscall.WaitStatus
		// The lock keeps a child that ends at once from being collected before start has noted it.
		r.mu.Lock()
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		ended := r.children[pid]
		delete(r.children, pid)
		r.mu.Unlock()
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if ended != nil {
			ended <- status
		}
	}
}

// start starts a process and returns its id and a channel that gets its status when it has ended.
func (r *reaper) start(path string, args []string, attr *os.ProcAttr) (int, <-chan syscall.WaitStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, err := os.StartProcess(path, append([]string{path}, args...), attr)
	if err != nil {
		return 0, nil, err
	}
	ended := make(chan syscall.WaitStatus, 1)
	r.children[p.Pid] = ended
	pid := p.Pid
	return pid, ended, p.Release()
}
