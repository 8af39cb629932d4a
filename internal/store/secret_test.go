package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/store"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
)

const canary = "canary-5Tq"

// withSecret makes a call one whose password is secret.
func withSecret(password string) func(*store.Call) {
	return func(c *store.Call) {
		c.Secret = &job.SecretArguments{
			Document:  []byte(`{ "user":"u", "password":"` + password + `"}`),
			Variables: []job.SecretVariable{{Name: "MCP_ARG_PASSWORD", Value: password}},
		}
	}
}

func secretOf(t *testing.T, cluster *storetest.Cluster, id string) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := cluster.Get(t.Context(), types.NamespacedName{Namespace: tenant, Name: id}, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

// B28: the record has nothing of what is secret; the Secret has it all and belongs to the task.
func TestCreate_B28_SecretArguments(t *testing.T) {
	cluster := storetest.New(t)
	task, err := keyed(cluster, "k").Create(t.Context(), scope, callWith("", `{"user":"u"}`, withSecret(canary)))
	if err != nil {
		t.Fatal(err)
	}
	record := cluster.Task(t, tenant, task.Name)
	got := record.Spec.SecretArguments
	if got == nil || got.StoredAt == nil || !slices.Equal(got.Variables, []string{"MCP_ARG_PASSWORD"}) {
		t.Errorf("got %+v", got)
	}
	if record.Spec.Arguments != `{"user":"u"}` {
		t.Errorf("arguments %s", record.Spec.Arguments)
	}
	secret := secretOf(t, cluster, task.Name)
	if owners := secret.OwnerReferences; len(owners) != 1 || owners[0].UID != record.UID || owners[0].Kind != "MCPTask" {
		t.Errorf("owners %+v", owners)
	}
	if secret.Type != v1alpha1.SecretTypeArguments || secret.Immutable == nil || !*secret.Immutable {
		t.Errorf("type %s, immutable %v", secret.Type, secret.Immutable)
	}
	if got := string(secret.Data["arguments.json"]); got != `{ "user":"u", "password":"`+canary+`"}` {
		t.Errorf("arguments.json is %s", got)
	}
	if got := string(secret.Data["MCP_ARG_PASSWORD"]); got != canary {
		t.Errorf("MCP_ARG_PASSWORD is %s", got)
	}
}

// A20: whoever comes back with its key finishes what a replica that ended in between has begun.
func TestCreate_A20_SecretIsStoredByTheRepeatedCall(t *testing.T) {
	lost := errors.New("connection reset")
	for name, broken := range map[string]interceptor.Funcs{
		"before the Secret": {
			Create: func(ctx context.Context, next client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if _, ok := o.(*corev1.Secret); ok {
					return lost
				}
				return next.Create(ctx, o, opts...)
			},
		},
		"between the Secret and the record of it": {
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return lost
			},
		},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			cluster := storetest.New(t)
			s := store.New(store.Config{
				Client: interceptor.NewClient(cluster.Live, broken), Live: cluster.Live, NameKey: []byte("k"),
			})
			_, err := s.Create(t.Context(), scope, callWith("a", `{"user":"u"}`, withSecret(canary)))
			if !errors.Is(err, store.ErrUnclear) {
				t.Fatalf("the first call: %v", err)
			}
			tasks := cluster.Tasks(t, tenant)
			if len(tasks) != 1 || tasks[0].Spec.SecretArguments == nil || tasks[0].Spec.SecretArguments.StoredAt != nil {
				t.Fatalf("%d tasks: %+v", len(tasks), tasks)
			}
			if tasks[0].Spec.Cancel != nil {
				t.Error("the task was cancelled, though its caller can come back")
			}
			id := mustCreate(t, keyed(cluster, "k"), scope, callWith("a", `{"user":"u"}`, withSecret(canary)))
			if id != tasks[0].Name || cluster.Task(t, tenant, id).Spec.SecretArguments.StoredAt == nil {
				t.Error("the repeated call did not store the Secret of the first")
			}
			secretOf(t, cluster, id)
		}))
	}
}

