package chart

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestLint(t *testing.T) {
	if out, err := helm(t.Context(), t, "lint", "--strict", chartDir); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestObjects: everything that is installed.
func TestObjects(t *testing.T) {
	want := []string{
		"ClusterRole/chart-test-mcptasks-controller",
		"ClusterRole/chart-test-mcptasks-edit",
		"ClusterRole/chart-test-mcptasks-endpoint",
		"ClusterRole/chart-test-mcptasks-endpoint-logs",
		"ClusterRole/chart-test-mcptasks-view",
		"ClusterRoleBinding/chart-test-mcptasks-controller",
		"ClusterRoleBinding/chart-test-mcptasks-endpoint",
		"ClusterRoleBinding/chart-test-mcptasks-endpoint-logs",
		"CustomResourceDefinition/mcptasks.mcptasks.dev",
		"CustomResourceDefinition/mcptools.mcptasks.dev",
		"Deployment/chart-test-mcptasks-controller",
		"Deployment/chart-test-mcptasks-endpoint",
		"PodDisruptionBudget/chart-test-mcptasks-controller",
		"PodDisruptionBudget/chart-test-mcptasks-endpoint",
		"Role/chart-test-mcptasks-controller",
		"Role/chart-test-mcptasks-endpoint-secret",
		"RoleBinding/chart-test-mcptasks-controller",
		"RoleBinding/chart-test-mcptasks-endpoint-secret",
		"Secret/chart-test-mcptasks-endpoint",
		"Service/chart-test-mcptasks-endpoint",
		"ServiceAccount/chart-test-mcptasks-controller",
		"ServiceAccount/chart-test-mcptasks-endpoint",
		"ValidatingAdmissionPolicy/chart-test-mcptasks-secrets",
		"ValidatingAdmissionPolicyBinding/chart-test-mcptasks-secrets",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(render(t)))); diff != "" {
		t.Error(diff)
	}

	for value, objects := range map[string][]string{
		"crds.install=false": {
			"CustomResourceDefinition/mcptasks.mcptasks.dev", "CustomResourceDefinition/mcptools.mcptasks.dev",
		},
		"controller.replicas=1": {"PodDisruptionBudget/chart-test-mcptasks-controller"},
		"endpoint.serveLogs=false": {
			"ClusterRole/chart-test-mcptasks-endpoint-logs", "ClusterRoleBinding/chart-test-mcptasks-endpoint-logs",
		},
		"rbac.logsInAllNamespaces=false":     {"ClusterRoleBinding/chart-test-mcptasks-endpoint-logs"},
		"rbac.aggregateToDefaultRoles=false": {"ClusterRole/chart-test-mcptasks-edit", "ClusterRole/chart-test-mcptasks-view"},
	} {
		without := slices.DeleteFunc(slices.Clone(want), func(o string) bool { return slices.Contains(objects, o) })
		if diff := cmp.Diff(without, slices.Sorted(maps.Keys(render(t, value)))); diff != "" {
			t.Errorf("with %s: %s", value, diff)
		}
	}
}

// TestGenerated: the chart's CRDs and roles are the generated ones.
func TestGenerated(t *testing.T) {
	objects := render(t)
	for _, file := range []string{"mcptasks.dev_mcptasks.yaml", "mcptasks.dev_mcptools.yaml"} {
		for _, crd := range documents(t, "config", "crd", file) {
			rendered := objects["CustomResourceDefinition/"+crd.GetName()]
			if rendered == nil {
				t.Fatalf("no CRD %s", crd.GetName())
			}
			if diff := cmp.Diff(crd.Object["spec"], rendered.Object["spec"]); diff != "" {
				t.Errorf("%s: %s", crd.GetName(), diff)
			}
			if rendered.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
				t.Errorf("%s would be deleted with the release, and all tasks with it", crd.GetName())
			}
		}
	}
	for _, component := range []string{"controller", "endpoint"} {
		for _, role := range documents(t, "config", "rbac", component+".yaml") {
			rendered := objects[role.GetKind()+"/chart-test-mcptasks-"+component]
			if rendered == nil {
				t.Fatalf("no %s for the %s", role.GetKind(), component)
			}
			if diff := cmp.Diff(role.Object["rules"], rendered.Object["rules"]); diff != "" {
				t.Errorf("%s of the %s: %s", role.GetKind(), component, diff)
			}
			if role.GetKind() == "Role" && rendered.GetNamespace() != namespace {
				t.Errorf("the role of the %s is for namespace %q", component, rendered.GetNamespace())
			}
		}
	}
}

func deployment(t *testing.T, objects map[string]*unstructured.Unstructured, component string) *appsv1.Deployment {
	t.Helper()
	var d appsv1.Deployment
	obj := objects["Deployment/chart-test-mcptasks-"+component]
	if obj == nil {
		t.Fatalf("no deployment of the %s", component)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, &d, true); err != nil {
		t.Fatal(err)
	}
	return &d
}

