//go:build unix

// Command localcluster builds the programs of a real Kubernetes cluster from pinned Go modules, and runs clusters of one node
// with them on a bare Linux machine, or the control plane alone anywhere.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "localcluster:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return rootCommand().ExecuteContext(ctx)
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "localcluster",
		Short:         "Real Kubernetes clusters for tests, on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	f := &flags{}
	root.PersistentFlags().StringVar(&f.name, "name", "local", "the cluster's name")
	root.PersistentFlags().StringVar(&f.source, "source", "",
		"test/localcluster of a checkout (default: found from the working directory)")
	root.AddCommand(
		upCommand(f), downCommand(f), statusCommand(f), kubeconfigCommand(f), loadImageCommand(f), execCommand(f),
		stopCommand(f), startCommand(f), restartCommand(f), binariesCommand(f), superviseCommand(f),
	)
	return root
}
