//go:build unix

// Command conformance lets clients that nobody here wrote loose on an installed endpoint, with real Jobs behind its tools:
//
//   - the official MCP conformance suite, all its scenarios, at the current revision of the protocol and the one before. What
//     cannot pass here, prompts for instance, is in baseline.yaml with a reason; an entry that is no longer true fails the run.
//   - the official Inspector's CLI in its three protocol eras, and its mcpdo, which deals with single tasks and with questions.
//   - ext-tasks, the official client of the Tasks extension, whose schemas check every message that passes (tasks.mjs).
//
// It applies the tools they need (tools/), calls as a service account of an own tenant, prints one line per check, and in the end
// one with all counts. All that it starts ends with it. The clients' versions are pinned by package-lock.json; they are installed
// once, into the user's cache, and need no network from then on.
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

	"github.com/mcptasks/mcptasks/test/kube"
)

// tenant is the namespace of tools/, agent its service account.
const (
	tenant = "mcptasks-conformance"
	agent  = "agent"
)

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
	scenarios := flags.String("scenarios", "", "only these scenarios of the suite, comma-separated, and no other client")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	r := &report{out: os.Stdout}
	if reason := cannotRun(*kubeconfig); reason != "" {
		r.skip("conformance", reason)
	} else if err := conform(ctx, *kubeconfig, splitNames(*scenarios), r); err != nil {
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

func conform(ctx context.Context, kubeconfig string, only []string, r *report) error {
	known, err := readBaseline(baselineFile)
	if err != nil {
		return err
	}
	clients, err := install(ctx, r)
	if err != nil {
		return err
	}
	cluster, err := kube.Open(kubeconfig)
	if err != nil {
		return err
	}
	// What runs in the background ends with ctx.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b, err := openBench(ctx, cluster, clients)
	if err != nil {
		return err
	}
	defer b.close()
	if err := r.count("suite", func() error { return b.suite(ctx, only, known, r) }); err != nil || len(only) > 0 {
		return err
	}
	for _, client := range []struct {
		name string
		run  func(context.Context, *report) error
	}{
		{"Inspector", b.inspector},
		{"mcpdo", b.mcpdo},
		{"ext-tasks", b.extTasks},
	} {
		if err := r.count(client.name, func() error { return client.run(ctx, r) }); err != nil {
			return err
		}
	}
	return nil
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
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
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

// splitNames reads a list of names, comma-separated.
func splitNames(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}
