package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// argumentsFile is where mcptasks puts the call's arguments in the tool's container.
const argumentsFile = "/mcp/arguments.json"

func newArgsCommand() *cobra.Command {
	var file, fallback string
	cmd := &cobra.Command{
		Use:   "args [NAME]",
		Short: "Print the call's arguments, or the value of one",
		Long: `Print the arguments of the call: without NAME the whole JSON object, byte for byte as the caller sent it;
with NAME the value of that argument. A string is printed as it is, without quotes; anything else as the JSON that
the caller wrote.

An argument that the caller did not give, or gave as null, is an error (exit code 1), unless --default says what to print
instead.`,
		Example: `  steps=$(mcptask args steps --default 1)
  mcptask args > /tmp/arguments.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("read the arguments: %w", err)
			}
			if len(args) == 0 {
				return printRaw(cmd.OutOrStdout(), data)
			}
			value, err := argument(data, args[0])
			if errors.Is(err, errNotGiven) && cmd.Flags().Changed("default") {
				value, err = []byte(fallback), nil
			}
			if err != nil {
				return err
			}
			return printRaw(cmd.OutOrStdout(), value)
		},
	}
	cmd.Flags().StringVar(&file, "file", argumentsFile, "file that holds the arguments")
	cmd.Flags().StringVar(&fallback, "default", "", "what to print where the caller gave no such argument")
	return cmd
}

var errNotGiven = errors.New("the caller did not give it")

// argument gives the value of one property: a string's characters, or the bytes of any other JSON value, so that no number
// changes on the way.
func argument(arguments []byte, name string) ([]byte, error) {
	var properties map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &properties); err != nil {
		return nil, fmt.Errorf("the arguments are not a JSON object: %w", err)
	}
	raw, ok := properties[name]
	if !ok || bytes.Equal(raw, []byte("null")) {
		return nil, fmt.Errorf("argument %q: %w", name, errNotGiven)
	}
	if raw[0] != '"' {
		return raw, nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("argument %q: %w", name, err)
	}
	return []byte(s), nil
}

// printRaw ends the output with a line break, which the shell's $(...) takes off again.
func printRaw(w io.Writer, data []byte) error {
	_, err := w.Write(append(data, '\n'))
	return err
}
