package cluster

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// killProcess kills a process and waits until it has ended; for the first process of a namespace that includes all others in
// it. A lock isn't proof of that: the kernel closes files first.
func killProcess(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open process %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", pid, err)
	}
	end := time.Now().Add(stopDeadline)
	for {
		left := time.Until(end)
		if left <= 0 {
			return fmt.Errorf("process %d doesn't end after it was killed: see what holds it with ps", pid)
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if n > 0 || (err != nil && !errors.Is(err, unix.EINTR)) {
			return err
		}
	}
}
