package store_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/store"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
)

// keyed makes the Store of a replica that has the key which all replicas share.
func keyed(cluster *storetest.Cluster, key string) *store.Store {
	return store.New(store.Config{Client: cluster.Live, Live: cluster.Live, NameKey: []byte(key)})
}

func callWith(key, arguments string, edit ...func(*store.Call)) store.Call {
	call := store.Call{Tool: storetest.Tool("mcptasks", "greet"), Arguments: arguments, IdempotencyKey: key}
	for _, e := range edit {
		e(&call)
	}
	return call
}

// mustCreate returns the id of the task that a call becomes.
func mustCreate(t *testing.T, s *store.Store, scope store.Scope, call store.Call) string {
	t.Helper()
	task, err := s.Create(t.Context(), scope, call)
	if err != nil {
		t.Fatal(err)
	}
	return task.Name
}

// A20: fifty equal calls over three replicas are one task.
func TestManyCallsWithOneKeyAreOneTask_A20(t *testing.T) {
	cluster := storetest.New(t)
	replicas := []*store.Store{keyed(cluster, "k"), keyed(cluster, "k"), keyed(cluster, "k")}
	ids := make([]string, 50)
	var group sync.WaitGroup
	for i := range ids {
		group.Go(func() {
			task, err := replicas[i%len(replicas)].Create(t.Context(), scope, callWith("order-7", `{"n":1}`))
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = task.Name
		})
	}
	group.Wait()
	for _, id := range ids {
		if id != ids[0] || !regexp.MustCompile(`^t-[a-z2-7]{26}$`).MatchString(id) {
			t.Fatalf("got %q and %q", ids[0], id)
		}
	}
	tasks := cluster.Tasks(t, tenant)
	if len(tasks) != 1 {
		t.Fatalf("%d tasks", len(tasks))
	}
	if spec := tasks[0].Spec.Idempotency; spec == nil || len(spec.KeyHash) != 64 || len(spec.ArgumentsHash) != 64 {
		t.Errorf("got %+v", spec)
	}
}

// A20: what makes two calls the same, and what does not.
func TestWhatAKeyStandsFor(t *testing.T) {
	cluster := storetest.New(t)
	s := keyed(cluster, "k")
	first := mustCreate(t, s, scope, callWith("a", `{"n":1,"s":"é","o":{"x":[1,2],"y":null}}`))
	answered := func(key, content string) func(*store.Call) {
		return func(c *store.Call) {
			c.Answers = map[string]v1alpha1.Answer{key: {Action: v1alpha1.AnswerAccept, Content: content}}
		}
	}
	mustCreate(t, s, scope, callWith("answered", `{}`, answered("q", `{"yes": true}`)))

	for name, call := range map[string]store.Call{
		"again":                  callWith("a", `{"n":1,"s":"é","o":{"x":[1,2],"y":null}}`),
		"other order":            callWith("a", `{"o":{"y":null,"x":[1,2]},"s":"é","n":1}`),
		"white space and escape": callWith("a", "{ \"n\": 1,\n\"s\":\"\\u00e9\", \"o\":{\"x\":[1, 2],\"y\":null} }"),
		"newer tool": callWith("a", `{"n":1,"s":"é","o":{"x":[1,2],"y":null}}`, func(c *store.Call) {
			c.Tool.Generation, c.Traceparent = 2, "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
		}),
	} {
		if id := mustCreate(t, s, scope, call); id != first {
			t.Errorf("%s: another task", name)
		}
	}
	for name, call := range map[string]store.Call{
		"other value":     callWith("a", `{"n":2,"s":"é","o":{"x":[1,2],"y":null}}`),
		"1.0 is not 1":    callWith("a", `{"n":1.0,"s":"é","o":{"x":[1,2],"y":null}}`),
		"other array":     callWith("a", `{"n":1,"s":"é","o":{"x":[2,1],"y":null}}`),
		"null, not there": callWith("a", `{"n":1,"s":"é","o":{"x":[1,2]}}`),
		"large integers":  callWith("a", `{"n":9007199254740993}`),
		"other answer":    callWith("answered", `{}`, answered("q", `{"yes":false}`)),
		"no answer":       callWith("answered", `{}`),
		"other question":  callWith("answered", `{}`, answered("r", `{"yes":true}`)),
	} {
		if task, err := s.Create(t.Context(), scope, call); !errors.Is(err, store.ErrKeyReused) {
			t.Errorf("%s: got %v, %v", name, task, err)
		}
	}

	stranger, issuer, namespace := scope, scope, scope
	stranger.Owner.Subject += "2"
	issuer.Owner.Issuer = "https://issuer.example.com"
	namespace.Namespace = "team-b"
	seen := map[string]string{first: "the first"}
	for name, id := range map[string]string{
		"other key":     mustCreate(t, s, scope, callWith("b", `{}`)),
		"other subject": mustCreate(t, s, stranger, callWith("a", `{}`)),
		"other issuer":  mustCreate(t, s, issuer, callWith("a", `{}`)),
		"other tenant":  mustCreate(t, s, namespace, callWith("a", `{}`)),
		"other tool": mustCreate(t, s, scope, callWith("a", `{}`, func(c *store.Call) {
			c.Tool = storetest.Tool("mcptasks", "other")
		})),
		"tenant's own tool": mustCreate(t, s, scope, callWith("a", `{}`, func(c *store.Call) {
			c.Tool = storetest.Tool(tenant, "greet")
		})),
		"other name key": mustCreate(t, keyed(cluster, "l"), scope, callWith("a", `{}`)),
		"no key":         mustCreate(t, s, scope, callWith("", `{}`)),
	} {
		if other, ok := seen[id]; ok {
			t.Errorf("%s is the task of %s", name, other)
		}
		seen[id] = name
	}
}

