package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/kube"
)

// A caller's token is needed to call, and for nothing afterwards: it is in no object and in no log, its work goes on without it,
// and another token of the same caller finds the task.
func TestProtocol_A33_TokensAreKeptNowhere(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("echo", "echo-args"))
	clients := x.replicas(2)
	a, b := clients[0], clients[1]
	id := x.call(a, "echo", nil)
	used := a.Token
	var err error
	b.Token, err = cluster.Token(x.ctx, x.namespace, "agent")
	x.must(err)
	if b.Token == used {
		t.Fatal("the second token is the first")
	}
	if task := x.wait(b, id); task.Status != "completed" {
		t.Errorf("the task is %s (%s)", task.Status, task.StatusMessage)
	}

	// The signature is the part of a token that is no other token's.
	secret := used[strings.LastIndex(used, ".")+1:]
	for _, list := range []client.ObjectList{
		&v1alpha1.MCPTaskList{}, &batchv1.JobList{}, &corev1.PodList{}, &corev1.SecretList{}, &corev1.ConfigMapList{},
		&eventsv1.EventList{},
	} {
		for _, namespace := range []string{x.namespace, kube.Namespace} {
			x.must(cluster.List(x.ctx, list, client.InNamespace(namespace)))
			text, err := json.Marshal(list)
			x.must(err)
			if strings.Contains(string(text), secret) {
				t.Errorf("the token is in a %T of %s", list, namespace)
			}
		}
	}
	for _, labels := range []map[string]string{kube.EndpointLabels, kube.ControllerLabels} {
		pods, err := cluster.ReadyPods(x.ctx, kube.Namespace, labels)
		x.must(err)
		for i := range pods {
			log, err := cluster.Log(x.ctx, &pods[i])
			x.must(err)
			if strings.Contains(log, secret) {
				t.Errorf("the token is in the log of %s", pods[i].Name)
			}
		}
	}
	pods, err := x.pods(x.ctx, id)
	x.must(err)
	for i := range pods {
		if log, err := cluster.Log(x.ctx, &pods[i]); err != nil || strings.Contains(log, secret) {
			t.Errorf("the log of the task's pod: %v, or the token is in it", err)
		}
	}
}
