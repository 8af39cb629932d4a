package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/store"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
)

const tenant = "team-a"

var owner = v1alpha1.Owner{Issuer: "kubernetes", Subject: "system:serviceaccount:team-a:agent"}

var scope = store.Scope{Namespace: tenant, Owner: owner}

// replica is one endpoint process: its own informers and its own store.
type replica struct {
	*store.Store
	health *store.Health
	clock  *clocktesting.FakePassiveClock
}

func newReplica(t *testing.T, cluster *storetest.Cluster) replica {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(time.Now())
	health := store.NewHealth(clock)
	informers := cluster.NewCache(t, func(source toolscache.ListerWatcher, object runtime.Object) toolscache.SharedIndexInformer {
		return health.NewInformer(source, object, 0, toolscache.Indexers{})
	}, store.CacheOptions().Transform)
	s := store.New(store.Config{Client: cluster.Live, Live: cluster.Live, Cache: informers, Health: health, Clock: clock})
	if err := s.Observe(t.Context(), informers); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the watch opens", health.Fresh)
	return replica{Store: s, health: health, clock: clock}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}

func create(t *testing.T, s *store.Store, arguments string) *v1alpha1.MCPTask {
	t.Helper()
	task, err := s.Create(t.Context(), scope, store.Call{
		Tool:        storetest.Tool("mcptasks", "greet"),
		Arguments:   arguments,
		Traceparent: "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
	})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestCreateRecordsTheCall(t *testing.T) {
	cluster := storetest.New(t)
	s := newReplica(t, cluster)
	arguments := `{ "id": 9007199254740993, "html":"<&>" }`
	id := create(t, s.Store, arguments).Name

	got := cluster.Task(t, tenant, id)
	want := v1alpha1.MCPTaskSpec{
		Tool:        v1alpha1.ToolReference{Namespace: "mcptasks", Name: "greet", Generation: 1},
		Arguments:   arguments,
		Owner:       owner,
		Execution:   storetest.Tool("mcptasks", "greet").Spec.Execution,
		Traceparent: "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Error(diff)
	}
	if got.Labels[v1alpha1.LabelTool] != "greet" || got.Labels[v1alpha1.LabelOwner] != store.OwnerLabel(owner) {
		t.Errorf("got labels %v", got.Labels)
	}
}

// A07, A06: a task is there for every replica as soon as it has been created, however far behind their informers are.
func TestGetRightAfterCreateOnAnotherReplica_A06_A07_T10(t *testing.T) {
	cluster := storetest.New(t)
	a, b := newReplica(t, cluster), newReplica(t, cluster)
	cluster.Hold()
	for range 50 {
		id := create(t, a.Store, `{}`).Name
		for name, s := range map[string]replica{"own": a, "other": b} {
			if got, err := s.Get(t.Context(), scope, id); err != nil || got.Name != id {
				t.Fatalf("%s replica: %v, %v", name, got, err)
			}
		}
		if err := b.Cancel(t.Context(), scope, id, ""); err != nil {
			t.Fatalf("cancel: %v", err)
		}
	}
}

// A08: what is not the caller's does not exist for it.
func TestForeignTasksDoNotExist_A08_T62(t *testing.T) {
	cluster := storetest.New(t)
	s := newReplica(t, cluster)
	id := create(t, s.Store, `{}`).Name
	stranger := owner
	stranger.Subject = "system:serviceaccount:team-a:other"
	otherIssuer := owner
	otherIssuer.Issuer = "https://issuer.example.com"
	for name, foreign := range map[string]store.Scope{
		"other subject":   {Namespace: tenant, Owner: stranger},
		"other issuer":    {Namespace: tenant, Owner: otherIssuer},
		"other namespace": {Namespace: "team-b", Owner: owner},
		"nobody":          {Namespace: tenant},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := s.Get(t.Context(), foreign, id); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("get: %v", err)
			}
			if err := s.Cancel(t.Context(), foreign, id, ""); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("cancel: %v", err)
			}
			if err := s.Answer(t.Context(), foreign, id, nil); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("answer: %v", err)
			}
			if err := s.Follow(t.Context(), foreign, id, nil); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("follow: %v", err)
			}
		})
	}
	if cluster.Task(t, tenant, id).Spec.Cancel != nil {
		t.Error("a stranger cancelled the task")
	}
}

