package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/task"
)

func newGetCommand(c *cluster, now func() time.Time) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "get [NAME]",
		Short: "Show one task, or list tasks with the newest first",
		Long: `Show a task as its caller sees it, with what an operator wants to know besides: who called, with which
arguments, which Job it became, how long it is kept. Without NAME, list the tasks of the namespace, the newest
first.`,
		Example: `  kubectl mcptask get -n team-a
  kubectl mcptask get -A
  kubectl mcptask get t-4q7x2nd5gqkvoyh3b6zmwj2c4e -n team-a`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if all {
					return errors.New("NAME and --all-namespaces do not go together")
				}
				t, err := c.task(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return describe(cmd.OutOrStdout(), t, now())
			}
			cl, namespace, err := c.connect()
			if err != nil {
				return err
			}
			if all {
				namespace = metav1.NamespaceAll
			}
			var tasks v1alpha1.MCPTaskList
			if err := cl.List(cmd.Context(), &tasks, client.InNamespace(namespace)); err != nil {
				return explain(err)
			}
			if len(tasks.Items) == 0 {
				_, err := fmt.Fprintln(cmd.ErrOrStderr(), noTasks(namespace))
				return err
			}
			return list(cmd.OutOrStdout(), tasks.Items, all, now())
		},
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "list the tasks of all namespaces")
	return cmd
}

func noTasks(namespace string) string {
	if namespace == metav1.NamespaceAll {
		return "No tasks in the cluster."
	}
	return fmt.Sprintf("No tasks in namespace %s.", namespace)
}

// list writes one line a task, the newest first.
func list(w io.Writer, tasks []v1alpha1.MCPTask, namespaces bool, now time.Time) error {
	slices.SortStableFunc(tasks, func(a, b v1alpha1.MCPTask) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	tw := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	row := func(namespace string, cells ...string) {
		if namespaces {
			cells = append([]string{namespace}, cells...)
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	row("NAMESPACE", "TASK", "TOOL", "STATE", "AGE", "MESSAGE")
	for i := range tasks {
		t := &tasks[i]
		seen := task.Wire(t, now)
		age := age(t.CreationTimestamp.Time, now)
		row(t.Namespace, t.Name, t.Spec.Tool.Name, string(seen.Status), age, oneLine(seen.StatusMessage))
	}
	return tw.Flush()
}

// describe writes one fact a line, leaving out what is not there.
func describe(w io.Writer, t *v1alpha1.MCPTask, now time.Time) error {
	seen := task.Wire(t, now)
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fact := func(name, format string, args ...any) {
		if value := oneLine(fmt.Sprintf(format, args...)); value != "" {
			fmt.Fprintf(tw, "%s:\t%s\n", name, value)
		}
	}
	when := func(name string, at *metav1.MicroTime) {
		if at != nil {
			fact(name, "%s (%s ago)", at.UTC().Format(time.DateTime+" MST"), age(at.Time, now))
		}
	}
	fact("Task", "%s", t.Name)
	fact("Namespace", "%s", t.Namespace)
	fact("Tool", "%s/%s", t.Spec.Tool.Namespace, t.Spec.Tool.Name)
	fact("Caller", "%s (%s)", t.Spec.Owner.Subject, t.Spec.Owner.Issuer)
	fact("Arguments", "%s", t.Spec.Arguments)
	fact("State", "%s", seen.Status)
	fact("Reason", "%s", t.Status.Reason)
	fact("Message", "%s", seen.StatusMessage)
	for _, key := range slices.Sorted(maps.Keys(seen.InputRequests)) {
		fact("Question "+key, "%s", seen.InputRequests[key].Params.Message)
	}
	if seen.Error != nil {
		fact("Error", "%d %s %s", seen.Error.Code, seen.Error.Message, seen.Error.Data)
	}
	if cancel := t.Spec.Cancel; cancel != nil {
		fact("Cancel asked by", "%s", cancel.By)
	}
	when("Created", &metav1.MicroTime{Time: t.CreationTimestamp.Time})
	when("Started", t.Status.StartedAt)
	when("Finished", t.Status.FinishedAt)
	if at := t.Status.ExpiresAt; at != nil {
		fact("Kept until", "%s", at.UTC().Format(time.DateTime+" MST"))
	}
	if t.Status.Job != nil {
		fact("Job", "%s", t.Status.Job.Name)
	}
	if seen.Status == v1alpha1.StateCompleted {
		fact("Result", "kubectl mcptask result %s -n %s", t.Name, t.Namespace)
	}
	return tw.Flush()
}

func age(since, now time.Time) string { return duration.HumanDuration(now.Sub(since)) }

// oneLine keeps what an agent or a tool wrote from moving the cursor or faking a line of ours.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s))
}