// The task's id cannot be guessed from what the record shows to those who may read it but do not own it.
func TestRecordDoesNotShowTheKey(t *testing.T) {
	cluster := storetest.New(t)
	id := mustCreate(t, keyed(cluster, "k"), scope, callWith("guess-me", `{}`))
	got := cluster.Task(t, tenant, id)
	if strings.Contains(got.Spec.Idempotency.KeyHash+got.Spec.Arguments, "guess-me") {
		t.Error("the key is on the record")
	}
	other := mustCreate(t, keyed(cluster, "l"), scope, callWith("guess-me", `{}`))
	if cluster.Task(t, tenant, other).Spec.Idempotency.KeyHash == got.Spec.Idempotency.KeyHash {
		t.Error("the hash of the key does not depend on the secret: keys can be guessed by it")
	}
}

// A20: a finished task is found as well, and one that is gone makes room.
func TestKeyLivesAsLongAsItsTask_A20(t *testing.T) {
	cluster := storetest.New(t)
	s := keyed(cluster, "k")
	id := mustCreate(t, s, scope, callWith("a", `{}`))
	cluster.SetStatus(t, tenant, id, storetest.Completed(`{"content":[]}`))
	found, err := s.Create(t.Context(), scope, callWith("a", `{}`))
	if err != nil || found.Name != id || found.Status.State != v1alpha1.StateCompleted {
		t.Fatalf("got %+v, %v", found, err)
	}
	if err := cluster.Delete(t.Context(), cluster.Task(t, tenant, id)); err != nil {
		t.Fatal(err)
	}
	again, err := s.Create(t.Context(), scope, callWith("a", `{"n":2}`))
	if err != nil || again.Name != id || again.Status.State != "" {
		t.Fatalf("got %+v, %v", again, err)
	}
}

// A20: a repeated call is no new task for a quota that is full, or for an answer that got lost on its way.
func TestRefusedRepetition(t *testing.T) {
	resource := schema.GroupResource{Group: v1alpha1.Group, Resource: "mcptasks"}
	for name, refusal := range map[string]error{
		"full quota": apierrors.NewForbidden(resource, "t", errors.New("exceeded quota: tasks, requested: x=1, used: 1, limited: 1")),
		"time out":   apierrors.NewTimeoutError("the request timed out", 1),
	} {
		t.Run(name, func(t *testing.T) {
			cluster := storetest.New(t)
			s := keyed(cluster, "k")
			id := mustCreate(t, s, scope, callWith("a", `{}`))
			cluster.Refuse = func(client.Object) error { return refusal }
			if again := mustCreate(t, s, scope, callWith("a", `{}`)); again != id {
				t.Errorf("got %s, want %s", again, id)
			}
			if _, err := s.Create(t.Context(), scope, callWith("b", `{}`)); err == nil {
				t.Error("the other call was not refused")
			}
		})
	}
}

