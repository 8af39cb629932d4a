//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/kube"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// newTask makes a task by a call.
func (w *world) newTask(ctx context.Context) (id string, err error) {
	call, err := w.client().CallTool(ctx, toolName, map[string]any{})
	switch {
	case err != nil:
		return "", err
	case call.Task == nil:
		return "", errors.New("the call did not become a task")
	}
	return call.Task.TaskID, nil
}

// getTask compares polling with a handler that writes the same bytes, in a process of its own, too.
func getTask(ctx context.Context, w *world, o options) error {
	id, err := w.newTask(ctx)
	if err != nil {
		return err
	}
	body, header, err := w.client().Encode("tasks/get", id, map[string]any{"taskId": id})
	if err != nil {
		return err
	}
	post := func(ctx context.Context, url string) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		request.Header = header
		response, err := keepAll.Do(request)
		if err != nil {
			return nil, err
		}
		defer func() { _ = response.Body.Close() }()
		answer, err := io.ReadAll(response.Body)
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("HTTP %s: %s", response.Status, answer)
		}
		return answer, err
	}
	answer, err := post(ctx, w.url)
	if err != nil {
		return err
	}
	floorURL, err := w.startFloor(ctx, answer)
	if err != nil {
		return err
	}
	at := func(url string) *side {
		return &side{do: func(ctx context.Context, _ int) error { _, err := post(ctx, url); return err }}
	}
	ours, floor := at(w.url), at(floorURL)
	if err := compare(ctx, o, ours, floor); err != nil {
		return err
	}
	ratio, p99 := ours.perSecond()/floor.perSecond(), ours.p99()
	row("tasks/get", fmt.Sprintf("%.0f/s", ours.perSecond()), fmt.Sprintf("%.0f/s", floor.perSecond()),
		fmt.Sprintf("%.0f %%", 100*ratio), "60 % of a bare handler", ratio >= 0.6)
	row("tasks/get, p99", p99.Round(10*time.Microsecond).String(), floor.p99().Round(10*time.Microsecond).String(),
		"", "5ms", p99 < 5*time.Millisecond)
	return nil
}

// floorCommand is how this program is started to be the floor of getTask.
const floorCommand = "floor"

// startFloor starts the bare handler.
func (w *world) startFloor(ctx context.Context, answer []byte) (url string, err error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(self, floorCommand, address)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(answer), os.Stderr
	if err := w.start(cmd); err != nil {
		return "", err
	}
	url = "http://" + address
	return url, kube.Poll(ctx, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
		if err != nil {
			return false, err
		}
		if response, err := keepAll.Do(request); err == nil {
			return true, response.Body.Close()
		}
		return false, nil // not yet
	})
}

// serveFloor answers every request with the bytes of answer, until the process is ended.
func serveFloor(address string, answer io.Reader) error {
	text, err := io.ReadAll(answer)
	if err != nil {
		return err
	}
	return http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(text)
	}))
}

// createTask compares calls that become tasks with the creation of the same objects by their client alone.
func createTask(ctx context.Context, w *world, o options) error {
	id, err := w.newTask(ctx)
	if err != nil {
		return err
	}
	model := &v1alpha1.MCPTask{}
	if err := w.Get(ctx, types.NamespacedName{Namespace: namespace, Name: id}, model); err != nil {
		return err
	}
	model.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Labels: model.Labels}
	ours := &side{do: func(ctx context.Context, _ int) error { _, err := w.newTask(ctx); return err }}
	floor := &side{do: func(ctx context.Context, _ int) error {
		task := model.DeepCopy()
		task.Name = "t-" + strings.ToLower(rand.Text())
		return w.Create(ctx, task)
	}}
	if err := compare(ctx, o, ours, floor); err != nil {
		return err
	}
	ratio := ours.perSecond() / floor.perSecond()
	row("tools/call to task", fmt.Sprintf("%.0f/s", ours.perSecond()), fmt.Sprintf("%.0f/s", floor.perSecond()),
		fmt.Sprintf("%.0f %%", 100*ratio), "85 % of client-go", ratio >= 0.85)
	const perSecond = 100
	calm, err := paced(ctx, perSecond, o.share, func(ctx context.Context) error { _, err := w.newTask(ctx); return err })
	if err != nil {
		return err
	}
	p99 := calm.p99()
	row("tools/call, p99 at 100/s", p99.Round(time.Millisecond).String(), "", "", "250ms", p99 < 250*time.Millisecond)
	return nil
}

// listeners opens streams that hear nothing, and then one thing all at once.
func listeners(ctx context.Context, w *world, o options) error {
	const mebi = 1 << 20
	id, err := w.newTask(ctx)
	if err != nil {
		return err
	}
	before, err := w.gauge(ctx, "process_resident_memory_bytes")
	if err != nil {
		return err
	}
	streams := make([]*mcpclient.Listener, o.streams)
	for i := range streams {
		if streams[i], err = w.client().Listen(ctx, mcpclient.Filter{TaskIDs: []string{id}}); err != nil {
			return err
		}
		defer func() { _ = streams[i].Close() }()
		if _, err := streams[i].Next(); err != nil { // the task as it is
			return err
		}
	}
	after, err := w.gauge(ctx, "process_resident_memory_bytes")
	if err != nil {
		return err
	}
	grown := (after - before) / mebi
	row(fmt.Sprintf("%d idle listeners", o.streams), fmt.Sprintf("%.0f MiB", grown), "", "", "100 MiB", grown < 100)

	task := &v1alpha1.MCPTask{}
	if err := w.Get(ctx, types.NamespacedName{Namespace: namespace, Name: id}, task); err != nil {
		return err
	}
	task.Status.State, task.Status.Message = v1alpha1.StateWorking, "Running."
	var group sync.WaitGroup
	pushed, errs := &side{took: make([]time.Duration, len(streams))}, make([]error, len(streams))
	begin := time.Now()
	for i, stream := range streams {
		group.Go(func() {
			_, errs[i] = stream.Next()
			pushed.took[i] = time.Since(begin)
		})
	}
	if err := w.Status().Update(ctx, task); err != nil {
		return err
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	p99 := pushed.p99()
	row("push to all of them, p99", p99.Round(time.Millisecond).String(), "", "", "250ms", p99 < 250*time.Millisecond)
	return nil
}
