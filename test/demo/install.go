//go:build unix

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/test/env"
	"github.com/mcptasks/mcptasks/test/images"
	"github.com/mcptasks/mcptasks/test/kube"
)

// readiness is how long the tools may take until agents can see them.
const readiness = time.Minute

// install puts mcptasks and the sample tools into the cluster.
func install(ctx context.Context, s *screen, p *place) error {
	s.heading("mcptasks, installed with Helm")
	var archives []string
	err := s.step("build the images of mcptasks and of the sample's migration tool", func() (err error) {
		archives, err = p.archives(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if p.local != nil {
		if err := p.local.LoadImages(ctx, archives...); err != nil {
			return err
		}
	} else {
		s.say("The nodes of your cluster need these images; push them to a registry that they pull from, or load them, as\n" +
			"\"kind load image-archive\" and \"minikube image load\" do:")
		for _, archive := range archives {
			s.say("  %s", archive)
		}
	}
	s.gap()
	s.command("helm upgrade --install mcptasks charts/mcptasks --namespace " + env.Namespace +
		" --create-namespace --set image.repository=mcptasks,image.tag=dev --wait")
	if err := p.env.InstallChart(ctx, p.kubeconfig, archives[0], nil); err != nil {
		return advise(err, "the lines above show the pods; if an image is missing, give it to the nodes (%s)",
			strings.Join(archives, ", "))
	}
	return offer(ctx, s, p)
}

// offer applies the samples: a tenant with a volume for its databases, and the catalog's tools.
func offer(ctx context.Context, s *screen, p *place) error {
	s.heading("A Job as a tool: config/samples")
	s.say("%s says how a Job becomes a tool: its name, what an agent may ask for, how long it may run.", "run-migration.yaml")
	s.say("The Job runs %s on SQLite databases, on a volume of the tenant %s.", images.Migrate.Tag, tenant)
	s.gap()
	if err := forgetTenant(ctx, s, p); err != nil {
		return err
	}
	if err := p.show(ctx, s, "apply", "--server-side", "--force-conflicts", "-k", filepath.Join("config", "samples")); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readiness)
	defer cancel()
	for _, tool := range []string{"migration-status", "run-migration"} {
		if err := p.cluster.WaitReady(ctx, types.NamespacedName{Namespace: kube.Namespace, Name: tool}); err != nil {
			return advise(err, "kubectl describe mcptool %s -n %s says more, and so does the controller: kubectl logs -n %s "+
				"deployment/mcptasks-controller", tool, kube.Namespace, kube.Namespace)
		}
	}
	s.gap()
	return p.show(ctx, s, "get", "mcptools", "-A")
}

// forgetTenant removes the tenant of an earlier demo, so that there is something to migrate. It never removes somebody's own.
func forgetTenant(ctx context.Context, s *screen, p *place) error {
	namespace := &corev1.Namespace{}
	err := p.cluster.Get(ctx, types.NamespacedName{Name: tenant}, namespace)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if namespace.Labels[partOf] != samples {
		return advise(fmt.Errorf("there is a namespace %s already, and it is not the samples'", tenant),
			"use another cluster, or remove that namespace if nobody needs it")
	}
	return s.step("remove the tenant of the demo before", func() error {
		if err := client.IgnoreNotFound(p.cluster.Delete(ctx, namespace)); err != nil {
			return fmt.Errorf("remove the namespace %s: %w", tenant, err)
		}
		ctx, cancel := context.WithTimeout(ctx, readiness)
		defer cancel()
		return advise(p.cluster.WaitGone(ctx, namespace, kube.Key(namespace)),
			"kubectl describe namespace %s says what it waits for", tenant)
	})
}
