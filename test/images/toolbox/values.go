package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// argumentsFile is where a container finds the caller's arguments, byte for byte.
const argumentsFile = "/mcp/arguments.json"

// values are a command's values by name, as text.
type values struct {
	argv []string // as given
	file string   // what the arguments file holds; empty when there is none
	text map[string]string
}

// readValues takes --name=value flags and, for names not among them, the scalar members of the arguments file.
func readValues(argv []string, file string) (values, error) {
	v := values{argv: argv, text: map[string]string{}}
	content, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return v, fmt.Errorf("read the arguments: %w", err)
	default:
		v.file = string(content)
		var members map[string]json.RawMessage
		if err := json.Unmarshal(content, &members); err != nil {
			return v, fmt.Errorf("read the arguments: %w", err)
		}
		for name, raw := range members {
			v.text[name] = string(raw)
			if raw[0] == '"' {
				var text string
				if err := json.Unmarshal(raw, &text); err != nil {
					return v, fmt.Errorf("read the argument %s: %w", name, err)
				}
				v.text[name] = text
			}
		}
	}
	for _, arg := range argv {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || !strings.HasPrefix(name, "--") {
			return v, fmt.Errorf("%q is not of the form --name=value", arg)
		}
		v.text[strings.TrimPrefix(name, "--")] = value
	}
	return v, nil
}

func (v values) str(name, otherwise string) string {
	if text := v.text[name]; text != "" {
		return text
	}
	return otherwise
}

func (v values) integer(name string, otherwise int) (int, error) {
	text := v.text[name]
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s must be a whole number, not %q", name, text)
	}
	return n, nil
}

// list reads a JSON list into a pointer to a slice; one that is missing leaves it as it is.
func (v values) list(name string, into any) error {
	text := v.text[name]
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("%s must be a JSON list: %w", name, err)
	}
	return nil
}

func (v values) seconds(name string) (time.Duration, error) {
	text := v.text[name]
	if text == "" {
		return 0, nil
	}
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || !(s >= 0 && s <= 86400) {
		return 0, fmt.Errorf("%s must be a number of seconds from 0 to 86400, not %q", name, text)
	}
	return time.Duration(s * float64(time.Second)), nil
}
