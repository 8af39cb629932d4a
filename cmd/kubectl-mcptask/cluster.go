package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// cluster is the cluster and namespace that the user means, by the same flags and files as kubectl's.
type cluster struct {
	kubeconfig, context, namespace string
}

func (c *cluster) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig file to use (default: as kubectl)")
	flags.StringVar(&c.context, "context", "", "kubeconfig context to use (default: the current one)")
	flags.StringVarP(&c.namespace, "namespace", "n", "", "namespace of the tasks (default: the context's)")
}

// connect gives a client and the namespace to work in.
func (c *cluster) connect() (client.Client, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.context}
	overrides.Context.Namespace = c.namespace
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)

	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), authenticationv1.AddToScheme(scheme)); err != nil {
		return nil, "", err
	}
	cl, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, "", fmt.Errorf("connect to the cluster: %w", err)
	}
	return cl, namespace, nil
}

// task reads one task.
func (c *cluster) task(ctx context.Context, name string) (*v1alpha1.MCPTask, error) {
	cl, namespace, err := c.connect()
	if err != nil {
		return nil, err
	}
	var t v1alpha1.MCPTask
	if err := cl.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &t); err != nil {
		return nil, explain(err)
	}
	return &t, nil
}

// explain says what to do about an error that a first-time user is likely to meet.
func explain(err error) error {
	if meta.IsNoMatchError(err) {
		return errors.New("this cluster does not know MCPTasks: mcptasks is not installed in it")
	}
	return err
}
