package auth

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// Tenants says which tenant a namespace belongs to.
type Tenants struct {
	// Cache reads from the informer that NamespaceCacheOptions describes.
	Cache client.Reader
	// Live reads from the API server.
	Live client.Reader
}

// NamespaceCacheOptions describes the informer of namespaces that Tenants reads from: only those that belong to a tenant. Its
// objects are shared, and must not be changed: each request reads one.
func NamespaceCacheOptions() cache.ByObject {
	labelled, err := labels.NewRequirement(v1alpha1.LabelTenant, selection.Exists, nil)
	if err != nil {
		panic(err) // the label is a constant
	}
	return cache.ByObject{
		Label:                 labels.NewSelector().Add(*labelled),
		Transform:             cache.TransformStripManagedFields(),
		UnsafeDisableDeepCopy: ptr.To(true),
	}
}

// Tenant returns the tenant that owns the namespace. A namespace that nobody has labelled is an *Error; a namespace that is
// unknown to the informer is read live first, since it may have been labelled just now.
func (t Tenants) Tenant(ctx context.Context, namespace string) (string, error) {
	object := &corev1.Namespace{}
	err := t.Cache.Get(ctx, types.NamespacedName{Name: namespace}, object)
	if err != nil {
		err = t.Live.Get(ctx, types.NamespacedName{Name: namespace}, object)
	}
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return "", fmt.Errorf("read namespace %s: %w", namespace, err)
	case object.Labels[v1alpha1.LabelTenant] != "":
		return object.Labels[v1alpha1.LabelTenant], nil
	}
	return "", noTenant(fmt.Sprintf("You have no tenant here: the namespace %q does not carry the label %s, "+
		"which the platform team sets", namespace, v1alpha1.LabelTenant))
}
