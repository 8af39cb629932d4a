package cluster

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// inotifyInstances is how many inotify instances must be free for a cluster: the twenty that its programs have when nothing else
// is in it, with room to spare.
const inotifyInstances = 32

// checkRoom finds out whether the kernel has room for one more cluster.
func checkRoom() error { return checkInotify(inotifyInstances, openInotify) }

// checkInotify finds out whether the kernel lets this user have n more inotify instances. Without, containerd and the kubelet
// fail later, in ways that nobody understands.
func checkInotify(n int, open func() (fd int, err error)) error {
	for i := range n {
		fd, err := open()
		if errors.Is(err, unix.EMFILE) {
			return fmt.Errorf("a cluster needs %d inotify instances, and the kernel allows this user only %d more: raise its limit with "+
				"\"sysctl fs.inotify.max_user_instances=1024\", or end other clusters", n, i)
		}
		if err != nil {
			return fmt.Errorf("open an inotify instance: %w", err)
		}
		defer func() { _ = unix.Close(fd) }()
	}
	return nil
}

func openInotify() (fd int, err error) { return unix.InotifyInit1(unix.IN_CLOEXEC) }
