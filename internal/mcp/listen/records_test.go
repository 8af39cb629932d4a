package listen_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/store"
)

// alice and others are callers; tasks belong to one of them.
var (
	alice    = auth.Caller{Issuer: "kubernetes", Subject: "alice", Tenant: "a", Namespace: "team-a"}
	mallory  = auth.Caller{Issuer: "kubernetes", Subject: "mallory", Tenant: "a", Namespace: "team-a"}
	stranger = auth.Caller{Issuer: "kubernetes", Subject: "alice", Tenant: "b", Namespace: "team-b"}
)

var epoch = time.Date(2026, 11, 29, 10, 30, 0, 0, time.UTC)

// records are tasks in memory: what listen.Tasks asks for, without a cluster.
type records struct {
	mu       sync.Mutex
	version  int64
	tasks    map[string]*v1alpha1.MCPTask
	watchers map[string]map[*func()]struct{}
	broken   error             // what Get answers instead
	stale    *v1alpha1.MCPTask // what Get answers once, instead
	deaf     bool              // changes are not told to watchers
}

func newRecords() *records {
	return &records{version: 998, tasks: map[string]*v1alpha1.MCPTask{}, watchers: map[string]map[*func()]struct{}{}}
}

// create makes a working task.
func (r *records) create(id string, owner auth.Caller) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version++
	r.tasks[id] = &v1alpha1.MCPTask{
		ObjectMeta: metav1.ObjectMeta{
			Name:              id,
			Namespace:         owner.Namespace,
			UID:               types.UID(fmt.Sprintf("uid-%d", r.version)),
			ResourceVersion:   strconv.FormatInt(r.version, 10),
			CreationTimestamp: metav1.NewTime(epoch),
		},
		Spec: v1alpha1.MCPTaskSpec{
			Owner:     owner.Owner(),
			Execution: v1alpha1.Execution{PollInterval: metav1.Duration{Duration: 2 * time.Second}},
		},
	}
}

// change edits a task and tells its watchers.
func (r *records) change(id string, edit func(*v1alpha1.MCPTask)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version++
	changed := r.tasks[id].DeepCopy()
	changed.ResourceVersion = strconv.FormatInt(r.version, 10)
	edit(changed)
	r.tasks[id] = changed
	r.tell(id)
}

func (r *records) delete(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tasks, id)
	r.tell(id)
}

func (r *records) tell(id string) {
	if r.deaf {
		return
	}
	for changed := range r.watchers[id] {
		(*changed)()
	}
}

// say makes a task say something.
func (r *records) say(id, message string) {
	r.change(id, func(t *v1alpha1.MCPTask) {
		t.Status.State, t.Status.Message = v1alpha1.StateWorking, message
	})
}

// finish completes a task.
func (r *records) finish(id, result string) {
	r.change(id, func(t *v1alpha1.MCPTask) {
		t.Status.State, t.Status.Message, t.Status.Result = v1alpha1.StateCompleted, "Done.", result
	})
}

func (r *records) get(id string) *v1alpha1.MCPTask {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tasks[id]
}

// set changes how the records behave.
func (r *records) set(behave func(*records)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	behave(r)
}

// watched is how many wake-ups are wanted.
func (r *records) watched() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, watchers := range r.watchers {
		n += len(watchers)
	}
	return n
}

func (r *records) Watch(_ context.Context, scope store.Scope, id string, changed func()) (func(), error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.owns(scope, id) {
		return nil, store.ErrNotFound
	}
	if r.watchers[id] == nil {
		r.watchers[id] = map[*func()]struct{}{}
	}
	r.watchers[id][&changed] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watchers[id], &changed)
	}, nil
}

func (r *records) Get(_ context.Context, scope store.Scope, id string) (*v1alpha1.MCPTask, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.broken != nil:
		return nil, r.broken
	case !r.owns(scope, id):
		return nil, store.ErrNotFound
	case r.stale != nil && r.stale.Name == id:
		stale := r.stale
		r.stale = nil
		return stale, nil
	default:
		return r.tasks[id], nil
	}
}

func (r *records) owns(scope store.Scope, id string) bool {
	t, ok := r.tasks[id]
	return ok && t.Namespace == scope.Namespace && t.Spec.Owner == scope.Owner
}

// toolbox is a list of tools in memory, as far as listen.Tools wants to know it.
type toolbox struct {
	mu       sync.Mutex
	versions map[string]string // namespace → version
	watchers map[*func()]struct{}
	broken   error
}

func newToolbox() *toolbox {
	return &toolbox{versions: map[string]string{}, watchers: map[*func()]struct{}{}}
}

// change gives a namespace another list, and tells everybody that some list may have changed.
func (b *toolbox) change(namespace, version string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.versions[namespace] = version
	for changed := range b.watchers {
		(*changed)()
	}
}

func (b *toolbox) Watch(changed func()) func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers[&changed] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.watchers, &changed)
	}
}

func (b *toolbox) set(broken error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = broken
}

// watched is how many wake-ups are wanted.
func (b *toolbox) watched() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.watchers)
}

func (b *toolbox) Version(_ context.Context, namespace string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.versions[namespace], b.broken
}

// door is an authenticator that says what it is told to.
type door struct {
	mu     sync.Mutex
	caller auth.Caller
	err    error
}

func (d *door) set(caller auth.Caller, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.caller, d.err = caller, err
}

func (d *door) Authenticate(r *http.Request) (auth.Caller, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Context().Err() != nil {
		return auth.Caller{}, errors.New("asked too late")
	}
	return d.caller, d.err
}
