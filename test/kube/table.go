package kube

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// Table is the table of a resource of mcptasks.dev in a namespace, which kubectl get prints.
func (c *Cluster) Table(ctx context.Context, namespace, resource string) (*metav1.Table, error) {
	config := rest.CopyConfig(c.config)
	config.APIPath, config.GroupVersion = "/apis", &v1alpha1.GroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(c.Scheme()).WithoutConversion()
	resources, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	content, err := resources.Get().Namespace(namespace).Resource(resource).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("get the table of %s: %w", resource, err)
	}
	table := &metav1.Table{}
	return table, json.Unmarshal(content, table)
}
