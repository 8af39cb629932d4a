package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Builder builds programs from the modules below Source into Cache.
type Builder struct {
	// Source is the directory test/localcluster of a checkout.
	Source string
	// Cache is the directory for what is built. Checkouts share it: a program is built once for each state of its module.
	Cache string

	toolchain string
}

// goCommand makes a go command in a directory below Source. Its flags are those of all other builds of the project, so that
// compiled packages are shared; without cgo no C compiler is needed.
func (b *Builder) goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(b.Source, dir)
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off", "CGO_ENABLED=0")
	return cmd
}

// key names the state of everything that goes into a program.
func (b *Builder) key(ctx context.Context, bin Binary) (string, error) {
	if b.toolchain == "" {
		out, err := b.goCommand(ctx, ".", "env", "GOVERSION", "GOOS", "GOARCH").Output()
		if errors.Is(err, exec.ErrNotFound) {
			return "", errors.New("the go command is not on the PATH: install Go, or add it to the PATH, and try again")
		}
		if err != nil {
			return "", fmt.Errorf("go env: %w", err)
		}
		b.toolchain = string(out)
	}
	h := sha256.New()
	// A hash takes whatever is written to it.
	_, _ = fmt.Fprintln(h, b.toolchain, bin.Name, bin.Package, bin.Tags, bin.LDFlags)
	// The module's files pin everything else; a main package of our own lies beside them.
	for _, pattern := range []string{"go.mod", "go.sum", "*.go"} {
		files, err := filepath.Glob(filepath.Join(b.Source, bin.Module, pattern))
		if err != nil {
			return "", err
		}
		for _, name := range files {
			content, err := os.ReadFile(name)
			if err != nil {
				return "", err
			}
			_, _ = fmt.Fprintf(h, "%s %x\n", filepath.Base(name), sha256.Sum256(content))
		}
	}
	return bin.Name + "-" + hex.EncodeToString(h.Sum(nil))[:12], nil
}

// path is where the program of a key is stored.
func (b *Builder) path(key string) string { return filepath.Join(b.Cache, "programs", key) }

func (b *Builder) have(key string) bool {
	info, err := os.Stat(b.path(key))
	return err == nil && info.Mode().IsRegular()
}

// view makes the directory in which programs, given by name and key, have their plain names, and returns it.
func (b *Builder) view(programs []Binary, keys map[string]string) (string, error) {
	h := sha256.New()
	for _, p := range programs {
		_, _ = io.WriteString(h, keys[p.Name]+"\n")
	}
	dir := filepath.Join(b.Cache, "bin", hex.EncodeToString(h.Sum(nil))[:12])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	draft, err := os.MkdirTemp(filepath.Dir(dir), ".new-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(draft) }()
	for _, p := range programs {
		target := filepath.Join("..", "..", "programs", keys[p.Name])
		if err := os.Symlink(target, filepath.Join(draft, p.Name)); err != nil {
			return "", err
		}
	}
	if err := os.Chmod(draft, 0o755); err != nil {
		return "", err
	}
	// Another process may have been quicker, with the same result.
	if err := os.Rename(draft, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, nil
}

// FindSource returns the directory test/localcluster of the checkout that dir lies in.
func FindSource(dir string) (string, error) {
	for d := dir; ; d = filepath.Dir(d) {
		for _, candidate := range []string{d, filepath.Join(d, "test", "localcluster")} {
			if _, err := os.Stat(filepath.Join(candidate, kubernetesModule, "go.mod")); err == nil {
				return candidate, nil
			}
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("%s is not in a checkout of the project: run it there, or name its test/localcluster with --source", dir)
		}
	}
}

// Tail returns the last lines of a text, indented.
func Tail(text []byte, lines int) string {
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return "    " + strings.Join(all[max(0, len(all)-lines):], "\n    ")
}
