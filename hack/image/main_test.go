package main

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// makeImage runs the command with args and gives the image that it wrote.
func makeImage(t *testing.T, args ...string) (file string, img v1.Image) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "sub", "image.tar")
	args = append([]string{"--out", file, "--tag", "example.org/app:v1"}, args...)
	if err := run(args, io.Discard, io.Discard); err != nil {
		t.Fatalf("image %s: %v", strings.Join(args, " "), err)
	}
	img, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file, img
}

func digest(t *testing.T, img v1.Image) string {
	t.Helper()
	d, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

// content lists the image's merged file system, one "mode path [-> target] [= content]" a line.
func content(t *testing.T, img v1.Image) []string {
	t.Helper()
	r := mutate.Extract(img)
	defer func() { _ = r.Close() }()
	var lines []string
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if err == io.EOF {
			slices.Sort(lines)
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		line := h.FileInfo().Mode().String() + " " + h.Name
		if h.Linkname != "" {
			line += " -> " + h.Linkname
		}
		if h.Typeflag == tar.TypeReg {
			data, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			line += " = " + string(data)
		}
		if h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(time.Unix(0, 0)) {
			t.Errorf("%s: owner %d:%d, time %v; want 0:0 and the epoch", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		lines = append(lines, line)
	}
}

func writeFile(t *testing.T, name, data string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(data), mode); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestImageHoldsWhatWasGiven(t *testing.T) {
	src := t.TempDir()
	app := writeFile(t, filepath.Join(src, "app"), "binary", 0o700)
	tree := filepath.Join(src, "tree")
	if err := os.MkdirAll(filepath.Join(tree, "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(tree, "deep", "data"), "text", 0o600)

	_, img := makeImage(t, "--file", app+":/usr/bin/app", "--file", tree+":/srv", "--symlink", "app:/usr/bin/sh",
		"--dir", "/tmp:1777", "--entrypoint", "/usr/bin/app", "--entrypoint", "serve", "--cmd", "now",
		"--user", "65532:65532", "--workdir", "/srv", "--env", "A=1", "--label", "l=v", "--arch", "amd64")

	want := []string{
		"-rw-r--r-- srv/deep/data = text",
		"-rwxr-xr-x usr/bin/app = binary",
		"Lrwxrwxrwx usr/bin/sh -> app",
		"drwxr-xr-x srv", "drwxr-xr-x srv/deep", "drwxr-xr-x usr", "drwxr-xr-x usr/bin",
		"dtrwxrwxrwx tmp",
	}
	slices.Sort(want)
	if got := content(t, img); !slices.Equal(got, want) {
		t.Errorf("files:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	cf, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := cf.Config
	if cf.OS != "linux" || cf.Architecture != "amd64" || c.User != "65532:65532" || c.WorkingDir != "/srv" ||
		!slices.Equal(c.Entrypoint, []string{"/usr/bin/app", "serve"}) || !slices.Equal(c.Cmd, []string{"now"}) ||
		!slices.Equal(c.Env, []string{"A=1"}) || c.Labels["l"] != "v" {
		t.Errorf("configuration: %s/%s %+v", cf.OS, cf.Architecture, c)
	}
}

func TestSameFilesSameDigest(t *testing.T) {
	dir := t.TempDir()
	a := writeFile(t, filepath.Join(dir, "a"), "A", 0o644)
	b := writeFile(t, filepath.Join(dir, "b"), "B", 0o755)
	_, first := makeImage(t, "--file", a+":/a", "--file", b+":/b")

	if err := os.Chtimes(a, time.Now(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(a, 0o600); err != nil {
		t.Fatal(err)
	}
	_, second := makeImage(t, "--file", b+":/b", "--file", a+":/a")
	if digest(t, first) != digest(t, second) {
		t.Error("the digest depends on times, umask or the order of arguments")
	}

	writeFile(t, a, "other", 0o600)
	_, third := makeImage(t, "--file", a+":/a", "--file", b+":/b")
	if digest(t, third) == digest(t, first) {
		t.Error("the digest does not depend on the content")
	}
}

func TestBaseIsKeptBelow(t *testing.T) {
	dir := t.TempDir()
	one := writeFile(t, filepath.Join(dir, "one"), "1", 0o644)
	two := writeFile(t, filepath.Join(dir, "two"), "2", 0o644)
	base, _ := makeImage(t, "--file", one+":/one", "--file", one+":/both", "--env", "A=1", "--env", "B=1",
		"--entrypoint", "/one", "--cmd", "x", "--user", "1")
	_, img := makeImage(t, "--base", base, "--file", two+":/two", "--file", two+":/both", "--env", "A=2", "--entrypoint", "/two")

	want := []string{"-rw-r--r-- both = 2", "-rw-r--r-- one = 1", "-rw-r--r-- two = 2"}
	if got := content(t, img); !slices.Equal(got, want) {
		t.Errorf("files: %q, want %q", got, want)
	}
	cf, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := cf.Config; c.User != "1" || !slices.Equal(c.Env, []string{"A=2", "B=1"}) ||
		!slices.Equal(c.Entrypoint, []string{"/two"}) || len(c.Cmd) != 0 {
		t.Errorf("configuration: %+v; a new entrypoint drops the base's arguments, the rest is kept", c)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "f"), "x", 0o644)
	out := filepath.Join(dir, "out.tar")
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"no out", []string{"--tag", "app:v1"}, "--out is missing"},
		{"no tag", []string{"--out", out}, "--tag is missing"},
		{"bad tag", []string{"--out", out, "--tag", "A b"}, "tag"},
		{"no such file", []string{"--out", out, "--tag", "app:v1", "--file", dir + "/none:/x"}, "no such file"},
		{"half a pair", []string{"--out", out, "--tag", "app:v1", "--file", file}, "form A:B"},
		{"path twice", []string{"--out", out, "--tag", "app:v1", "--file", file + ":/x", "--file", file + ":/x"}, "given twice"},
		{"below a file", []string{"--out", out, "--tag", "app:v1", "--file", file + ":/x", "--file", file + ":/x/y"},
			"not a directory"},
		{"bad mode", []string{"--out", out, "--tag", "app:v1", "--dir", "/tmp:rwx"}, "mode"},
		{"bad env", []string{"--out", out, "--tag", "app:v1", "--env", "A"}, "KEY=VALUE"},
		{"no base", []string{"--out", out, "--tag", "app:v1", "--base", dir + "/none.tar"}, "base image"},
		{"argument", []string{"--out", out, "--tag", "app:v1", "stray"}, "unexpected argument"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var stderr bytes.Buffer
			err := run(tc.args, io.Discard, &stderr)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("an archive was written all the same")
			}
		})
	}
}
