package endpoint

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A22: a client that is gone without a word must not keep its stream. What the kernel makes of the option cannot be tested
// without breaking a network; that accepted connections have it can.
func TestAcceptedConnectionsNoticeLoss(t *testing.T) {
	config := net.ListenConfig{Control: noticeLoss}
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = accepted.Close() }()
	if got := userTimeout(t, accepted); got != int(lost.Milliseconds()) {
		t.Errorf("an accepted connection gives up after %d ms, want %s", got, lost)
	}
}

func userTimeout(t *testing.T, conn net.Conn) (milliseconds int) {
	t.Helper()
	socket, ok := conn.(syscall.Conn)
	if !ok {
		t.Fatalf("%T is no socket", conn)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if controlErr := raw.Control(func(fd uintptr) {
		milliseconds, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
	}); controlErr != nil || err != nil {
		t.Fatal(controlErr, err)
	}
	return milliseconds
}
