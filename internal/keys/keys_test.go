package keys_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/mcptasks/mcptasks/internal/keys"
)

var name = types.NamespacedName{Namespace: "mcptasks", Name: "mcptasks-endpoint"}

func secret(data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}, Data: data}
}

func key(t *testing.T, seed keys.Seed, purpose string) string {
	t.Helper()
	key, err := seed.Key(purpose)
	if err != nil || len(key) != 32 {
		t.Fatalf("got %d bytes, %v", len(key), err)
	}
	return string(key)
}

// Replicas that start at the same time all end up with the same seed, and so do those that start later.
func TestReplicasAgree(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(secret(map[string][]byte{"other": []byte("stays")})).Build()
	seeds := make([]keys.Seed, 10)
	var group sync.WaitGroup
	for i := range seeds {
		group.Go(func() {
			var err error
			if seeds[i], err = keys.Ensure(t.Context(), c, c, name, nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	later, err := keys.Ensure(t.Context(), c, c, name, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range seeds {
		if key(t, seed, "x") != key(t, later, "x") {
			t.Fatal("two replicas have different seeds")
		}
	}
	got := &corev1.Secret{}
	if err := c.Get(t.Context(), name, got); err != nil || string(got.Data["other"]) != "stays" {
		t.Errorf("got %v, %v", got.Data, err)
	}
}

func TestKeys(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(secret(nil)).Build()
	seed, err := keys.Ensure(t.Context(), c, c, name, bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	if key(t, seed, "a") == key(t, seed, "b") || key(t, seed, "a") == strings.Repeat("\a", 32) {
		t.Error("keys for different purposes are not different")
	}
	if _, err := seed.Key(""); err == nil {
		t.Error("a key for no purpose was given out")
	}
}

func TestEnsureSaysWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		objects []client.Object
		random  string
		want    string
	}{
		"no Secret":     {want: "there is no Secret mcptasks/mcptasks-endpoint"},
		"seed too weak": {objects: []client.Object{secret(map[string][]byte{"seed": []byte("short")})}, want: "less than 32 bytes"},
		"no randomness": {objects: []client.Object{secret(nil)}, random: "short", want: "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithObjects(test.objects...).Build()
			_, err := ensure(t.Context(), c, test.random)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func ensure(ctx context.Context, c client.Client, random string) (keys.Seed, error) {
	return keys.Ensure(ctx, c, c, name, strings.NewReader(random))
}

// What cannot be written down is not used: the next replica would have another.
func TestEnsureNeedsItWritten(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(secret(nil)).Build()
	_, err := keys.Ensure(t.Context(), c, readOnly{c}, name, nil)
	if !errors.Is(err, errReadOnly) {
		t.Errorf("got %v", err)
	}
}

var errReadOnly = errors.New("read only")

type readOnly struct{ client.Writer }

func (readOnly) Update(context.Context, client.Object, ...client.UpdateOption) error {
	return errReadOnly
}
