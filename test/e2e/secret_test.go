package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

const loginSchema = `{"type":"object","required":["user","password"],"additionalProperties":false,"properties":{
	"user":{"type":"string"},
	"password":{"type":"string","minLength":8,"writeOnly":true},
	"absent":{"type":"string","writeOnly":true},
	"db":{"type":"object","properties":{"host":{"type":"string"},"token":{"type":"string","writeOnly":true}}},
	"keys":{"type":"array","items":{"type":"string","writeOnly":true}}}}`

// TestTool_B28_SecretArguments: what is writeOnly reaches the container byte for byte, and is read nowhere but in the Secret of
// the task, which is gone when the task has ended.
func TestTool_B28_SecretArguments(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("login", "digest-args", "--user=$(MCP_ARG_USER)", "--password=$(MCP_ARG_PASSWORD)", "--absent=$(MCP_ARG_ABSENT)").
		schema(loginSchema))
	x.offer(tool("hold", "exit", "--sleep=3600", "--password=$(MCP_ARG_PASSWORD)").schema(loginSchema))
	c := x.replicas(1)[0]
	const canary = "canary-4hG"
	raw := `{ "user":"ada", "password":"` + canary + ` $(HOME) $$ \u0001 é", "db":{"host":"h","token":"` + canary + `"},` +
		` "keys":["` + canary + `","b"] }`

	t.Run("finished", func(t *testing.T) {
		id := x.callRaw(c, "login", raw)
		result := x.wait(c, id).Result
		if result == nil || result.IsError {
			t.Fatalf("got %+v", result)
		}
		var got struct {
			Argv        []string
			Environment map[string]string
			File        string
		}
		x.must(json.Unmarshal([]byte(result.Text()), &got))
		digest := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
		password := canary + " $(HOME) $$ \u0001 é"
		if got.File != digest(raw) {
			t.Error("the file is not what was sent")
		}
		if got.Environment["MCP_ARG_PASSWORD"] != digest(password) || got.Environment["MCP_ARG_ABSENT"] != digest("") {
			t.Errorf("the environment is not what was sent: %v", got.Environment)
		}
		for i, want := range []string{"--user=ada", "--password=" + password, "--absent="} {
			if got.Argv[i] != digest(want) {
				t.Errorf("argument %d is not %s", i, want)
			}
		}
		if want := `{"db":{"host":"h"},"keys":[null,null],"user":"ada"}`; x.record(id).Spec.Arguments != want {
			t.Errorf("the record has %s, want %s", x.record(id).Spec.Arguments, want)
		}
		x.wantNowhere(canary)
		if err := cluster.Get(x.ctx, x.key(id), &corev1.Secret{}); !apierrors.IsNotFound(err) {
			t.Errorf("the Secret of the finished task: %v", err)
		}
	})

	t.Run("running", func(t *testing.T) {
		id := x.callRaw(c, "hold", raw)
		x.waitRunning(id)
		secret := &corev1.Secret{}
		x.must(cluster.Get(x.ctx, x.key(id), secret))
		if secret.Type != v1alpha1.SecretTypeArguments || !strings.Contains(string(secret.Data["arguments.json"]), canary) {
			t.Errorf("the Secret is of type %s with %d entries", secret.Type, len(secret.Data))
		}
		if owners := secret.OwnerReferences; len(owners) != 1 || owners[0].UID != x.record(id).UID {
			t.Errorf("its owners are %v", owners)
		}
		objects, err := cluster.Objects(x.ctx, x.namespace)
		x.must(err)
		x.wantNotIn(canary, objects)
		x.must(c.Cancel(x.ctx, id))
		if task := x.wait(c, id); task.Status != "cancelled" {
			t.Errorf("the task is %s", task.Status)
		}
		if err := cluster.Get(x.ctx, x.key(id), &corev1.Secret{}); !apierrors.IsNotFound(err) {
			t.Errorf("the Secret of the cancelled task: %v", err)
		}
	})

	t.Run("refused", func(t *testing.T) {
		for _, arguments := range []string{
			`{"user":"ada","password":{"` + canary + `":1}}`, `{"user":7,"password":"` + canary + `"}`,
			`{"user":"ada","password":"` + canary + `","keys":["` + canary + `",{"` + canary + `":"` + canary + `"}]}`,
		} {
			call, err := c.CallTool(x.ctx, "login", json.RawMessage(arguments))
			x.must(err)
			if call.Result == nil || !call.Result.IsError || strings.Contains(call.Result.Text(), canary) {
				t.Errorf("the answer is %+v", call)
			}
		}
	})

	t.Run("deleted with the task", func(*testing.T) {
		id := x.callRaw(c, "hold", raw)
		x.waitRunning(id)
		x.must(cluster.Delete(x.ctx, x.record(id)))
		ctx, cancel := context.WithTimeout(x.ctx, patience)
		defer cancel()
		x.must(cluster.WaitGone(ctx, &corev1.Secret{}, x.key(id)))
	})
}

// TestTool_B28_OnlySecretsOfTasks: the admission policy keeps endpoint and controller from all Secrets but those with arguments.
func TestTool_B28_OnlySecretsOfTasks(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	endpoint, err := cluster.As("system:serviceaccount:mcptasks:mcptasks-endpoint")
	x.must(err)
	controller, err := cluster.As("system:serviceaccount:mcptasks:mcptasks-controller")
	x.must(err)
	secret := func(namespace, name string, kind corev1.SecretType, owner string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: kind}
		if kind == corev1.SecretTypeServiceAccountToken {
			s.Annotations = map[string]string{corev1.ServiceAccountNameKey: "agent"}
		}
		if owner != "" {
			s.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "MCPTask", Name: owner, UID: "00000000-0000-0000-0000-000000000000",
			}}
		}
		return s
	}
	const someTask = "t-aaaaaaaaaaaaaaaaaaaaaaaaaa"
	denied := func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "'mcptasks-secrets' denied request")
	}
	for name, s := range map[string]*corev1.Secret{
		"a token":            secret(x.namespace, someTask, corev1.SecretTypeServiceAccountToken, someTask),
		"without an owner":   secret(x.namespace, someTask, v1alpha1.SecretTypeArguments, ""),
		"of another task":    secret(x.namespace, someTask, v1alpha1.SecretTypeArguments, "t-other"),
		"where no tenant is": secret("kube-system", someTask, v1alpha1.SecretTypeArguments, someTask),
	} {
		if err := endpoint.Create(x.ctx, s); !denied(err) {
			t.Errorf("the endpoint creates a Secret %s: %v", name, err)
		}
	}
	x.must(endpoint.Create(x.ctx, secret(x.namespace, someTask, v1alpha1.SecretTypeArguments, someTask)))

	x.create(secret(x.namespace, "db", corev1.SecretTypeOpaque, ""))
	if err := controller.Delete(x.ctx, secret(x.namespace, "db", "", "")); !denied(err) {
		t.Errorf("the controller deletes a Secret of the tenant's: %v", err)
	}
	x.create(secret(x.namespace, "ours", v1alpha1.SecretTypeArguments, ""))
	x.must(controller.Delete(x.ctx, secret(x.namespace, "ours", "", "")))
}
