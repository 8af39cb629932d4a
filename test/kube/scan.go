package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Objects has everything that a namespace holds, but Secrets, as JSON by kind and name.
func (c *Cluster) Objects(ctx context.Context, namespace string) (map[string]string, error) {
	d, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return nil, err
	}
	resources, err := d.ServerPreferredNamespacedResources()
	if err != nil {
		return nil, fmt.Errorf("find out what there is: %w", err)
	}
	all := map[string]string{}
	for _, group := range resources {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range group.APIResources {
			if resource.Name == "secrets" || !slices.Contains(resource.Verbs, "list") {
				continue
			}
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(version.WithKind(resource.Kind + "List"))
			err := c.List(ctx, list, client.InNamespace(namespace))
			if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", resource.Name, err)
			}
			for i := range list.Items {
				text, err := json.Marshal(&list.Items[i])
				if err != nil {
					return nil, err
				}
				all[resource.Kind+"/"+list.Items[i].GetName()] = string(text)
			}
		}
	}
	return all, nil
}

// Logs has the logs of all containers of the pods with these labels, by pod and container. A container that has no log yet has
// an empty one.
func (c *Cluster) Logs(ctx context.Context, namespace string, labels map[string]string) (map[string]string, error) {
	clientset, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	pods := &corev1.PodList{}
	if err := c.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels(labels)); err != nil {
		return nil, err
	}
	all := map[string]string{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			log, err := clientset.CoreV1().Pods(namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container.Name}).DoRaw(ctx)
			if err != nil && !apierrors.IsBadRequest(err) {
				return nil, fmt.Errorf("read the log of %s/%s: %w", pod.Name, container.Name, err)
			}
			all[pod.Name+"/"+container.Name] = string(log)
		}
	}
	return all, nil
}
