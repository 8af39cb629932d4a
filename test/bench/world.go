//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/env"
	"github.com/mcptasks/mcptasks/test/kube"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

const (
	// namespace is the tenant's and the catalog's at once.
	namespace = "bench"
	// agent is the service account that calls.
	agent = "agent"
	// toolName is the tool that is called.
	toolName = "bench"
	// patience is how long anything but a measurement may take.
	patience = 2 * time.Minute
)

// world is a cluster with a tenant, a tool and an endpoint, without a controller: tasks stay as they are.
type world struct {
	*kube.Cluster
	dir       string
	url       string
	metrics   string
	token     string
	processes []*exec.Cmd
}

func newWorld(ctx context.Context, e *env.Env, kubeconfig string) (w *world, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	w = &world{}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close(context.WithoutCancel(ctx)))
		}
	}()
	if w.Cluster, err = kube.Open(kubeconfig); err != nil {
		return nil, err
	}
	if err := w.InstallCRDs(ctx, e.Root); err != nil {
		return nil, err
	}
	if err := w.populate(ctx); err != nil {
		return nil, err
	}
	if w.dir, err = os.MkdirTemp("", "bench-*"); err != nil {
		return nil, err
	}
	program := filepath.Join(w.dir, "mcptasks")
	if err := e.Command(ctx, "go", "build", "-o", program, "./cmd/mcptasks").Run(); err != nil {
		return nil, fmt.Errorf("build mcptasks: %w", err)
	}
	return w, w.startEndpoint(ctx, program, kubeconfig)
}

// populate makes the tenant and a tool that is ready.
func (w *world) populate(ctx context.Context) error {
	tool := &v1alpha1.MCPTool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: toolName}}
	tool.Spec = v1alpha1.MCPToolSpec{
		Description: "Is measured.",
		JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "example.invalid/tool:1"}},
		}}}},
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{v1alpha1.LabelTenant: "bench"}}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: agent}},
		tool,
	} {
		if err := w.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	if err := w.Get(ctx, client.ObjectKeyFromObject(tool), tool); err != nil {
		return err
	}
	tool.Status.ObservedGeneration = tool.Generation
	tool.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ToolReasonReady, LastTransitionTime: metav1.Now(),
	}}
	if err := w.Status().Update(ctx, tool); err != nil {
		return err
	}
	var err error
	w.token, err = w.Token(ctx, namespace, agent)
	return err
}

func (w *world) startEndpoint(ctx context.Context, program, kubeconfig string) error {
	var addresses [3]string
	for i := range addresses {
		var err error
		if addresses[i], err = freeAddress(ctx); err != nil {
			return err
		}
	}
	log, err := os.Create(filepath.Join(w.dir, "endpoint.log")) // written as in production, and read by nobody
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	w.url, w.metrics = "http://"+addresses[0]+"/mcp", "http://"+addresses[2]+"/metrics"
	cmd := exec.Command(program, "endpoint", "--address", addresses[0], "--health-address", addresses[1],
		"--metrics-address", addresses[2], "--catalog-namespace", namespace, "--caller-rate", "0", "--caller-streams", "0")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	cmd.Stderr = log
	if err := w.start(cmd); err != nil {
		return err
	}
	err = kube.Poll(ctx, func(ctx context.Context) (bool, error) {
		tools, err := w.client().ListTools(ctx)
		return err == nil && len(tools) == 1, nil
	})
	if err != nil {
		said, _ := os.ReadFile(log.Name())
		return fmt.Errorf("the endpoint does not serve: %w\n%s", err, said)
	}
	return nil
}

func (w *world) start(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	w.processes = append(w.processes, cmd)
	return nil
}

// client calls the endpoint. All connections that it makes are kept.
func (w *world) client() *mcpclient.Client {
	return &mcpclient.Client{URL: w.url, Token: w.token, HTTP: keepAll}
}

var keepAll = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 10_000}}

// close ends the programs and removes the tasks.
func (w *world) close(ctx context.Context) (err error) {
	for _, cmd := range w.processes {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // that it was killed is known
	}
	if w.Cluster != nil {
		err = w.DeleteAllOf(ctx, &v1alpha1.MCPTask{}, client.InNamespace(namespace))
	}
	if w.dir != "" {
		err = errors.Join(err, os.RemoveAll(w.dir))
	}
	return err
}

// gauge reads one of the endpoint's metrics that has no labels.
func (w *world) gauge(ctx context.Context, name string) (value float64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.metrics, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	var text strings.Builder
	if _, err := io.Copy(&text, response.Body); err != nil {
		return 0, err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Sscanf(line, name+" %g", &value); err == nil {
			return value, nil
		}
	}
	return 0, fmt.Errorf("the endpoint has no metric %s", name)
}

func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
