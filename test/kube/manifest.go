package kube

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fieldOwner is whom server-side apply notes down for what ApplyManifests sets.
const fieldOwner = "mcptasks-test"

// ReadManifests reads the objects of the YAML files, in their order. A List stands for its items.
func ReadManifests(files ...string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", filepath.Base(file), err)
			}
			obj := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(document, &obj.Object); err != nil {
				return nil, fmt.Errorf("read %s: %w", filepath.Base(file), err)
			}
			items, err := itemsOf(obj)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", filepath.Base(file), err)
			}
			objects = append(objects, items...)
		}
	}
	return objects, nil
}

// itemsOf returns the items of a List, nothing for an empty document, and every other object as it is.
func itemsOf(obj *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	switch {
	case len(obj.Object) == 0:
		return nil, nil
	case !obj.IsList():
		return []*unstructured.Unstructured{obj}, nil
	}
	list, err := obj.ToList()
	if err != nil {
		return nil, err
	}
	items := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		items[i] = &list.Items[i]
	}
	return items, nil
}

// ApplyManifests applies objects server-side, so that applying them again changes nothing.
func (c *Cluster) ApplyManifests(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, obj := range objects {
		applied := client.ApplyConfigurationFromUnstructured(obj.DeepCopy())
		if err := c.Apply(ctx, applied, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", obj.GetKind(), client.ObjectKeyFromObject(obj), err)
		}
	}
	return nil
}

// Key is an object's namespace and name.
func Key(obj client.Object) types.NamespacedName { return client.ObjectKeyFromObject(obj) }
