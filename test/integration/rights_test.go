package integration

import (
	"context"
	"fmt"
	"os"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const (
	controllerRole = "../../config/rbac/controller.yaml"
	controllerUser = "mcptasks:integration-test"
)

// grantRights gives the user as whom the tests' controllers act the rights that the chart gives the real one, and no others.
func grantRights(ctx context.Context) error {
	doc, err := os.ReadFile(controllerRole)
	if err != nil {
		return fmt.Errorf("read the controller's role (make generate makes it): %w", err)
	}
	for part := range strings.SplitSeq(string(doc), "\n---\n") {
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal([]byte(part), role); err != nil || role.Kind != "ClusterRole" {
			continue // The rights on the lease; these controllers elect no leader.
		}
		role.Name = "mcptasks-integration-test"
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: controllerUser}},
		}
		if err := replace(ctx, role); err != nil {
			return err
		}
		return replace(ctx, binding)
	}
	return fmt.Errorf("no ClusterRole in %s", controllerRole)
}

// replace creates an object, in place of one that an earlier run may have left.
func replace(ctx context.Context, obj client.Object) error {
	if err := client.IgnoreNotFound(admin.Delete(ctx, obj)); err != nil {
		return err
	}
	obj.SetResourceVersion("")
	return admin.Create(ctx, obj)
}

// asController acts with the controller's rights.
func asController() *rest.Config {
	cfg := rest.CopyConfig(config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: controllerUser}
	return cfg
}