// A key is refused, not ignored, where it could not be kept.
func TestKeysNeedTheirSecret(t *testing.T) {
	cluster := storetest.New(t)
	_, err := keyed(cluster, "").Create(t.Context(), scope, callWith("a", `{}`))
	if !errors.Is(err, store.ErrNoKeys) || len(cluster.Tasks(t, tenant)) != 0 {
		t.Errorf("got %v and %d tasks", err, len(cluster.Tasks(t, tenant)))
	}
}

// Whoever may create tasks by other means cannot slip one under a caller's key.
func TestForeignTaskUnderTheName(t *testing.T) {
	cluster := storetest.New(t)
	s := keyed(cluster, "k")
	id := mustCreate(t, s, scope, callWith("a", `{}`))
	task := cluster.Task(t, tenant, id)
	task.Spec.Idempotency = nil
	if err := cluster.Update(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Create(t.Context(), scope, callWith("a", `{}`)); err == nil || errors.Is(err, store.ErrKeyReused) {
		t.Errorf("got %v, %v", found, err)
	}
}

// A create whose answer got lost has recorded the task, and it is found again; one that was never heard of is repeated. What the
// API server has decided is not.
func TestUnclearCreate_B36(t *testing.T) {
	busy := apierrors.NewTooManyRequests("slow down", 1)
	timeout := apierrors.NewTimeoutError("request did not complete within the allotted time", 1)
	for name, test := range map[string]unclearCreate{
		"answer lost":              {failures: []error{errors.New("connection reset")}, recorded: true, attempts: 1},
		"timeout after the work":   {failures: []error{timeout}, recorded: true, attempts: 1},
		"timeout before the work":  {failures: []error{timeout, timeout}, attempts: 3},
		"too many requests":        {failures: []error{busy}, attempts: 2},
		"connection refused twice": {failures: []error{errors.New("refused"), errors.New("refused")}, attempts: 3},
		"an invalid object":        {failures: []error{apierrors.NewBadRequest("no")}, attempts: 1, refused: true},
	} {
		for _, key := range []string{"", "order-7"} {
			t.Run(fmt.Sprintf("%s, key %q", name, key), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { test.run(t, key) })
			})
		}
	}
}

// unclearCreate is a create that is answered by failures before it is answered well.
type unclearCreate struct {
	failures []error
	recorded bool // the failing creates have done their work
	attempts int  // wanted
	refused  bool // no task is wanted
}

func (u unclearCreate) run(t *testing.T, key string) {
	cluster := storetest.New(t)
	attempts := 0
	cluster.Answer = func(create func() error) error {
		attempts++
		if attempts > len(u.failures) {
			return create()
		}
		if u.recorded {
			if err := create(); err != nil {
				t.Error(err)
			}
		}
		return u.failures[attempts-1]
	}
	task, err := keyed(cluster, "k").Create(t.Context(), scope, callWith(key, `{}`))
	if attempts != u.attempts {
		t.Errorf("%d creates, want %d", attempts, u.attempts)
	}
	tasks := cluster.Tasks(t, tenant)
	switch {
	case u.refused:
		if err == nil || errors.Is(err, store.ErrUnclear) || len(tasks) != 0 {
			t.Errorf("got %v and %d tasks", err, len(tasks))
		}
	case err != nil || len(tasks) != 1 || tasks[0].Name != task.Name:
		t.Errorf("got %+v, %v and %d tasks", task, err, len(tasks))
	}
}

// When the API server does not come back, the caller learns that nobody knows.
func TestCreateWithoutAPIServer_B36(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := storetest.New(t)
		cluster.Down(true)
		begin := time.Now()
		if _, err := keyed(cluster, "k").Create(t.Context(), scope, callWith("", `{}`)); !errors.Is(err, store.ErrUnclear) {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(begin); waited < 10*time.Second || waited > 20*time.Second {
			t.Errorf("it gave up after %s", waited)
		}
	})
}