// A20: many at once store one Secret, and another secret value is another call.
func TestCreate_A20_SecretOfManyCallsWithOneKey(t *testing.T) {
	cluster := storetest.New(t)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := keyed(cluster, "k").Create(t.Context(), scope, callWith("a", `{"user":"u"}`, withSecret(canary))); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	secrets := &corev1.SecretList{}
	if err := cluster.List(t.Context(), secrets); err != nil || len(secrets.Items) != 1 {
		t.Errorf("%d Secrets, %v", len(secrets.Items), err)
	}
	_, err := keyed(cluster, "k").Create(t.Context(), scope, callWith("a", `{"user":"u"}`, withSecret("other")))
	if !errors.Is(err, store.ErrKeyReused) {
		t.Errorf("another password with the same key: %v", err)
	}
	mustCreate(t, keyed(cluster, "k"), scope, callWith("b", `{"user":"u"}`, withSecret(canary)))
	hashes := map[string]bool{}
	for _, task := range cluster.Tasks(t, tenant) {
		hashes[task.Spec.Idempotency.ArgumentsHash] = true
	}
	if len(hashes) != 2 {
		t.Error("the record shows that two calls have the same secret arguments")
	}
}

// A call that has ended finds its task, and leaves no Secret behind.
func TestRepeatedCallOfAFinishedTaskStoresNoSecret(t *testing.T) {
	cluster := storetest.New(t)
	s := keyed(cluster, "k")
	id := mustCreate(t, s, scope, callWith("a", `{"user":"u"}`, withSecret(canary)))
	cluster.SetStatus(t, tenant, id, storetest.Completed(`{"content":[]}`))
	if err := cluster.Delete(t.Context(), secretOf(t, cluster, id)); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, s, scope, callWith("a", `{"user":"u"}`, withSecret(canary)))
	err := cluster.Get(t.Context(), types.NamespacedName{Namespace: tenant, Name: id}, &corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the Secret: %v", err)
	}
}

// B28: a call whose Secret cannot be stored is cancelled, and nothing tells what would have been in it.
func TestCreate_B28_RefusedSecret(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	for name, test := range map[string]struct {
		refusal error
		reason  string
	}{
		"full quota": {apierrors.NewForbidden(secrets, "t", errors.New("exceeded quota: s, requested: count/secrets=1")),
			v1alpha1.ReasonQuotaExceeded},
		"invalid": {apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "t", nil), ""},
		"echoing": {apierrors.NewBadRequest("cannot parse " + canary), ""},
		"trouble": {errors.New("connection reset"), ""},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			cluster := storetest.New(t)
			cluster.Refuse = func(o client.Object) error {
				if _, ok := o.(*corev1.Secret); ok {
					return test.refusal
				}
				return nil
			}
			_, err := keyed(cluster, "k").Create(t.Context(), scope, callWith("", `{"user":"u"}`, withSecret(canary)))
			if err == nil || strings.Contains(err.Error(), canary) {
				t.Fatalf("got %v", err)
			}
			refused := (*store.RefusedError)(nil)
			if errors.As(err, &refused) != (test.reason != "") || refused != nil && refused.Reason != test.reason {
				t.Errorf("got %v", err)
			}
			if tasks := cluster.Tasks(t, tenant); len(tasks) != 1 || tasks[0].Spec.Cancel == nil {
				t.Errorf("the task was not cancelled: %+v", tasks)
			}
		}))
	}
}

// While the API server is away, storing is tried again.
func TestCreate_B36_SecretOutlastsTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := storetest.New(t)
		creates, patches := 0, 0
		s := store.New(store.Config{Live: cluster.Live, Client: interceptor.NewClient(cluster.Live, interceptor.Funcs{
			Create: func(ctx context.Context, next client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if _, ok := o.(*corev1.Secret); !ok {
					return next.Create(ctx, o, opts...)
				}
				if creates++; creates == 2 { // done, and the answer is lost
					if err := next.Create(ctx, o, opts...); err != nil {
						t.Error(err)
					}
				}
				if creates <= 2 {
					return apierrors.NewTimeoutError("busy", 1)
				}
				return next.Create(ctx, o, opts...)
			},
			Patch: func(ctx context.Context, next client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if patches++; patches == 1 {
					return errors.New("connection refused")
				}
				return next.Patch(ctx, o, p, opts...)
			},
		})})
		id := mustCreate(t, s, scope, callWith("", `{"user":"u"}`, withSecret(canary)))
		if record := cluster.Task(t, tenant, id); record.Spec.SecretArguments.StoredAt == nil || record.Spec.Cancel != nil {
			t.Errorf("got %+v", record.Spec)
		}
		secretOf(t, cluster, id)
	})
}

// bubble runs a test on a clock that does not wait.
func bubble(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}
