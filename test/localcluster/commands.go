//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/build"
	"github.com/mcptasks/mcptasks/test/localcluster/internal/cluster"
	"github.com/mcptasks/mcptasks/test/localcluster/internal/console"
)

// flags are those of all commands.
type flags struct {
	name, source string
}

func (f *flags) layout() (cluster.Layout, error) { return cluster.NewLayout(f.name) }

func (f *flags) open() (*cluster.Cluster, error) {
	l, err := f.layout()
	if err != nil {
		return nil, err
	}
	return cluster.Open(l, printer())
}

func (f *flags) builder(l cluster.Layout) (*build.Builder, error) {
	source := f.source
	if source == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		if source, err = build.FindSource(dir); err != nil {
			return nil, err
		}
	}
	return &build.Builder{Source: source, Cache: l.Home}, nil
}

// printer writes progress beside the output proper, which scripts read.
func printer() *console.Printer { return console.New(os.Stderr) }

func upCommand(f *flags) *cobra.Command {
	var controlPlane, noFsync bool
	var apiServer, controllerManager, scheduler, kubelet []string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster, or make one whole again",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&controlPlane, "control-plane", false,
		"only etcd, API server and controller manager, without a node: needs neither root nor Linux")
	cmd.Flags().BoolVar(&noFsync, "unsafe-no-fsync", false, "let etcd lose writes if the machine crashes, which is quicker")
	cmd.Flags().StringArrayVar(&apiServer, "api-server-arg", nil, "an argument for kube-apiserver (repeatable)")
	cmd.Flags().StringArrayVar(&controllerManager, "controller-manager-arg", nil,
		"an argument for kube-controller-manager, such as --controller-manager-arg=--concurrent-job-syncs=20 (repeatable)")
	cmd.Flags().StringArrayVar(&scheduler, "scheduler-arg", nil, "an argument for kube-scheduler (repeatable)")
	cmd.Flags().StringArrayVar(&kubelet, "kubelet-arg", nil, "an argument for kubelet (repeatable)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		l, err := f.layout()
		if err != nil {
			return err
		}
		b, err := f.builder(l)
		if err != nil {
			return err
		}
		o := cluster.Options{Mode: cluster.Full, UnsafeNoFsync: noFsync}
		if controlPlane {
			o.Mode = cluster.ControlPlane
		}
		for component, args := range map[string][]string{
			"kube-apiserver": apiServer, "kube-controller-manager": controllerManager, "kube-scheduler": scheduler, "kubelet": kubelet,
		} {
			if len(args) == 0 {
				continue
			}
			if o.ExtraArgs == nil {
				o.ExtraArgs = map[string][]string{}
			}
			o.ExtraArgs[component] = args
		}
		out := printer()
		began := time.Now()
		c, err := cluster.Up(cmd.Context(), l, o, b, out)
		if err != nil {
			return err
		}
		status, err := c.Status(cmd.Context())
		if err != nil {
			return err
		}
		out.Line("Cluster %q is up after %s: %s", l.Name, console.Duration(time.Since(began)), status.APIServer)
		out.Line("  export KUBECONFIG=%s PATH=%s:$PATH", status.Kubeconfig, status.Programs)
		return nil
	}
	return cmd
}

func downCommand(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End a cluster and delete all there is of it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := f.layout()
			if err != nil {
				return err
			}
			return cluster.Down(cmd.Context(), l, printer())
		},
	}
}

func kubeconfigCommand(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the administrator's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.open()
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), c.Kubeconfig())
			return nil
		},
	}
}

func loadImageCommand(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "load-image FILE...",
		Short: "Give the node the images in tar files, as docker save writes them",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			c, err := f.open()
			if err != nil {
				return err
			}
			return c.LoadImages(cmd.Context(), files...)
		},
	}
}

func statusCommand(f *flags) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Tell how a cluster and its components are; fails if it isn't healthy",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "text" && output != "json" {
				return fmt.Errorf("no output format %q; there are text and json", output)
			}
			c, err := f.open()
			if err != nil {
				return err
			}
			status, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			if output == "json" {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				err = e.Encode(status)
			} else {
				err = printStatus(cmd, status)
			}
			if err == nil && !status.Healthy {
				err = fmt.Errorf("cluster %q isn't healthy (%s); up makes it so", status.Name, status.Problem)
			}
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

func printStatus(cmd *cobra.Command, s cluster.Status) error {
	state := "not running"
	if s.Supervisor != 0 {
		state = fmt.Sprintf("running, supervisor process %d", s.Supervisor)
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "cluster\t%s (%s), %s\n", s.Name, s.Mode, state)
	fmt.Fprintf(w, "API server\t%s\n", s.APIServer)
	fmt.Fprintf(w, "kubeconfig\t%s\n", s.Kubeconfig)
	fmt.Fprintf(w, "programs\t%s\n", s.Programs)
	fmt.Fprintf(w, "logs\t%s\n", s.Logs)
	if err := w.Flush(); err != nil || len(s.Components) == 0 {
		return err
	}
	fmt.Fprintln(w)
	fmt.Fprintln(w, "COMPONENT\tPID\tREADY\tRESTARTS\tSINCE\tDETAIL")
	for _, c := range s.Components {
		detail := strings.ReplaceAll(c.Detail, "\n", " ")
		fmt.Fprintf(w, "%s\t%d\t%t\t%d\t%s\t%s\n", c.Name, c.PID, c.Ready, c.Restarts, console.Duration(time.Since(c.Since)), detail)
	}
	return w.Flush()
}

func execCommand(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "exec -- COMMAND [ARG...]",
		Short: "Run a command inside a full cluster's namespaces, such as nft list ruleset",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.open()
			if err != nil {
				return err
			}
			return c.Exec(cmd.Context(), args)
		},
	}
}

func stopCommand(f *flags) *cobra.Command {
	return componentCommand(f, "stop", "Kill a component, such as kube-apiserver, and keep it down; status lists them",
		(*cluster.Cluster).StopComponent)
}

func startCommand(f *flags) *cobra.Command {
	return componentCommand(f, "start", "Start a component that stop keeps down, and wait until it is ready; so does up, with all",
		(*cluster.Cluster).StartComponent)
}

func restartCommand(f *flags) *cobra.Command {
	return componentCommand(f, "restart", "Kill a component, start it again, and wait until it is ready",
		(*cluster.Cluster).RestartComponent)
}

func componentCommand(
	f *flags, verb, short string, do func(c *cluster.Cluster, ctx context.Context, name string) error,
) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " COMPONENT...",
		Short: short,
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			c, err := f.open()
			if err != nil {
				return err
			}
			for _, name := range names {
				if err := do(c, cmd.Context(), name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func binariesCommand(f *flags) *cobra.Command {
	var only []string
	cmd := &cobra.Command{
		Use:   "binaries",
		Short: "Build the cluster's programs, kubectl and helm, and print the directory they are in",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := f.layout()
			if err != nil {
				return err
			}
			b, err := f.builder(l)
			if err != nil {
				return err
			}
			programs, err := build.Select(only...)
			if err != nil {
				return err
			}
			dir, err := b.Ensure(cmd.Context(), programs, printer())
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), dir)
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&only, "only", nil, "build only these, such as kubectl,helm")
	return cmd
}

func superviseCommand(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:    "supervise",
		Short:  "Run a cluster's components; up starts this",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := f.layout()
			if err != nil {
				return err
			}
			return cluster.Supervise(cmd.Context(), l)
		},
	}
}
