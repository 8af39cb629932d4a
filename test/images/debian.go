package images

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// debian is what of Debian's packages an image has, besides a shell and busybox's other programs. Only what its programs
// need is taken from the packages: ffmpeg's take half a gigabyte.
type debian struct {
	// packages are those that apt is asked for.
	packages []string
	// programs, and libraries that programs load by name, are taken with the shared libraries that they are linked with. They may be
	// patterns.
	programs []string
	// trees are files and directories, with all below, that are taken as they are. They may be patterns.
	trees []string
	// links are symbolic links, "target:path".
	links []string
}

// busybox is in each image: its package, and its programs that are put on the PATH.
const busybox = "busybox-static"

var applets = strings.Fields(`
	awk basename cat chmod cmp cp cut date dd df dirname du echo env expr false find grep gzip gunzip head hostname id
	ln ls md5sum mkdir mktemp mv od printf pwd rm rmdir sed seq sh sha256sum sleep sort stat sync tail tar tee test
	touch tr true uname uniq wc which xargs yes
`)

// revision is part of the archives' names; raise it when images have to be made anew though their definitions are the same.
const revision = 1

// triplet is where Debian has this machine's shared libraries.
var triplet = "/usr/lib/" + map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[runtime.GOARCH]

// NoDebian says why images of Debian's programs cannot be made on this machine; empty where they can.
func NoDebian() string {
	for _, program := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			return "images of Debian's programs are made with " + program + ", which is not here"
		}
	}
	if path.Base(triplet) == "lib" {
		return "images of Debian's programs are made for amd64 and arm64 only"
	}
	return ""
}

// Missing says why the image cannot be made on this machine; empty where it can.
func (i Image) Missing() string {
	if i.debian == nil {
		return ""
	}
	return NoDebian()
}

// archive makes the image's archive in the user's cache unless it is there. The packages are those of the day it is made.
func (d *debian) archive(ctx context.Context, root, name, tag string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	definition := sha256.Sum256(fmt.Appendf(nil, "%d %s %v %v %q", revision, tag, *d, applets, runtime.GOARCH))
	archive := filepath.Join(cache, "mcptasks", "images", fmt.Sprintf("%s-%x.tar", name, definition[:6]))
	if _, err := os.Stat(archive); err == nil {
		return archive, nil
	}
	if why := NoDebian(); why != "" {
		return "", errors.New(why)
	}
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil {
		return "", err
	}
	// Others may be making the same archive; what is renamed in the end is whole.
	work, err := os.MkdirTemp(filepath.Dir(archive), name+"-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if work, err = filepath.EvalSymlinks(work); err != nil {
		return "", err
	}
	files := filepath.Join(work, "root")
	if err := d.unpack(ctx, work, files); err != nil {
		return "", err
	}
	args, err := d.contents(files)
	if err != nil {
		return "", err
	}
	out := filepath.Join(work, "image.tar")
	args = append([]string{"run", ".", "--out", out, "--tag", tag, "--user", "65532:65532"}, args...)
	if err := goRun(ctx, filepath.Join(root, "hack/image"), args...); err != nil {
		return "", err
	}
	return archive, os.Rename(out, archive)
}

// unpack downloads the packages with all that they depend on, whatever this machine has installed, and unpacks them.
func (d *debian) unpack(ctx context.Context, work, files string) error {
	debs, status := filepath.Join(work, "debs"), filepath.Join(work, "status")
	err := errors.Join(os.MkdirAll(filepath.Join(debs, "partial"), 0o755), os.WriteFile(status, nil, 0o600))
	if err != nil {
		return err
	}
	download := append([]string{
		"install", "--yes", "--no-install-recommends", "--download-only", "-o", "Dir::State::status=" + status,
		"-o", "Dir::Cache::archives=" + debs, "-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root", busybox,
	}, d.packages...)
	if err := program(ctx, "apt-get", download...); err != nil {
		// The lists of packages may be missing, or older than the packages.
		if updateErr := program(ctx, "apt-get", "update"); updateErr != nil {
			return errors.Join(err, updateErr)
		}
		if err := program(ctx, "apt-get", download...); err != nil {
			return err
		}
	}
	packages, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil {
		return err
	}
	for _, p := range packages {
		if err := program(ctx, "dpkg-deb", "--extract", p, files); err != nil {
			return err
		}
	}
	return nil
}

