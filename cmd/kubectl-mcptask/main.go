// Command kubectl-mcptask is the kubectl plugin for people who run mcptasks (kubectl mcptask get, result, answer and cancel) and
// for those who offer tools (kubectl mcptask tool). It reads and writes MCPTask objects with the rights of the user's kubeconfig;
// it must not know the endpoint or the controller.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/mcptasks/mcptasks/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	ctrl.SetLogger(logr.Discard())
	err := newRootCommand(time.Now).ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func newRootCommand(now func() time.Time) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-mcptask",
		Short: "See, answer and cancel the calls that AI agents made of this cluster's Jobs, and make tools of Jobs",
		Annotations: map[string]string{
			cobra.CommandDisplayNameAnnotation: "kubectl mcptask",
		},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	var cluster cluster
	cluster.addFlags(root.PersistentFlags())
	root.AddCommand(
		newGetCommand(&cluster, now), newResultCommand(&cluster, now), newCancelCommand(&cluster, now),
		newAnswerCommand(&cluster, now), newToolCommand(&cluster), newVersionCommand())
	return root
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of the plugin",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version.String())
			return err
		},
	}
}