func TestTaskWithoutOwnerBelongsToNobody_A08(t *testing.T) {
	orphan := &v1alpha1.MCPTask{ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "t-aaaaaaaaaaaaaaaaaaaaaaaaaa"}}
	s := newReplica(t, storetest.New(t, orphan))
	if _, err := s.Get(t.Context(), store.Scope{Namespace: tenant}, orphan.Name); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestMalformedIDsNeverReachTheAPIServer(t *testing.T) {
	cluster := storetest.New(t)
	s := newReplica(t, cluster)
	for _, id := range []string{
		"", "t-", "../secrets", "T-AAAAAAAAAAAAAAAAAAAAAAAAAA", "t-aaaaaaaaaaaaaaaaaaaaaaaaaa/x", strings.Repeat("a", 5000),
	} {
		_, err := s.Get(t.Context(), scope, id)
		if !errors.Is(err, store.ErrNotFound) || !errors.Is(s.Cancel(t.Context(), scope, id, ""), store.ErrNotFound) {
			t.Errorf("%.40q: %v", id, err)
		}
	}
	if n := cluster.Requests(); n != 0 {
		t.Errorf("%d requests to the API server", n)
	}
}

// A15: results can be read any number of times, and come from memory after the first.
func TestResultsAreCompleteAndCheap_A15_T28(t *testing.T) {
	cluster := storetest.New(t)
	s := newReplica(t, cluster)
	id := create(t, s.Store, `{}`).Name
	result := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 100_000) + `"}]}`
	version := cluster.SetStatus(t, tenant, id, storetest.Completed(result)).ResourceVersion
	eventually(t, "the informer catches up", func() bool {
		got, err := s.Get(t.Context(), scope, id)
		return err == nil && got.Status.State == v1alpha1.StateCompleted
	})
	before := cluster.Requests()
	for range 10 {
		got, err := s.Get(t.Context(), scope, id)
		if err != nil || got.Status.Result != result {
			t.Fatalf("got %d bytes, %v", len(got.Status.Result), err)
		}
	}
	if n := cluster.Requests() - before; n != 0 {
		t.Errorf("%d requests for ten reads of a known result", n)
	}
	if now := cluster.Task(t, tenant, id).ResourceVersion; now != version {
		t.Error("reading changed the task")
	}
}

