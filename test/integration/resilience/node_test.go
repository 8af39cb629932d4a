//go:build unix

package resilience

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

const (
	// again is the pause before something is tried again that the API server did not take.
	again = 100 * time.Millisecond
	// heartbeat is how often a node says that it is there: often enough that its pods are not taken from it.
	heartbeat = 10 * time.Second
)

// node plays scheduler and kubelet for the pods of one namespace. Like the real ones it goes on as soon as it can reach the API
// server, and starts a container once and never again.
type node struct {
	t         *testing.T
	name      string
	namespace string
	// work is what the container of a task does; it has to end when stop is closed.
	work func(task string, stop <-chan struct{})

	mu sync.Mutex
	// marks are the containers that were started, by task: when the pod of each was created, in whole seconds.
	marks map[string][]time.Time
	logs  map[string]string
	pods  map[types.UID]*container
	busy  sync.WaitGroup
}

// container is the one of a pod.
type container struct {
	stop     chan struct{}
	stopOnce sync.Once
}

// end tells the container to.
func (c *container) end() { c.stopOnce.Do(func() { close(c.stop) }) }

func (c *container) stopped() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

// startNode joins a node to the cluster until the test ends.
func startNode(t *testing.T, namespace string, work func(task string, stop <-chan struct{})) *node {
	t.Helper()
	n := &node{
		t: t, name: namespace, namespace: namespace, work: work,
		marks: map[string][]time.Time{}, logs: map[string]string{}, pods: map[types.UID]*container{},
	}
	kubelet := httptest.NewTLSServer(http.HandlerFunc(n.serveLogs))
	t.Cleanup(kubelet.Close)
	ctx, leave := context.WithCancel(context.Background())
	n.join(ctx, kubelet.Listener.Addr())
	n.busy.Go(func() { n.beat(ctx) })
	n.busy.Go(func() { n.watch(ctx) })
	t.Cleanup(func() {
		leave()
		n.busy.Wait()
	})
	return n
}

// executions is how often a container of the task was started.
func (n *node) executions(task string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.marks[task])
}

// hasPrinted reports whether a container of the task printed the text.
func (n *node) hasPrinted(task, text string) bool {
	for i := range n.executions(task) {
		if text == printed(task, i+1) {
			return true
		}
	}
	return false
}

// join makes the node known, with the address of its kubelet.
func (n *node) join(ctx context.Context, kubelet net.Addr) {
	n.t.Helper()
	if err := cluster.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}}); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		if err := cluster.Delete(context.Background(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}}); err != nil {
			n.t.Error(err)
		}
	})
	host, port, err := net.SplitHostPort(kubelet.String())
	if err != nil {
		n.t.Fatal(err)
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		n.t.Fatal(err)
	}
	n.update(ctx, func(s *corev1.NodeStatus) {
		s.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
		s.DaemonEndpoints.KubeletEndpoint.Port = int32(number)
	})
}

// beat tells the cluster that the node is there.
func (n *node) beat(ctx context.Context) {
	for pause(ctx, heartbeat) {
		n.update(ctx, func(*corev1.NodeStatus) {})
	}
}

// update changes the node's status, and says that it is well.
func (n *node) update(ctx context.Context, change func(*corev1.NodeStatus)) {
	n.insist(ctx, func() error {
		object := &corev1.Node{}
		if err := cluster.Get(ctx, types.NamespacedName{Name: n.name}, object); err != nil {
			return err
		}
		change(&object.Status)
		object.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
			LastHeartbeatTime: metav1.Now(), LastTransitionTime: object.CreationTimestamp,
		}}
		return cluster.Status().Update(ctx, object)
	})
}

// watch follows the pods of the namespace.
func (n *node) watch(ctx context.Context) {
	for ctx.Err() == nil {
		changes, err := cluster.Watch(ctx, &corev1.PodList{}, client.InNamespace(n.namespace))
		if err != nil {
			pause(ctx, again)
			continue
		}
		for change := range changes.ResultChan() {
			if pod, ok := change.Object.(*corev1.Pod); ok && change.Type != "DELETED" {
				n.take(ctx, pod)
			}
		}
	}
}

// take runs a pod that is new, and stops one that is to go.
func (n *node) take(ctx context.Context, pod *corev1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c, known := n.pods[pod.UID]
	if !known {
		c = &container{stop: make(chan struct{})}
		n.pods[pod.UID] = c
		context.AfterFunc(ctx, c.end)
		n.busy.Go(func() { n.run(ctx, pod.DeepCopy(), c) })
	}
	if pod.DeletionTimestamp != nil {
		c.end()
	}
}

// run takes a pod from its node to its end.
func (n *node) run(ctx context.Context, pod *corev1.Pod, c *container) {
	task := pod.Labels[v1alpha1.LabelTask]
	bound := n.insist(ctx, func() error {
		to := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: n.name}}
		if err := cluster.SubResource("binding").Create(ctx, pod, to); !apierrors.IsConflict(err) {
			return err
		}
		return nil // it is, the answer was lost
	})
	if !bound {
		return
	}
	defer n.remove(ctx, pod, c)
	if c.stopped() {
		return // before it began
	}
	began := metav1.Now()
	n.mark(pod, task)
	n.report(ctx, pod, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}})
	n.work(task, c.stop)
	exit := &corev1.ContainerStateTerminated{StartedAt: began, FinishedAt: metav1.Now(), Reason: "Completed"}
	phase := corev1.PodSucceeded
	if c.stopped() {
		exit.ExitCode, exit.Reason, phase = 143, "Error", corev1.PodFailed
	}
	n.report(ctx, pod, phase, corev1.ContainerState{Terminated: exit})
}

// remove waits until a pod, whose container does not run, is to go, and says that nothing is left of it.
func (n *node) remove(ctx context.Context, pod *corev1.Pod, c *container) {
	select {
	case <-c.stop:
	case <-ctx.Done():
		return
	}
	n.insist(ctx, func() error {
		return cluster.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	})
}

// mark notes that the container of a task is started now. What it prints says how often that was.
func (n *node) mark(pod *corev1.Pod, task string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.marks[task] = append(n.marks[task], pod.CreationTimestamp.Time)
	n.logs[pod.Name] = printed(task, len(n.marks[task]))
}

// printed is what the container of a task prints.
func printed(task string, execution int) string {
	return fmt.Sprintf("%s: execution %d", task, execution)
}

// report tells the API server the state of the pod's container.
func (n *node) report(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase, state corev1.ContainerState) {
	n.insist(ctx, func() error {
		if err := cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		now := metav1.Now()
		pod.Status.Phase, pod.Status.StartTime = phase, &now
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image, State: state,
		}}
		return cluster.Status().Update(ctx, pod)
	})
}

// insist tries until it works; false: what it is about is gone, or the test has ended.
func (n *node) insist(ctx context.Context, try func() error) bool {
	for {
		err := try()
		switch {
		case err == nil:
			return true
		case apierrors.IsNotFound(err), !pause(ctx, again):
			return false
		}
	}
}

// serveLogs answers as a kubelet does that is asked for the log of a container.
func (n *node) serveLogs(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(r.URL.Path, "/")
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(path) != 5 || path[1] != "containerLogs" || n.logs[path[3]] == "" {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write([]byte(n.logs[path[3]]))
}

// pause waits; false: not for so long, since ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
