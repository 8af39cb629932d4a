// Command conformance lets two clients that nobody here wrote loose on an installed endpoint: the official MCP conformance
// suite and the official Inspector. It applies the tools they need (tools/), calls as a service account of an own tenant, and
// prints one line per check and a summary.
//
// The endpoint is the real one, with authentication; the suite, which cannot send tokens, goes through a small gateway on
// loopback that adds them. It knows the clients and what they need, not how the cluster came to be.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/mcptasks/mcptasks/test/kube"
)

// tenant is the namespace of tools/, agent its service account.
const (
	tenant = "mcptasks-conformance"
	agent  = "agent"
)

// runnable are all scenarios of the Tasks extension but tasks-status-notifications, which the suite skips; and those about
// questions in answer to a call, but for what no tool here has: prompts, sampling and roots.
var runnable = []string{
	"tasks-lifecycle", "tasks-dispatch-and-envelope", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-headers",
	"tasks-request-state-removal", "tasks-required-task-error", "tasks-mrtr-input", "tasks-mrtr-composition",
	"input-required-result-basic-elicitation", "input-required-result-result-type", "input-required-result-missing-input-response",
	"input-required-result-ignore-extra-params", "input-required-result-validate-input", "input-required-result-unsupported-methods",
	"input-required-result-request-state", "input-required-result-tampered-state", "input-required-result-multi-round",
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string) int {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", os.Getenv("MCPTASKS_E2E_KUBECONFIG"),
		"cluster with mcptasks and the image of the test tools")
	scenarios := flags.String("scenarios", strings.Join(runnable, ","), "scenarios of the suite, comma-separated")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	r := &report{out: os.Stdout}
	if reason := cannotRun(*kubeconfig); reason != "" {
		r.skip("conformance", reason)
	} else if err := conform(ctx, *kubeconfig, strings.Split(*scenarios, ","), r); err != nil {
		r.fail("conformance", err.Error())
	}
	return r.summarize()
}

// cannotRun says what the machine lacks.
func cannotRun(kubeconfig string) string {
	if kubeconfig == "" {
		return "there is no cluster: set MCPTASKS_E2E_KUBECONFIG, or run make conformance on Linux as root"
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "the pinned Node is for linux/amd64"
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return "there is no npm to install the clients with (Debian: apt-get install npm)"
	}
	return ""
}

func conform(ctx context.Context, kubeconfig string, scenarios []string, r *report) error {
	clients, err := install(ctx, r)
	if err != nil {
		return err
	}
	cluster, err := kube.Open(kubeconfig)
	if err != nil {
		return err
	}
	if err := prepare(ctx, cluster); err != nil {
		return err
	}
	token, err := cluster.Token(ctx, tenant, agent)
	if err != nil {
		return err
	}
	pods, err := cluster.ReadyPods(ctx, kube.Namespace, kube.EndpointLabels)
	if err != nil {
		return err
	}
	if len(pods) == 0 {
		return fmt.Errorf("no pod of the endpoint is ready in the namespace %s", kube.Namespace)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	address, err := cluster.Forward(ctx, &pods[0], kube.EndpointPort)
	if err != nil {
		return err
	}
	gateway, err := openGateway(ctx, address, token)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "conformance-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	for _, scenario := range scenarios {
		if err := clients.suite(ctx, "http://"+gateway+"/mcp", scenario, filepath.Join(work, scenario), r); err != nil {
			return err
		}
	}
	return clients.inspector(ctx, "http://"+address+"/mcp", token, filepath.Join(work, "home"), r)
}

// prepare makes the tenant and its tools, and waits until agents can see them.
func prepare(ctx context.Context, cluster *kube.Cluster) error {
	root, err := repository(ctx)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, "test/conformance/tools/*.yaml"))
	if err != nil {
		return err
	}
	// The namespace comes before what lies in it.
	namespace := filepath.Join(root, "test/conformance/tools/namespace.yaml")
	objects, err := kube.ReadManifests(append([]string{namespace}, files...)...)
	if err != nil {
		return err
	}
	if err := cluster.ApplyManifests(ctx, objects...); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var problems []error
	for _, obj := range objects {
		if obj.GetKind() == "MCPTool" {
			problems = append(problems, cluster.WaitReady(ctx, kube.Key(obj)))
		}
	}
	return errors.Join(problems...)
}

// repository is the directory of the Go module this program belongs to.
func repository(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the repository (run this from inside of it): %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
