//go:build unix

// Package lock provides locks on files. The kernel releases such a lock when the last process that holds it ends, however it
// ends, so a lock that is held is proof that its holder lives, and a process id read from a held file is never a stranger's.
package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// retryInterval is how often Wait tries again; flock itself can't be given up when a context ends.
const retryInterval = 200 * time.Millisecond

// File is a locked file.
type File struct{ f *os.File }

// Try locks the file at path, which it creates if need be. It returns nil without an error where somebody else holds it.
func Try(path string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			_ = f.Close()
			return nil, nil
		}
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if current(f, path) {
			return &File{f}, nil
		}
		// The holder before us removed the file: what we locked is no longer what others will find.
		_ = f.Close()
	}
}

func current(f *os.File, path string) bool {
	ours, err := f.Stat()
	if err != nil {
		return false
	}
	theirs, err := os.Stat(path)
	return err == nil && os.SameFile(ours, theirs)
}

// Wait locks the file at path, waiting for another holder to release it; waiting is called once if that is so.
func Wait(ctx context.Context, path string, waiting func()) (*File, error) {
	for first := true; ; first = false {
		f, err := Try(path)
		if f != nil || err != nil {
			return f, err
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %s, which another process holds: %w", path, ctx.Err())
		case <-time.After(retryInterval):
		}
	}
}

// Holder returns the process id written in the file at path, and false where nobody holds it.
func Holder(path string) (pid int, held bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = f.Close() }()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		return 0, false, nil
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return 0, false, fmt.Errorf("lock %s: %w", path, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, true, err
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, true, fmt.Errorf("%s is held but names no process: %w", path, err)
	}
	return pid, true, nil
}

// SetHolder writes the id of the process that holds the lock, or is about to inherit it.
func (l *File) SetHolder(pid int) error {
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err := l.f.WriteAt([]byte(strconv.Itoa(pid)+"\n"), 0)
	return err
}

// File is the locked file itself, for a child process to inherit: the lock is then held until parent and child have both let go.
func (l *File) File() *os.File { return l.f }

// Release lets go of the lock.
func (l *File) Release() error { return l.f.Close() }

// Remove deletes the file and lets go of the lock.
func (l *File) Remove() error {
	err := os.Remove(l.f.Name())
	return errors.Join(err, l.f.Close())
}
