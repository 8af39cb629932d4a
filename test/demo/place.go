//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/mcptasks/mcptasks/test/env"
	"github.com/mcptasks/mcptasks/test/images"
	"github.com/mcptasks/mcptasks/test/kube"
)

// clusterName is the local cluster's.
const clusterName = "demo"

// The tenant of config/samples.
const (
	tenant       = "team-a"
	tenantsAgent = "agent"
)

// place is where the demo takes place: a local cluster, or the one of the current kubeconfig.
type place struct {
	env        *env.Env
	local      *env.Cluster // nil: the current kubeconfig's
	kubeconfig string       // known after up
	kubectl    string       // path of the program, known after up
	cluster    *kube.Cluster
}

func newPlace(e *env.Env) (*place, error) {
	switch choice := os.Getenv("CLUSTER"); choice {
	case "", "local":
		return &place{env: e, local: e.Cluster(clusterName)}, nil
	case "current":
		// The first of the files that kubectl reads is enough: it is the one that says which context is current.
		return &place{env: e, kubeconfig: clientcmd.NewDefaultPathOptions().GetDefaultFilename()}, nil
	default:
		return nil, fmt.Errorf("CLUSTER=%s is not known: leave it empty for a local cluster, or say CLUSTER=current", choice)
	}
}

// up makes sure that there is a cluster, and the programs to talk to it.
func (p *place) up(ctx context.Context, s *screen) (err error) {
	if p.local == nil {
		s.heading("The cluster of your kubeconfig")
	} else {
		if why := env.NoPods(); why != "" {
			return advise(errors.New(why), "become root, or use a cluster that you have: make demo CLUSTER=current")
		}
		s.heading("A real Kubernetes cluster on this machine")
		s.say("One node, built from source. The first time that takes about a quarter of an hour on two cores; then seconds.")
		s.gap()
		if p.kubeconfig, err = p.local.Up(ctx); err != nil {
			return advise(err, "the lines above say which part failed and where its log is; make demo tries again and keeps "+
				"what is built, make demo-down clears what is there")
		}
		s.gap()
	}
	if err := p.open(ctx); err != nil {
		return err
	}
	return p.show(ctx, s, "get", "nodes")
}

// open gets ready to talk to the cluster.
func (p *place) open(ctx context.Context) (err error) {
	if p.kubectl, err = p.env.Binary(ctx, "kubectl"); err != nil {
		return err
	}
	p.cluster, err = kube.Open(p.kubeconfig)
	return advise(err, "see whether KUBECONFIG is right: kubectl get nodes")
}

// show runs kubectl in front of the reader.
func (p *place) show(ctx context.Context, s *screen, args ...string) error {
	s.command("kubectl " + shellWords(args))
	cmd := p.env.Command(ctx, p.kubectl, args...)
	cmd.Env = append(cmd.Env, "KUBECONFIG="+p.kubeconfig)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("kubectl %s: %w", shellWords(args), err)
	}
	return nil
}

// endpoint is the endpoint's URL. In a local cluster it is good for as long as the release is; elsewhere it ends with ctx.
func (p *place) endpoint(ctx context.Context) (string, error) {
	if p.local != nil {
		service := &corev1.Service{}
		key := types.NamespacedName{Namespace: kube.Namespace, Name: "mcptasks-endpoint"}
		if err := p.cluster.Get(ctx, key, service); err != nil {
			return "", fmt.Errorf("find the endpoint's service: %w", err)
		}
		return fmt.Sprintf("http://%s/mcp", service.Spec.ClusterIP), nil
	}
	pods, err := p.cluster.ReadyPods(ctx, kube.Namespace, kube.EndpointLabels)
	if err != nil {
		return "", err
	}
	if len(pods) == 0 {
		return "", errors.New("no pod of the endpoint is ready")
	}
	address, err := p.cluster.Forward(ctx, &pods[0], kube.EndpointPort)
	if err != nil {
		return "", err
	}
	return "http://" + address + "/mcp", nil
}

// archives builds the images: the product's first, then the samples'.
func (p *place) archives(ctx context.Context) ([]string, error) {
	product, err := p.env.Image(ctx)
	if err != nil {
		return nil, err
	}
	all := []string{product}
	for _, image := range []images.Image{images.Migrate, images.Toolbox} {
		archive, err := image.Archive(ctx, p.env.Root, filepath.Join(p.env.Root, "dist"))
		if err != nil {
			return nil, err
		}
		all = append(all, archive)
	}
	return all, nil
}
