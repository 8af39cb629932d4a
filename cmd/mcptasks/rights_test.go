package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/mcptasks/mcptasks/internal/controller"
	"github.com/mcptasks/mcptasks/internal/mcp/endpoint"
	"github.com/mcptasks/mcptasks/internal/rights"
)

// What the programs check to be allowed is what their roles allow, no less and no more.
func TestRightsAreThoseOfTheRoles_B42(t *testing.T) {
	for name, checked := range map[string][]rights.Right{"controller": controller.Rights(), "endpoint": endpoint.Rights()} {
		t.Run(name, func(t *testing.T) {
			allowed := clusterRole(t, filepath.Join("..", "..", "config", "rbac", name+".yaml"))
			for _, right := range checked {
				if !slices.Contains(allowed, right) {
					t.Errorf("the role has no right to %s", right)
				}
			}
			for _, right := range allowed {
				if !slices.Contains(checked, right) {
					t.Errorf("the right to %s is not checked", right)
				}
			}
		})
	}
}

// clusterRole is what the ClusterRole of a file allows.
func clusterRole(t *testing.T, file string) (allowed []rights.Right) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(text), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(part), &role); err != nil {
			t.Fatal(err)
		}
		if role.Kind != "ClusterRole" {
			continue // what is only allowed in the program's own namespace
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					allowed = append(allowed, rights.Of(group, resource, rule.Verbs...)...)
				}
			}
		}
	}
	return allowed
}
