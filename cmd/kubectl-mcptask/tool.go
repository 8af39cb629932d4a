package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcptasks/mcptasks/internal/draft"
)

func newToolCommand(c *cluster) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tool",
		Short: "Make tools of Jobs",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(newFromJobCommand(c))
	return cmd
}

// maxManifest is how long a stream of manifests may be, in bytes: more than the API server takes of hundreds of objects.
const maxManifest = 16 << 20

func newFromJobCommand(c *cluster) *cobra.Command {
	return &cobra.Command{
		Use:   "from-job FILE",
		Short: "Print the first draft of an MCPTool made of a Job's manifest",
		Long: `Read the manifests in FILE, or on standard input where FILE is "-", and print an MCPTool for each Job and CronJob among
them. What mcptasks sets itself is left out, what callers may choose is proposed, and comments say what is left for
you to decide. Comments of the manifest are not carried over. What speaks against using the draft unchanged is printed
on standard error. The cluster is not asked; kubectl apply --dry-run=server does that.`,
		Example: `  kubectl mcptask tool from-job job.yaml > tool.yaml
  kubectl get cronjob backup -n team-a -o yaml | kubectl mcptask tool from-job - -n mcptasks
  helm template ./chart | kubectl mcptask tool from-job -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			stream, err := readManifest(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			return writeDrafts(cmd.OutOrStdout(), cmd.ErrOrStderr(), stream, c.namespace)
		},
	}
}

// readManifest reads a file, or standard input.
func readManifest(file string, stdin io.Reader) (stream []byte, err error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		stdin = f
	}
	stream, err = io.ReadAll(io.LimitReader(stdin, maxManifest+1))
	if err == nil && len(stream) > maxManifest {
		err = fmt.Errorf("the manifests have more than %d bytes", maxManifest)
	}
	return stream, err
}

// writeDrafts writes the drafts to out, and to notes, for people, what they are to know about them.
func writeDrafts(out, notes io.Writer, stream []byte, namespace string) error {
	drafts, others, err := draft.FromManifests(stream, namespace)
	if err != nil {
		return err
	}
	var errs []error
	for i, d := range drafts {
		separator := ""
		if i > 0 {
			separator = "---\n"
		}
		_, err := fmt.Fprintf(out, "%s%s", separator, d.YAML)
		errs = append(errs, err)
		if d.NotReady != "" {
			fmt.Fprintf(notes, "%s: the tool will not be Ready as it is: %s\n", oneLine(d.From), oneLine(d.NotReady))
		}
		for _, warning := range d.Warnings {
			fmt.Fprintf(notes, "%s: %s\n", oneLine(d.From), oneLine(warning))
		}
		if len(d.Needs) > 0 {
			fmt.Fprintf(notes, "%s: needs in the namespace of each tenant that calls it: %s\n", oneLine(d.From),
				oneLine(strings.Join(d.Needs, ", ")))
		}
	}
	if len(others) > 0 {
		fmt.Fprintf(notes, "Left out, being no Jobs: %s\n", oneLine(strings.Join(others, ", ")))
	}
	return errors.Join(errs...)
}
