package kube

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// interval is how often a condition is looked at. It bounds how late its coming true is noticed, nothing else.
const interval = 100 * time.Millisecond

// Wait reads the object into obj until it is there and done says so, or ctx ends.
func (c *Cluster) Wait(ctx context.Context, obj client.Object, key types.NamespacedName, done func() bool) error {
	return Poll(ctx, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, key, obj)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil && done(), err
	})
}

// WaitGone waits until there is no object of that name.
func (c *Cluster) WaitGone(ctx context.Context, obj client.Object, key types.NamespacedName) error {
	err := Poll(ctx, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, key, obj)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("%T %s is still there: %w", obj, key, err)
	}
	return nil
}

// Poll calls done until it returns true or an error, or ctx ends.
func Poll(ctx context.Context, done func(context.Context) (bool, error)) error {
	return wait.PollUntilContextCancel(ctx, interval, true, done)
}