// A11: polling does not reach the API server while the watch works.
func TestPollingIsServedFromMemory_A11(t *testing.T) {
	cluster := storetest.New(t)
	s := newReplica(t, cluster)
	id := create(t, s.Store, `{}`).Name
	before := cluster.Requests()
	for range 1000 {
		if _, err := s.Get(t.Context(), scope, id); err != nil {
			t.Fatal(err)
		}
	}
	if n := cluster.Requests() - before; n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestNoStateIsShownAfterANewerOne_T33(t *testing.T) {
	cluster := storetest.New(t)
	s := newReplica(t, cluster)
	id := create(t, s.Store, `{}`).Name
	cluster.SetStatus(t, tenant, id, storetest.Asks("a", "b"))
	eventually(t, "the question is seen", func() bool {
		got, err := s.Get(t.Context(), scope, id)
		return err == nil && len(got.Status.Questions) == 2
	})
	cluster.Hold() // from here on, the informer shows two open questions
	if err := s.Answer(t.Context(), scope, id, answers(`a`, `{"action":"accept","content":{"confirm":true}}`)); err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(t.Context(), scope, id)
	if err != nil || got.Spec.Answers["a"].Action != v1alpha1.AnswerAccept {
		t.Fatalf("the answer is not seen right after it was given: %+v, %v", got.Spec.Answers, err)
	}
	cluster.Release()
	cluster.SetStatus(t, tenant, id, func(s *v1alpha1.MCPTaskStatus) { s.Message = "newer" })
	eventually(t, "what comes later is seen", func() bool {
		got, err := s.Get(t.Context(), scope, id)
		return err == nil && got.Status.Message == "newer" && len(got.Spec.Answers) == 1
	})
}

func TestBrokenWatchIsReadAround(t *testing.T) {
	cluster := storetest.New(t)
	s := newReplica(t, cluster)
	id := create(t, s.Store, `{}`).Name
	cluster.Cut()
	eventually(t, "the store notices", func() bool { return !s.health.Fresh() })
	s.clock.SetTime(s.clock.Now().Add(time.Second))
	cluster.SetStatus(t, tenant, id, func(s *v1alpha1.MCPTaskStatus) { s.State, s.Message = v1alpha1.StateWorking, "new" })
	got, err := s.Get(t.Context(), scope, id)
	if err != nil || got.Status.Message != "new" {
		t.Fatalf("got %+v, %v", got, err)
	}

	before := cluster.Requests()
	for range 100 {
		if _, err := s.Get(t.Context(), scope, id); err != nil {
			t.Fatal(err)
		}
	}
	if n := cluster.Requests() - before; n != 0 {
		t.Errorf("%d requests for a hundred polls at the same time", n)
	}

	cluster.Down(true)
	s.clock.SetTime(s.clock.Now().Add(time.Hour))
	if got, err := s.Get(t.Context(), scope, id); err != nil || got.Status.Message != "new" {
		t.Errorf("with the API server gone as well, the last state is better than none: %v", err)
	}
	if _, err := s.Get(t.Context(), scope, "t-aaaaaaaaaaaaaaaaaaaaaaaaaa"); err == nil || errors.Is(err, store.ErrNotFound) {
		t.Errorf("nobody can know that this task does not exist: %v", err)
	}

	cluster.Down(false)
	cluster.Mend()
	eventually(t, "the watch comes back", s.health.Fresh)
}

func TestSilentWatchIsNotTrusted(t *testing.T) {
	s := newReplica(t, storetest.New(t))
	s.clock.SetTime(s.clock.Now().Add(10 * time.Minute))
	if s.health.Fresh() {
		t.Error("a watch that has said nothing for ten minutes counts as delivering")
	}
}

func TestDeletedTasksAreGone(t *testing.T) {
	cluster := storetest.New(t)
	s := newReplica(t, cluster)
	id := create(t, s.Store, `{}`).Name
	if err := cluster.Delete(t.Context(), cluster.Task(t, tenant, id)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the deletion is seen", func() bool {
		_, err := s.Get(t.Context(), scope, id)
		return errors.Is(err, store.ErrNotFound)
	})
}

func answers(pairs ...string) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return m
}

