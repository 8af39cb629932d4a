//go:build unix && !linux

package cluster

import "syscall"

// killProcess kills a process. That it has ended is seen by its lock.
func killProcess(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }
