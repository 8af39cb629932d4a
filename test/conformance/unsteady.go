//go:build unix

package main

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/kube"
)

// trigger is the tool that the suite calls when it wants the list of tools to change while it listens. A Job that does it would
// take longer than the suite listens, so the run does it, as an operator would, and passes the call on: no tool has this name.
const trigger = "test_trigger_tool_change"

// unsteady changes the tool that is there to be changed.
type unsteady struct {
	cluster *kube.Cluster

	mu      sync.Mutex
	changes int
}

var unsteadyKey = types.NamespacedName{Namespace: tenant, Name: "unsteady"}

// before gives the tool a new description when the suite is about to call trigger.
func (u *unsteady) before(ctx context.Context, tool string) error {
	if tool != trigger {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.changes++
	object := &v1alpha1.MCPTool{}
	object.Namespace, object.Name = unsteadyKey.Namespace, unsteadyKey.Name
	patch := fmt.Appendf(nil, `{"spec":{"description":"Is described anew now and then; this is number %d."}}`, u.changes)
	if err := u.cluster.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("change a tool: %w", err)
	}
	return nil
}

// settle waits until agents see the tool again, so that their list is steady for what comes next.
func (u *unsteady) settle(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.changes == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return u.cluster.WaitReady(ctx, unsteadyKey)
}
