package endpoint

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lost is how long a client may leave unacknowledged what it was sent before its connection counts as lost. TCP itself goes
// on trying for a quarter of an hour, and keep-alive probes are not sent meanwhile.
const lost = time.Minute

// noticeLoss is a net.ListenConfig.Control. The connections that a socket accepts inherit its options.
func noticeLoss(_, _ string, socket syscall.RawConn) error {
	var set error
	err := socket.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(lost.Milliseconds()))
	})
	return errors.Join(err, set)
}