// TestArguments: values reach the program as flags, and the program knows every flag that the chart gives it.
func TestArguments(t *testing.T) {
	for name, tc := range map[string]struct {
		component string
		values    []string
		want      []string
	}{
		"controller": {"controller", nil, []string{
			"controller", "--log-level=info", "--log-format=json", "--catalog-namespace=" + namespace, "--log-links",
		}},
		"controller without logs": {"controller", []string{"endpoint.serveLogs=false"}, []string{
			"controller", "--log-level=info", "--log-format=json", "--catalog-namespace=" + namespace,
		}},
		"controller with companion tools": {"controller", []string{"endpoint.companionTools=true"}, []string{
			"controller", "--log-level=info", "--log-format=json", "--catalog-namespace=" + namespace, "--companion-tools",
			"--log-links",
		}},
		"endpoint": {"endpoint", nil, []string{
			"endpoint", "--log-level=info", "--log-format=json", "--catalog-namespace=" + namespace, "--audience=mcptasks",
			"--key-secret=" + namespace + "/chart-test-mcptasks-endpoint", "--serve-logs", "--caller-rate=100", "--caller-burst=500",
			"--caller-streams=100", "--streams=2000", "--failed-authentication-rate=50", "--failed-authentication-burst=500",
		}},
		"all values": {
			"endpoint",
			[]string{
				"log.level=debug", "log.format=text", "catalogNamespace=tools", "endpoint.audience=here",
				"endpoint.allowedOrigins={https://a.example,http://localhost:3000}", "endpoint.insecureAnonymous=team-a",
				"endpoint.callerLimit.rate=0", "endpoint.callerLimit.burst=7", "endpoint.companionTools=true", "endpoint.serveLogs=false",
				"endpoint.callerLimit.streams=8", "endpoint.streams=9",
				"endpoint.failedAuthentication.rate=0", "endpoint.failedAuthentication.burst=11",
			},
			[]string{
				"endpoint", "--log-level=debug", "--log-format=text", "--catalog-namespace=tools", "--audience=here",
				"--key-secret=" + namespace + "/chart-test-mcptasks-endpoint", "--companion-tools",
				"--caller-rate=0", "--caller-burst=7", "--caller-streams=8", "--streams=9",
				"--failed-authentication-rate=0", "--failed-authentication-burst=11",
				"--allowed-origins=https://a.example,http://localhost:3000", "--insecure-anonymous=team-a", "--address=:8080",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := deployment(t, render(t, tc.values...), tc.component).Spec.Template.Spec.Containers[0].Args
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			help := flags(t, tc.component)
			for _, arg := range got[1:] {
				flag, _, _ := strings.Cut(arg, "=")
				if !strings.Contains(help, flag+" ") {
					t.Errorf("mcptasks %s has no flag %s", tc.component, flag)
				}
			}
		})
	}
}

// TestSecretIsEmpty: the chart neither makes a secret, which would be another with each rendering, nor touches what the endpoint
// has put there, and the endpoint may read and write this Secret and no other.
func TestSecretIsEmpty(t *testing.T) {
	objects := render(t)
	secret := objects["Secret/chart-test-mcptasks-endpoint"].Object
	if secret["data"] != nil || secret["stringData"] != nil {
		t.Errorf("got %v", secret)
	}
	want := []any{map[string]any{
		"apiGroups": []any{""}, "resources": []any{"secrets"}, "resourceNames": []any{"chart-test-mcptasks-endpoint"},
		"verbs": []any{"get", "update"},
	}}
	if diff := cmp.Diff(want, objects["Role/chart-test-mcptasks-endpoint-secret"].Object["rules"]); diff != "" {
		t.Error(diff)
	}
}

func flags(t *testing.T, component string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./cmd/mcptasks", component, "--help")
	cmd.Dir = repository
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestValuesSchema: a value that is misspelt or makes no sense is refused before anything is installed.
func TestValuesSchema(t *testing.T) {
	for value, want := range map[string]string{
		"endpont.replicas=3":                               "endpont",
		"endpoint.replica=3":                               "replica",
		"endpoint.replicas=-1":                             "/endpoint/replicas",
		"endpoint.insecureAnonymous=Team A":                "/endpoint/insecureAnonymous",
		"endpoint.allowedOrigins={https://a.example/path}": "/endpoint/allowedOrigins/0",
		"endpoint.service.type=Headless":                   "/endpoint/service/type",
		"endpoint.terminationGracePeriodSeconds=5":         "/endpoint/terminationGracePeriodSeconds",
		"endpoint.callerLimit.burst=0":                     "/endpoint/callerLimit/burst",
		"endpoint.callerLimit.stream=1":                    "stream",
		"endpoint.streams=-1":                              "/endpoint/streams",
		"endpoint.failedAuthentication.rate=-1":            "/endpoint/failedAuthentication/rate",
		"log.level=loud":                                   "/log/level",
		"image.pullPolicy=Sometimes":                       "/image/pullPolicy",
	} {
		_, err := helm(t.Context(), t, "template", release, chartDir, "--set", value)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", value, err, want)
		}
	}
}

func TestNetworkPolicy(t *testing.T) {
	objects := render(t, "networkPolicy.enabled=true", "networkPolicy.metricsFrom[0].podSelector.matchLabels.app=prometheus")
	for component, want := range map[string][]string{"controller": {"metrics"}, "endpoint": {"mcp", "metrics"}} {
		policy := objects["NetworkPolicy/chart-test-mcptasks-"+component]
		if policy == nil {
			t.Fatalf("no policy for the %s", component)
		}
		rules, _, err := unstructured.NestedSlice(policy.Object, "spec", "ingress")
		if err != nil {
			t.Fatal(err)
		}
		var ports []string
		for _, rule := range rules {
			for _, port := range rule.(map[string]any)["ports"].([]any) {
				ports = append(ports, port.(map[string]any)["port"].(string))
			}
		}
		if !slices.Equal(ports, want) {
			t.Errorf("%s: ports %q, want %q", component, ports, want)
		}
	}
}
