//go:build unix && !linux

package cluster

import (
	"context"
	"errors"
	"net/netip"
	"syscall"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/console"
)

// A full cluster is made of what only Linux has; here prepareMachine refuses, and nothing else of this file does anything.

type tools struct{}

var errNeedsLinux = errors.New("a full cluster needs Linux: use --control-plane for one without nodes")

func checkRoom() error { return nil }

func prepareMachine(context.Context, *console.Printer) (tools, error) { return tools{}, errNeedsLinux }

func usedNetworks() ([]netip.Prefix, error) { return nil, errNeedsLinux }

func isolate(*syscall.SysProcAttr) {}

func launchHint(Mode, error) string { return "" }

func enterNode(context.Context, Layout, Spec) error { return errNeedsLinux }

func (c *Cluster) connect(context.Context, int) error { return errNeedsLinux }

func (c *Cluster) prepareNode(tools) error { return errNeedsLinux }

func (c *Cluster) finishNode(context.Context, *api) error { return errNeedsLinux }

func machinePIDs(int) map[int]int { return nil }

func (l Layout) clearMachine() error { return nil }
