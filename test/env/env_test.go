//go:build unix

package env

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNewFindsTheRepository(t *testing.T) {
	e, err := New(t.Context(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(e.Root, "charts/mcptasks/Chart.yaml")); err != nil {
		t.Error(err)
	}
}

// TestCommandEndsTheWholeGroup: what a program has started ends with it.
func TestCommandEndsTheWholeGroup(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := &Env{Root: t.TempDir(), Out: io.Discard}
	cmd := e.Command(ctx, "sh", "-c", "sleep 1000 & echo started; wait")
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	group := cmd.Process.Pid
	cancel()
	// The pipe is closed only when both processes that hold it are gone.
	if _, err := io.ReadAll(out); err != nil && !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the program ended by itself, not because it was told to")
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if err := syscall.Kill(-group, 0); errors.Is(err, syscall.ESRCH) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("processes of the group are left")
		}
	}
}

func TestMerge(t *testing.T) {
	base := map[string]any{"image": map[string]any{"tag": "dev", "repository": "r"}, "kept": 1, "replaced": 1}
	over := map[string]any{"image": map[string]any{"tag": "other"}, "replaced": map[string]any{"a": 1}, "new": true}
	want := map[string]any{
		"image": map[string]any{"tag": "other", "repository": "r"},
		"kept":  1, "replaced": map[string]any{"a": 1}, "new": true,
	}
	if diff := cmp.Diff(want, merge(base, over)); diff != "" {
		t.Error(diff)
	}
}