// A12, A13: what answers do, and what they must not do.
func TestAnswer_A12_A13_S103(t *testing.T) {
	const yes = `{"action":"accept","content":{"confirm":true}}`
	long := strings.Repeat("x", 70_000)
	for name, test := range map[string]struct {
		answers map[string]json.RawMessage
		bad     bool
		want    string // the answers on the record
	}{
		"accept":       {answers("a", yes), false, "a: accept {\"confirm\":true}"},
		"both at once": {answers("a", yes, "b", `{"action":"decline"}`), false, `a: accept {"confirm":true}, b: decline`},
		"more than asked for": {
			answers("a", `{"action":"accept","content":{"confirm":true,"x":1}}`), false, `a: accept {"confirm":true,"x":1}`,
		},
		"content byte for byte": {
			answers("a", `{"action":"accept","content":{ "confirm" : true,"n":9007199254740993}}`), false,
			`a: accept { "confirm" : true,"n":9007199254740993}`,
		},
		"decline with content":         {answers("a", `{"action":"decline","content":{"confirm":7}}`), false, `a: decline`},
		"cancel with null content":     {answers("a", `{"action":"cancel","content":null}`), false, `a: cancel`},
		"unknown key":                  {answers("zzz", `{"ignored":true}`), false, ``},
		"unknown key with a good one":  {answers("zzz", `7`, "a", yes), false, `a: accept {"confirm":true}`},
		"nothing":                      {answers(), false, ``},
		"content that does not fit":    {answers("a", `{"action":"accept","content":{"confirm":"yes"}}`), true, ``},
		"content that lacks something": {answers("a", `{"action":"accept","content":{}}`), true, ``},
		"no content":                   {answers("a", `{"action":"accept"}`), true, ``},
		"content of another type":      {answers("a", `{"action":"accept","content":[true]}`), true, ``},
		"too much content":             {answers("a", `{"action":"accept","content":{"confirm":true,"x":"`+long+`"}}`), true, ``},
		"unknown action":               {answers("a", `{"action":"reject"}`), true, ``},
		"no action":                    {answers("a", `{}`), true, ``},
		"no object":                    {answers("a", `"yes"`), true, ``},
		"null":                         {answers("a", `null`), true, ``},
		"one good and one bad":         {answers("a", yes, "b", `{"action":"reject"}`), true, ``},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := storetest.New(t)
			s := newReplica(t, cluster)
			id := create(t, s.Store, `{}`).Name
			cluster.SetStatus(t, tenant, id, storetest.Asks("a", "b"))
			err := s.Answer(t.Context(), scope, id, test.answers)
			bad := (*store.AnswerError)(nil)
			if errors.As(err, &bad) != test.bad || (err != nil) != test.bad {
				t.Fatalf("got error %v", err)
			}
			var got []string
			for key, answer := range cluster.Task(t, tenant, id).Spec.Answers {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s: %s %s", key, answer.Action, answer.Content)))
			}
			slices.Sort(got)
			if got := strings.Join(got, ", "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestFirstAnswerCounts_A12_T32(t *testing.T) {
	cluster := storetest.New(t)
	s := newReplica(t, cluster)
	id := create(t, s.Store, `{}`).Name
	cluster.SetStatus(t, tenant, id, storetest.Asks("a", "b"))
	for _, confirm := range []string{"true", "false", `"junk"`} {
		if err := s.Answer(t.Context(), scope, id, answers("a", `{"action":"accept","content":{"confirm":`+confirm+`}}`)); err != nil {
			t.Fatalf("%s: %v", confirm, err)
		}
	}
	if got := cluster.Task(t, tenant, id).Spec.Answers["a"].Content; got != `{"confirm":true}` {
		t.Errorf("got %s", got)
	}
}

func TestAnswerAfterTheEndChangesNothing_A12_T34(t *testing.T) {
	cluster := storetest.New(t)
	s := newReplica(t, cluster)
	id := create(t, s.Store, `{}`).Name
	cluster.SetStatus(t, tenant, id, storetest.Asks("a"))
	version := cluster.SetStatus(t, tenant, id, storetest.Completed(`{"content":[]}`)).ResourceVersion
	if err := s.Answer(t.Context(), scope, id, answers("a", `{"action":"reject"}`)); err != nil {
		t.Error(err)
	}
	if now := cluster.Task(t, tenant, id).ResourceVersion; now != version {
		t.Error("the task was changed")
	}
}

// A question that this replica's informer has not heard of yet is answered all the same.
func TestAnswerToAQuestionSeenElsewhere(t *testing.T) {
	cluster := storetest.New(t)
	s := newReplica(t, cluster)
	id := create(t, s.Store, `{}`).Name
	cluster.Hold()
	cluster.SetStatus(t, tenant, id, storetest.Asks("a"))
	if err := s.Answer(t.Context(), scope, id, answers("a", `{"action":"decline"}`)); err != nil {
		t.Fatal(err)
	}
	if got := cluster.Task(t, tenant, id).Spec.Answers["a"].Action; got != v1alpha1.AnswerDecline {
		t.Errorf("got %q", got)
	}
}

func TestConflictsAreTriedAgain_B32(t *testing.T) {
	cluster := storetest.New(t)
	s := newReplica(t, cluster)
	id := create(t, s.Store, `{}`).Name
	interfere := 3
	cluster.BeforePatch = func(client.Object) {
		if interfere > 0 {
			interfere--
			cluster.SetStatus(t, tenant, id, func(s *v1alpha1.MCPTaskStatus) { s.Message = fmt.Sprintf("step %d", interfere) })
		}
	}
	if err := s.Cancel(t.Context(), scope, id, "enough"); err != nil {
		t.Fatal(err)
	}
	got := cluster.Task(t, tenant, id)
	if cancel := got.Spec.Cancel; cancel == nil || cancel.By != owner.Subject || cancel.Reason != "enough" {
		t.Errorf("got %+v", cancel)
	}
	if got.Status.Message != "step 0" {
		t.Errorf("what the controller wrote meanwhile is lost: %q", got.Status.Message)
	}
}

// A09: a cancel that comes too late changes nothing, whichever way the race goes.
func TestCancelAfterTheEndChangesNothing_A09_T41(t *testing.T) {
	cluster := storetest.New(t)
	s := newReplica(t, cluster)
	id := create(t, s.Store, `{}`).Name
	cluster.BeforePatch = func(client.Object) {
		cluster.BeforePatch = nil
		cluster.SetStatus(t, tenant, id, storetest.Completed(`{"content":[]}`))
	}
	if err := s.Cancel(t.Context(), scope, id, ""); err != nil {
		t.Fatal(err)
	}
	if cluster.Task(t, tenant, id).Spec.Cancel != nil {
		t.Error("a finished task was cancelled")
	}
}

// A10: cancelling is idempotent.
func TestCancelManyTimes_A10(t *testing.T) {
	cluster := storetest.New(t)
	s := newReplica(t, cluster)
	id := create(t, s.Store, `{}`).Name
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if err := s.Cancel(t.Context(), scope, id, ""); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	version := cluster.Task(t, tenant, id).ResourceVersion
	if err := s.Cancel(t.Context(), scope, id, "again"); err != nil {
		t.Error(err)
	}
	if now := cluster.Task(t, tenant, id).ResourceVersion; now != version {
		t.Error("a cancelled task was written again")
	}
}

func TestRefusals(t *testing.T) {
	resource := schema.GroupResource{Group: v1alpha1.Group, Resource: "mcptasks"}
	full := apierrors.NewForbidden(resource, "t-1", errors.New("exceeded quota: tasks, "+
		"requested: count/mcptasks.mcptasks.dev=1, used: count/mcptasks.mcptasks.dev=5, limited: count/mcptasks.mcptasks.dev=5"))
	terminating := apierrors.NewForbidden(resource, "t-1", errors.New("being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, test := range map[string]struct {
		refusal error
		reason  string // empty: none of the caller's business
		words   string
	}{
		"full quota": {full, v1alpha1.ReasonQuotaExceeded, "used: count/mcptasks.mcptasks.dev=5"},
		"uncounted quota": {
			apierrors.NewForbidden(resource, "t-1", errors.New("status unknown for quota: tasks, resources: count/mcptasks")),
			v1alpha1.ReasonQuotaExceeded, "has not been counted yet",
		},
		"namespace going":    {terminating, v1alpha1.ReasonRejected, "is being deleted"},
		"no right to create": {apierrors.NewForbidden(resource, "t-1", errors.New("no RBAC")), "", ""},
		"no API server":      {errors.New("connection refused"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // giving up takes no time
				cluster := storetest.New(t)
				cluster.Refuse = func(client.Object) error { return test.refusal }
				s := newReplica(t, cluster)
				_, err := s.Create(t.Context(), scope, store.Call{Tool: storetest.Tool("mcptasks", "greet"), Arguments: `{}`})
				refused := (*store.RefusedError)(nil)
				switch {
				case err == nil:
					t.Fatal("no error")
				case errors.As(err, &refused) != (test.reason != ""):
					t.Fatalf("got %v", err)
				case refused != nil && (refused.Reason != test.reason || !strings.Contains(refused.Message, test.words)):
					t.Errorf("got %+v", refused)
				}
			})
		})
	}
}

func TestFollowSeesTheEnd(t *testing.T) {
	cluster := storetest.New(t)
	s := newReplica(t, cluster)
	id := create(t, s.Store, `{}`).Name
	var seen []string
	err := s.Follow(t.Context(), scope, id, func(task *v1alpha1.MCPTask) bool {
		seen = append(seen, string(task.Status.State))
		switch task.Status.State {
		case "":
			cluster.SetStatus(t, tenant, id, func(s *v1alpha1.MCPTaskStatus) { s.State = v1alpha1.StateWorking })
		case v1alpha1.StateWorking:
			cluster.SetStatus(t, tenant, id, storetest.Completed(`{"content":[]}`))
		default:
			return false
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"", "working", "completed"}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	s := newReplica(t, storetest.New(t))
	id := create(t, s.Store, `{}`).Name
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Follow(ctx, scope, id, func(*v1alpha1.MCPTask) bool { cancel(); return true })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestOwnerLabel(t *testing.T) {
	labels := map[string]bool{}
	for _, o := range []v1alpha1.Owner{owner, {Issuer: "a", Subject: "bc"}, {Issuer: "ab", Subject: "c"}} {
		label := store.OwnerLabel(o)
		if len(label) == 0 || len(label) > 63 || labels[label] {
			t.Errorf("%+v has label %q", o, label)
		}
		labels[label] = true
	}
}
