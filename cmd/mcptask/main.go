// Command mcptask helps the script inside of a tool's container: it reads the call's arguments without jq or a JSON library. It
// is one static binary that an image can copy from the mcptasks image. It must not know Kubernetes.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcptasks/mcptasks/internal/version"
)

func main() {
	if err := newRootCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "mcptask:", err)
		os.Exit(1)
	}
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "mcptask",
		Short:         "Help for scripts that run as an MCP tool",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(newArgsCommand(), newVersionCommand())
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
