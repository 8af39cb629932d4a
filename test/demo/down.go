//go:build unix

package main

import (
	"context"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/env"
	"github.com/mcptasks/mcptasks/test/kube"
)

// The label of what config/samples makes.
const (
	partOf  = "app.kubernetes.io/part-of"
	samples = "mcptasks-samples"
)

// down removes what the demo made: the whole local cluster, or, from a cluster that serves others too, the samples and the
// release.
func (p *place) down(ctx context.Context, s *screen) error {
	if p.local != nil {
		return p.local.Down(ctx)
	}
	if err := p.open(ctx); err != nil {
		return err
	}
	// Tools before their controller, tenants after their tools. Without the CRD there are none.
	err := p.cluster.DeleteAllOf(ctx, &v1alpha1.MCPTool{},
		client.InNamespace(kube.Namespace), client.MatchingLabels{partOf: samples})
	if err != nil && !apimeta.IsNoMatchError(err) {
		return fmt.Errorf("remove the sample tools: %w", err)
	}
	if err := p.show(ctx, s, "delete", "namespace", "-l", partOf+"="+samples); err != nil {
		return err
	}
	helm, err := p.env.Binary(ctx, "helm")
	if err != nil {
		return err
	}
	s.command("helm uninstall mcptasks --namespace " + env.Namespace + " --ignore-not-found --wait")
	uninstall := p.env.Command(ctx, helm, "uninstall", "mcptasks", "--namespace", env.Namespace, "--ignore-not-found", "--wait",
		"--kubeconfig", p.kubeconfig)
	if err := uninstall.Run(); err != nil {
		return fmt.Errorf("uninstall mcptasks: %w", err)
	}
	s.gap()
	s.say("Helm keeps the CRDs, with all tools and tasks that somebody else may have. To remove those too:")
	s.gap()
	s.say("  kubectl delete crd/mcptools.mcptasks.dev crd/mcptasks.mcptasks.dev namespace/%s", env.Namespace)
	return nil
}
