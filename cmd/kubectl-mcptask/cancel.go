package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

func newCancelCommand(c *cluster, now func() time.Time) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel NAME",
		Short: "Stop a task",
		Long: `Ask for a task to be stopped. Its pods get SIGTERM and their grace period; once they are gone the task is
cancelled, and its caller sees that and your reason. This cannot be taken back. A task that has finished stays as
it is.`,
		Example: `  kubectl mcptask cancel t-4q7x2nd5gqkvoyh3b6zmwj2c4e -n team-a --reason "database maintenance"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, namespace, err := c.connect()
			if err != nil {
				return err
			}
			said, err := cancel(cmd.Context(), cl, client.ObjectKey{Namespace: namespace, Name: args[0]}, reason, now)
			if err != nil {
				return explain(err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
			return err
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, in words for the caller; at most 512 characters")
	return cmd
}

// cancel writes spec.cancel unless it is there or the task has finished, and says in words which of them it was.
func cancel(
	ctx context.Context, cl client.Client, key client.ObjectKey, reason string, now func() time.Time,
) (said string, err error) {
	by, err := whoAmI(ctx, cl)
	if err != nil {
		return "", err
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var t v1alpha1.MCPTask
		if err := cl.Get(ctx, key, &t); err != nil {
			return err
		}
		if t.Status.State.Terminal() {
			said = fmt.Sprintf("task %s has finished (%s); nothing to cancel", t.Name, t.Status.State)
			return nil
		}
		if t.Spec.Cancel != nil {
			said = fmt.Sprintf("task %s is being cancelled since %s", t.Name, t.Spec.Cancel.At.UTC().Format(time.DateTime+" MST"))
			return nil
		}
		before := t.DeepCopy()
		t.Spec.Cancel = &v1alpha1.Cancellation{At: metav1.NewMicroTime(now()), By: by, Reason: reason}
		said = fmt.Sprintf("task %s is being cancelled", t.Name)
		return cl.Patch(ctx, &t, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	return said, err
}

// whoAmI asks the API server for the user's name there, which is put on the record.
func whoAmI(ctx context.Context, cl client.Client) (string, error) {
	var review authenticationv1.SelfSubjectReview
	if err := cl.Create(ctx, &review); err != nil {
		return "", fmt.Errorf("ask the cluster who you are: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}
