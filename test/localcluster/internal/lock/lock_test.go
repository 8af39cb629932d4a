//go:build unix

package lock

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func mustTry(t *testing.T, path string) *File {
	t.Helper()
	l, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestOnlyOneHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dir", "lock")
	first := mustTry(t, path)
	if first == nil {
		t.Fatal("a new lock is taken")
	}
	if mustTry(t, path) != nil {
		t.Fatal("it was locked twice")
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if mustTry(t, path) == nil {
		t.Error("it is still locked after it was released")
	}
}

func TestWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first := mustTry(t, path)

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := Wait(ctx, path, func() {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting until a deadline gave %v", err)
	}

	l, err := Wait(t.Context(), path, func() { _ = first.Release() })
	if err != nil || l == nil {
		t.Errorf("the lock was released while we waited, but: %v", err)
	}
}

func TestRemovedFileIsNotWhatWeLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first := mustTry(t, path)
	if err := first.Remove(); err != nil {
		t.Fatal(err)
	}
	if mustTry(t, path) == nil {
		t.Fatal("a removed lock is taken")
	}
	if mustTry(t, path) != nil {
		t.Error("two hold locks of the same name")
	}
}

func TestHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if pid, held, err := Holder(path); held || err != nil {
		t.Fatalf("without a file: %d, %t, %v", pid, held, err)
	}
	// A process inherits the lock, as a supervisor does.
	l := mustTry(t, path)
	cmd := exec.Command("sleep", "60")
	cmd.ExtraFiles = []*os.File{l.File()}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	if err := l.SetHolder(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if pid, held, err := Holder(path); pid != cmd.Process.Pid || !held || err != nil {
		t.Errorf("while process %d runs: %d, %t, %v", cmd.Process.Pid, pid, held, err)
	}

	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if pid, held, err := Holder(path); held || err != nil {
		t.Errorf("after the process was killed: %d, %t, %v", pid, held, err)
	}
}

func TestHeldWithoutHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	mustTry(t, path)
	if _, held, err := Holder(path); !held || err == nil {
		t.Errorf("a held file without a process id: %t, %v; want an error", held, err)
	}
}
