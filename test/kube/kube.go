// Package kube is what the demo, the end-to-end tests and the conformance run need of a cluster with mcptasks installed: a
// client, manifests, tokens, and ways to the endpoint's pods. It talks to the API server only, so it works with any cluster
// that a kubeconfig leads to; it does not know how the cluster came to be or what is done with it.
package kube

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// What the chart installs, by its defaults.
const (
	// Namespace is the release's namespace and so the catalog namespace.
	Namespace = "mcptasks"
	// Audience is what tokens for the endpoint are issued for.
	Audience = "mcptasks"
	// EndpointPort is the container port that serves /mcp.
	EndpointPort = 8080
)

// The chart's two Deployments, by the labels of their pods.
var (
	EndpointLabels   = map[string]string{"app.kubernetes.io/name": "mcptasks", "app.kubernetes.io/component": "endpoint"}
	ControllerLabels = map[string]string{"app.kubernetes.io/name": "mcptasks", "app.kubernetes.io/component": "controller"}
)

// Cluster is a cluster as its administrator sees it. All reads are live.
type Cluster struct {
	client.WithWatch
	config *rest.Config
}

// Open connects to the cluster of a kubeconfig file; empty: the one that kubectl would use.
func Open(kubeconfig string) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	// The callers wait for conditions with many small reads; the server's own fairness is limit enough.
	config.QPS = -1
	// Nothing here logs; errors are returned. Left unset, controller-runtime complains after a while.
	log.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return &Cluster{WithWatch: c, config: config}, nil
}

// As is the cluster as a user sees it, with that user's rights.
func (c *Cluster) As(user string) (client.Client, error) {
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	return client.New(config, client.Options{Scheme: c.Scheme()})
}

// Token issues a token of a service account for the endpoint, valid for an hour.
func (c *Cluster) Token(ctx context.Context, namespace, serviceAccount string) (string, error) {
	hour := int64(3600)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: serviceAccount}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: []string{Audience}, ExpirationSeconds: &hour,
	}}
	if err := c.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("issue a token for %s/%s: %w", namespace, serviceAccount, err)
	}
	return request.Status.Token, nil
}

// WaitReady waits until agents can see a tool. The error of a wait in vain says what the tool's Ready condition says.
func (c *Cluster) WaitReady(ctx context.Context, key types.NamespacedName) error {
	tool := &v1alpha1.MCPTool{}
	err := c.Wait(ctx, tool, key, func() bool {
		ready := apimeta.FindStatusCondition(tool.Status.Conditions, v1alpha1.ConditionReady)
		return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == tool.Generation
	})
	if err != nil {
		reason := "the controller has not looked at it"
		if ready := apimeta.FindStatusCondition(tool.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
			reason = ready.Reason + ": " + ready.Message
		}
		return fmt.Errorf("the tool %s is not ready (%s): %w", key, reason, err)
	}
	return nil
}

// Log is all that the pod's first container has written.
func (c *Cluster) Log(ctx context.Context, pod *corev1.Pod) (string, error) {
	clients, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return "", err
	}
	options := &corev1.PodLogOptions{Container: pod.Spec.Containers[0].Name}
	text, err := clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("read the log of pod %s: %w", pod.Name, err)
	}
	return string(text), nil
}
