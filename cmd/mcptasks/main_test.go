package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

func TestCommandsAreThere(t *testing.T) {
	root := newRootCommand()
	for _, name := range []string{"controller", "endpoint", "version"} {
		cmd, _, err := root.Find([]string{name})
		if err != nil || cmd.Name() != name {
			t.Errorf("mcptasks %s: not found (%v)", name, err)
			continue
		}
		if cmd.PersistentPreRun != nil || cmd.PersistentPreRunE != nil {
			t.Errorf("mcptasks %s has a persistent hook of its own, which keeps the logger from being set", name)
		}
	}
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	root := newRootCommand()
	root.SetArgs([]string{"version"})
	root.SetOut(&out)
	if err := root.ExecuteContext(context.Background()); err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(out.String()) == "" || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("output %q, want one line", out.String())
	}
}

func TestLogOptions(t *testing.T) {
	run := func(o logOptions, log func(ctx context.Context)) (string, error) {
		var stderr bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetErr(&stderr)
		cmd.SetContext(context.Background())
		err := o.apply(cmd)
		if err == nil {
			log(cmd.Context())
		}
		return stderr.String(), err
	}
	both := func(ctx context.Context) {
		logger := logr.FromContextOrDiscard(ctx)
		logger.Info("shown", "key", "value")
		logger.V(1).Info("detail")
		klog.Background().Info("from client-go")
	}

	out, err := run(logOptions{level: "info", format: "json"}, both)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 {
		t.Fatalf("want two lines at level info, got:\n%s", out)
	}
	var record map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &record); err != nil || record["msg"] != "shown" || record["key"] != "value" {
		t.Errorf("line %s (%v): want JSON with msg and key", lines[0], err)
	}

	if out, err = run(logOptions{level: "debug", format: "text"}, both); err != nil || !strings.Contains(out, "msg=detail") {
		t.Errorf("level debug, format text: error %v, output:\n%s", err, out)
	}
	if out, err = run(logOptions{level: "error", format: "text"}, both); err != nil || out != "" {
		t.Errorf("level error: error %v, output:\n%s", err, out)
	}
	for _, bad := range []logOptions{{level: "loud", format: "json"}, {level: "info", format: "xml"}} {
		if _, err := run(bad, both); err == nil || !strings.Contains(err.Error(), "is not one of") {
			t.Errorf("%+v: error %v, want one that lists the choices", bad, err)
		}
	}
}

// Who lets everybody in without a token has to say so, if it is to be more than the people at this machine.
func TestEndpointAddress_S4(t *testing.T) {
	for _, test := range []struct {
		args     []string
		address  string
		loopback bool
	}{
		{nil, ":8080", false},
		{[]string{"--insecure-anonymous=team-a"}, "127.0.0.1:8080", true},
		{[]string{"--insecure-anonymous=team-a", "--address=:9090"}, ":9090", false},
		{[]string{"--address=localhost:9090"}, "localhost:9090", true},
		{[]string{"--address=[::1]:9090"}, "[::1]:9090", true},
		{[]string{"--address=192.0.2.1:9090"}, "192.0.2.1:9090", false},
	} {
		var o endpointOptions
		flags := pflag.NewFlagSet("endpoint", pflag.ContinueOnError)
		o.addFlags(flags)
		if err := flags.Parse(test.args); err != nil {
			t.Fatal(err)
		}
		o.complete()
		if o.address != test.address || listensOnLoopback(o.address) != test.loopback {
			t.Errorf("%q: listens on %s, only for this machine: %t", test.args, o.address, listensOnLoopback(o.address))
		}
	}
}
