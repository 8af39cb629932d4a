// Command mcptasks exposes the Jobs of a Kubernetes cluster to AI agents as MCP tools. "mcptasks endpoint" answers agents,
// "mcptasks controller" turns their calls into Jobs; both run in the cluster, side by side, and meet only in the MCPTask objects.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcptasks/mcptasks/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// The first signal asks for an orderly end; the next one ends the process.
	context.AfterFunc(ctx, stop)
	if err := newRootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mcptasks:", err)
		os.Exit(1)
	}
}

func newRootCommand() *cobra.Command {
	log := logOptions{level: "info", format: "json"}
	root := &cobra.Command{
		Use:           "mcptasks",
		Short:         "Expose the Jobs of a Kubernetes cluster to AI agents as MCP tools",
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return log.apply(cmd)
		},
	}
	log.addFlags(root.PersistentFlags())
	root.AddCommand(newControllerCommand(), newEndpointCommand(), newVersionCommand())
	return root
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version.String())
			return err
		},
	}
}
