//go:build unix

package resilience

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/integration/setup"
)

// A right that the controller lacks is named in its log, by its readiness, and by the tasks that need it. These do not claim
// what is not so, and go on when the right is given.
func TestMissingRight_B42(t *testing.T) {
	for _, test := range []struct {
		right string
		rule  rbacv1.PolicyRule // with one group, resource and verb
		// need makes a task that needs the right.
		need func(w *world, c *tenantOfOne) (id string)
		says string
		ends v1alpha1.TaskState
	}{
		{
			"create jobs.batch", rule("batch", "jobs", "create"),
			func(_ *world, c *tenantOfOne) string { return c.call() },
			`no right to create resource "jobs"`, v1alpha1.StateCompleted,
		},
		{
			"delete jobs.batch", rule("batch", "jobs", "delete"),
			func(w *world, c *tenantOfOne) string {
				c.hold.Store(true)
				id := c.call()
				w.awaitReason(id, v1alpha1.ReasonRunning)
				w.must(c.Cancel(w.Context(), id))
				return id
			},
			`no right to delete resource "jobs"`, v1alpha1.StateCancelled,
		},
		{
			"get pods/log", rule("", "pods/log", "get"),
			func(_ *world, c *tenantOfOne) string { return c.call() },
			`no right to get resource "pods/log"`, v1alpha1.StateCompleted,
		},
		{
			"list events", rule("", "events", "list"),
			func(w *world, c *tenantOfOne) string {
				quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "none"}}
				quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
				w.must(cluster.Create(w.Context(), quota))
				id := c.call()
				c.afterwards = func() { w.must(cluster.Delete(w.Context(), quota)) }
				return id
			},
			`no right to list resource "events"`, v1alpha1.StateCompleted,
		},
	} {
		t.Run(test.right, func(t *testing.T) {
			w := newWorld(t)
			config, grant := w.accountWithout(test.rule)
			controller := program.StartWithout(t, config, "controller", "--catalog-namespace", release, "--lease-namespace", release)
			w.awaitLeader(controller)
			missing := "no right to " + test.right
			w.eventually("the log names the right", func() bool { return strings.Contains(controller.Log.String(), missing) })
			if controller.Ready() || controller.Metric("mcptasks_missing_rights") != 1 {
				t.Errorf("it is ready: %t, and counts %g missing rights", controller.Ready(), controller.Metric("mcptasks_missing_rights"))
			}
			c := w.tenantOfOne()
			id := test.need(w, c)
			w.eventually("the task names the right", func() bool {
				s := w.record(id).Status
				if s.State.Terminal() {
					t.Fatalf("it ended without the right: %s (%s): %s", s.State, s.Reason, s.Message)
				}
				return strings.Contains(s.Message, test.says)
			})
			grant()
			c.afterwards()
			w.eventually("the task ends", func() bool { return w.record(id).Status.State == test.ends })
			w.eventually("the controller is ready", controller.Ready)
		})
	}
}

func rule(group, resource, verb string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}}
}

// accountWithout makes an account with the controller's rights except one, and a function that gives it that one, too.
func (w *world) accountWithout(missing rbacv1.PolicyRule) (config string, grant func()) {
	w.Helper()
	name := w.namespace
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{}}
	extra := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name + "-rest"}, Rules: []rbacv1.PolicyRule{missing}}
	for _, rule := range w.controllerRules() {
		if slices.Equal(rule.APIGroups, missing.APIGroups) && slices.Contains(rule.Resources, missing.Resources[0]) {
			others := *rule.DeepCopy()
			others.Resources = slices.DeleteFunc(others.Resources, func(r string) bool { return r == missing.Resources[0] })
			if len(others.Resources) > 0 {
				role.Rules = append(role.Rules, others)
			}
			rule.Resources = missing.Resources
			rule.Verbs = slices.DeleteFunc(rule.Verbs, func(v string) bool { return v == missing.Verbs[0] })
		}
		if len(rule.Verbs) > 0 {
			role.Rules = append(role.Rules, rule)
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: release, Name: name}}
	binding := func(kind, role string) *rbacv1.ClusterRoleBinding {
		return &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: release, Name: name}},
		}
	}
	lease := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: release, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "mcptasks-controller"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: release, Name: name}},
	}
	rest := binding("ClusterRole", extra.Name)
	for _, object := range []client.Object{account, role, extra, binding("ClusterRole", role.Name), lease} {
		w.must(cluster.Create(w.Context(), object))
		w.deleteAtTheEnd(object)
	}
	config = filepath.Join(w.TempDir(), "kubeconfig")
	w.must(setup.WriteKubeconfig(w.Context(), cluster, release, name, config))
	return config, func() {
		w.must(cluster.Create(w.Context(), rest))
		w.deleteAtTheEnd(rest)
	}
}

// controllerRules are what the chart's ClusterRole lets the controller do.
func (w *world) controllerRules() []rbacv1.PolicyRule {
	w.Helper()
	roles, err := readRoles()
	w.must(err)
	for _, role := range roles {
		if role.GetKind() == "ClusterRole" && role.GetName() == "mcptasks-controller" {
			typed := &rbacv1.ClusterRole{}
			w.must(runtime.DefaultUnstructuredConverter.FromUnstructured(role.Object, typed))
			return typed.Rules
		}
	}
	w.Fatal("there is no ClusterRole of the controller")
	return nil
}
