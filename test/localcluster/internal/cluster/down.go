//go:build unix

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/console"
)

// Down ends a cluster at once and deletes all there is of it. It is no error if there is nothing.
func Down(ctx context.Context, l Layout, out *console.Printer) error {
	lock, err := l.lockForCommand(ctx, out)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Remove() }()
	if _, err := os.Stat(l.Dir()); errors.Is(err, fs.ErrNotExist) {
		out.Line("There is no cluster %q.", l.Name)
		return nil
	}
	step := out.Step(fmt.Sprintf("remove cluster %q", l.Name), nil)
	if err := errors.Join(l.stop(), l.clearMachine()); err != nil {
		step.Fail()
		return err
	}
	if err := os.RemoveAll(l.Dir()); err != nil {
		step.Fail()
		return fmt.Errorf("delete the files of cluster %q: %w", l.Name, err)
	}
	step.Done("")
	return nil
}
