package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// logOptions say how the process logs. Everything goes to standard error.
type logOptions struct {
	level  string // debug, info, warn or error
	format string // json or text
}

func (o *logOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.level, "log-level", o.level, "log what is at least this important: debug, info, warn or error")
	flags.StringVar(&o.format, "log-format", o.format, "format of the log lines: json or text")
}

// apply makes one logger the process's: for slog, for controller-runtime, for client-go's klog, and for logr.FromContext in the
// command.
func (o *logOptions) apply(cmd *cobra.Command) error {
	handler, err := o.handler(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	slog.SetDefault(slog.New(handler))
	logger := logr.FromSlogHandler(handler)
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	cmd.SetContext(logr.NewContext(cmd.Context(), logger))
	return nil
}

func (o *logOptions) handler(w io.Writer) (slog.Handler, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.level)); err != nil {
		return nil, fmt.Errorf("--log-level %q is not one of debug, info, warn, error", o.level)
	}
	options := &slog.HandlerOptions{Level: level}
	switch o.format {
	case "json":
		return slog.NewJSONHandler(w, options), nil
	case "text":
		return slog.NewTextHandler(w, options), nil
	}
	return nil, fmt.Errorf("--log-format %q is not one of json, text", o.format)
}
