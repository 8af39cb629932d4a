package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/task"
)

func newResultCommand(c *cluster, now func() time.Time) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "result NAME",
		Short: "Print what a finished task returned",
		Long: `Print the text that the task's caller got. The exit code is 0 only if the tool succeeded: a tool's own error is
printed like any other text, and the exit code is 1; so it is while there is no result, and when there will never
be one.`,
		Example: `  kubectl wait --for=condition=Finished mcptask/t-4q7x2nd5gqkvoyh3b6zmwj2c4e -n team-a --timeout=10m
  kubectl mcptask result t-4q7x2nd5gqkvoyh3b6zmwj2c4e -n team-a
  kubectl mcptask result t-4q7x2nd5gqkvoyh3b6zmwj2c4e -n team-a --json | jq .structuredContent`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := c.task(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return printResult(cmd.OutOrStdout(), t, asJSON, now())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the whole MCP CallToolResult as JSON")
	return cmd
}

// callToolResult is what people read of MCP's CallToolResult.
type callToolResult struct {
	Content []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		URI      string `json:"uri"`
		MIMEType string `json:"mimeType"`
	} `json:"content"`
	IsError bool `json:"isError"`
}

func printResult(w io.Writer, t *v1alpha1.MCPTask, asJSON bool, now time.Time) error {
	seen := task.Wire(t, now)
	switch seen.Status {
	case v1alpha1.StateCompleted:
	case v1alpha1.StateFailed:
		return fmt.Errorf("the call could not be carried out: %s", seen.Error.Message)
	case v1alpha1.StateCancelled:
		return fmt.Errorf("the task was cancelled: %s", seen.StatusMessage)
	default:
		return fmt.Errorf("no result yet: the task is %s: %s", seen.Status, seen.StatusMessage)
	}
	var result callToolResult
	if err := json.Unmarshal(seen.Result, &result); err != nil {
		return fmt.Errorf("the recorded result is not a CallToolResult: %w", err)
	}
	if asJSON {
		if _, err := fmt.Fprintf(w, "%s\n", seen.Result); err != nil {
			return err
		}
	} else if err := writeResult(w, t, result); err != nil {
		return err
	}
	if result.IsError {
		return errors.New("the tool ended with an error")
	}
	return nil
}

// writeResult prints the texts of a result, and how to get at what is no text.
func writeResult(w io.Writer, t *v1alpha1.MCPTask, result callToolResult) error {
	for _, block := range result.Content {
		line := block.Text
		switch block.Type {
		case "text":
		case "resource_link":
			line = "[more at " + block.URI + "]"
			if log := t.Status.Log; log != nil && block.URI == job.LogURI(t.Name, 0) {
				line = fmt.Sprintf("[all of it, while the Job is kept: kubectl logs -n %s %s -c %s]", t.Namespace, log.Pod, log.Container)
			}
		default:
			line = "[" + block.Type + " " + block.MIMEType + "; see --json]"
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}
