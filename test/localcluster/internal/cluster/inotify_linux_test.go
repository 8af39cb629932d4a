package cluster

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCheckInotify(t *testing.T) {
	if err := checkInotify(1, openInotify); err != nil {
		t.Errorf("this kernel: %v", err)
	}
	left := 3
	err := checkInotify(5, func() (int, error) {
		if left == 0 {
			return -1, unix.EMFILE
		}
		left--
		return openInotify()
	})
	if err == nil || !strings.Contains(err.Error(), "only 3 more") || !strings.Contains(err.Error(), "sysctl") {
		t.Errorf("a limit that is reached: %v", err)
	}
}