// contents are the arguments for hack/image that put into the image what it takes of the unpacked packages.
func (d *debian) contents(files string) ([]string, error) {
	args := []string{"--file", filepath.Join(files, "bin/busybox") + ":/usr/bin/busybox", "--symlink", "usr/bin:/bin",
		"--symlink", "usr/lib:/lib", "--dir", "/tmp:1777"}
	for _, applet := range applets {
		args = append(args, "--symlink", "busybox:/usr/bin/"+applet)
	}
	for _, link := range d.links {
		args = append(args, "--symlink", link)
	}
	for _, pattern := range d.trees {
		matches, err := find(files, pattern)
		if err != nil {
			return nil, err
		}
		for _, match := range matches {
			args = append(args, "--file", match+":"+strings.TrimPrefix(match, files))
		}
	}
	l := linker{root: files, found: map[string]string{}}
	for _, pattern := range d.programs {
		matches, err := find(files, pattern)
		if err != nil {
			return nil, err
		}
		for _, match := range matches {
			if err := l.add(strings.TrimPrefix(match, files), match); err != nil {
				return nil, err
			}
		}
	}
	for _, at := range slices.Sorted(l.paths()) {
		args = append(args, "--file", l.found[at]+":"+at)
	}
	return args, nil
}

// find lists the files that a pattern means, at least one.
func find(files, pattern string) ([]string, error) {
	matches, err := filepath.Glob(filepath.Join(files, pattern))
	if err == nil && len(matches) == 0 {
		err = fmt.Errorf("the packages have no %s", pattern)
	}
	return matches, err
}

// A linker finds the files that programs are loaded with, as ld.so does it.
type linker struct {
	root string
	// found are the files in root by their paths in the image.
	found map[string]string
}

func (l *linker) paths() func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for at := range l.found {
			if !yield(at) {
				return
			}
		}
	}
}

// add adds a program or library, file, to be at a path of the image, and all that it needs.
func (l *linker) add(at, file string) error {
	if _, ok := l.found[at]; ok {
		return nil
	}
	l.found[at] = file
	f, err := elf.Open(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", at, err)
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		name := make([]byte, p.Filesz)
		if _, err := p.ReadAt(name, 0); err != nil {
			return fmt.Errorf("read %s: %w", at, err)
		}
		loader := string(bytes.TrimRight(name, "\x00"))
		inImage := loader
		if strings.HasPrefix(loader, "/lib/") {
			inImage = "/usr" + loader // /lib is a link there
		}
		if err := l.add(inImage, filepath.Join(l.root, loader)); err != nil {
			return err
		}
	}
	needed, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("read %s: %w", at, err)
	}
	for _, name := range needed {
		library, err := l.library(name)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		// All are put where the loader looks without being told.
		if err := l.add(path.Join(triplet, name), library); err != nil {
			return err
		}
	}
	return nil
}

// library finds the file of a shared library, also in directories below those that the loader knows: there Debian keeps those
// that a post-install script would have linked to, and the private ones of a package.
func (l *linker) library(name string) (string, error) {
	for _, dir := range []string{"/lib/" + path.Base(triplet), triplet, triplet + "/*"} {
		matches, err := filepath.Glob(filepath.Join(l.root, dir, name))
		if err != nil {
			return "", err
		}
		for _, match := range matches {
			file, err := filepath.EvalSymlinks(match)
			switch {
			case err != nil && !errors.Is(err, fs.ErrNotExist):
				return "", err
			case err == nil && strings.HasPrefix(file, l.root): // and not a file of this machine
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("the packages have no %s", name)
}

// program runs a program; what it printed is part of the error.
func program(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, bytes.TrimSpace(out))
	}
	return nil
}
