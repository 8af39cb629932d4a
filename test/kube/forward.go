package kube

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ReadyPods returns the pods of a namespace that have the labels, are ready and not being deleted, by name.
func (c *Cluster) ReadyPods(ctx context.Context, namespace string, labels map[string]string) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	if err := c.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels(labels)); err != nil {
		return nil, err
	}
	ready := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
	slices.SortFunc(ready, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return ready, nil
}

// Forward opens a port on loopback that leads to a port of one pod, until ctx ends or the pod is gone, and returns its
// address.
func (c *Cluster) Forward(ctx context.Context, pod *corev1.Pod, port int) (string, error) {
	to, _, err := rest.DefaultServerUrlFor(c.config)
	if err != nil {
		return "", err
	}
	to.Path, err = url.JoinPath(to.Path, "api/v1/namespaces", pod.Namespace, "pods", pod.Name, "portforward")
	if err != nil {
		return "", err
	}
	dialer, err := portforward.NewSPDYOverWebsocketDialerForStreaming(to, c.config)
	if err != nil {
		return "", fmt.Errorf("forward a port to pod %s: %w", pod.Name, err)
	}
	// It would log each client that hangs up.
	ctx = logr.NewContext(ctx, logr.Discard())
	ready, ended := make(chan struct{}), make(chan error, 1)
	forwarder, err := portforward.NewOnAddressesForStreamingWithContext(ctx, dialer, []string{"127.0.0.1"},
		[]string{"0:" + strconv.Itoa(port)}, ready, io.Discard, io.Discard)
	if err != nil {
		return "", fmt.Errorf("forward a port to pod %s: %w", pod.Name, err)
	}
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case err := <-ended:
		return "", fmt.Errorf("forward a port to pod %s: it ended at once: %w", pod.Name, err)
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return "", fmt.Errorf("forward a port to pod %s: %w", pod.Name, err)
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local), nil
}
