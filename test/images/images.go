// Package images makes the container images of the samples and the test tools: our own static binaries, or programs of Debian's
// with what they need, put into archives by hack/image, without Docker. It knows how an image is made, not where it goes.
package images

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Image is one image.
type Image struct {
	// Tag is the image's name, as pod templates say it.
	Tag string
	// module is the Go module that the binary is built in, pkg the package, both relative: to the repository, to the module.
	module, pkg string
	// files are further files, "source:destination", with the source relative to the repository.
	files []string
	// debian is set for an image of Debian's programs; then the fields above are not.
	debian *debian
}

// The images. All run as user 65532; those of Debian's programs have a shell, and start nothing by themselves.
var (
	// Migrate is test/images/migrate with the migrations of three environments: staging has three, preview has a fourth with
	// bad SQL, production has a fourth that takes about a minute.
	Migrate = Image{
		Tag: "mcptasks.dev/samples/migrate:v1", module: "test/images/migrate", pkg: ".",
		files: []string{
			"test/images/migrate/migrations:/migrations/staging",
			"test/images/migrate/migrations:/migrations/preview",
			"test/images/migrate/preview:/migrations/preview",
			"test/images/migrate/migrations:/migrations/production",
			"test/images/migrate/production:/migrations/production",
		},
	}
	// Toolbox is test/images/toolbox.
	Toolbox = Image{Tag: "mcptasks.dev/samples/toolbox:v1", module: ".", pkg: "./test/images/toolbox"}
	// Busybox has a shell and the usual small programs.
	Busybox = Image{Tag: "mcptasks.dev/samples/busybox:v1", debian: &debian{}}
	// FFmpeg has ffmpeg and ffprobe, with all codecs.
	FFmpeg = Image{Tag: "mcptasks.dev/samples/ffmpeg:v1", debian: &debian{
		packages: []string{"ffmpeg"}, programs: []string{"/usr/bin/ffmpeg", "/usr/bin/ffprobe"},
	}}
	// Build has make and a C compiler, as cc.
	Build = Image{Tag: "mcptasks.dev/samples/build:v1", debian: &debian{
		packages: []string{"make", "tcc", "libc6-dev"}, programs: []string{"/usr/bin/make", "/usr/bin/tcc"},
		trees: []string{
			"/usr/include", triplet + "/tcc", triplet + "/crt1.o", triplet + "/crti.o", triplet + "/crtn.o",
			triplet + "/libc.so", triplet + "/libc_nonshared.a",
		},
		links: []string{"tcc:/usr/bin/cc"},
	}}
	// Perl has perl with the modules for big numbers.
	Perl = Image{Tag: "mcptasks.dev/samples/perl:v1", debian: &debian{
		packages: []string{"perl", "libmath-bigint-gmp-perl"},
		programs: []string{"/usr/bin/perl", triplet + "/perl5/5.*/auto/Math/BigInt/GMP/GMP.so"},
		trees: []string{
			triplet + "/perl-base", triplet + "/perl5/5.*/Math", "/usr/share/perl/5.*.*/Math", "/usr/share/perl/5.??",
		},
	}}
)

// All are all images.
var All = []Image{Migrate, Toolbox, Busybox, FFmpeg, Build, Perl}

// Archive makes the image's archive, from the repository at root, and returns its path: in dir, or, where it is made of Debian's
// packages alone, in the user's cache. It takes seconds where nothing has changed.
func (i Image) Archive(ctx context.Context, root, dir string) (string, error) {
	name, _, _ := strings.Cut(filepath.Base(i.Tag), ":")
	if i.debian != nil {
		archive, err := i.debian.archive(ctx, root, name, i.Tag)
		if err != nil {
			return "", fmt.Errorf("make the image %s: %w", i.Tag, err)
		}
		return archive, nil
	}
	binary := filepath.Join(dir, "bin", name)
	archive := filepath.Join(dir, name+".tar")
	err := goRun(ctx, filepath.Join(root, i.module), "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", binary, i.pkg)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", i.Tag, err)
	}
	args := []string{"run", ".", "--out", archive, "--tag", i.Tag, "--user", "65532:65532",
		"--file", binary + ":/" + name, "--entrypoint", "/" + name}
	for _, f := range i.files {
		args = append(args, "--file", filepath.Join(root, f))
	}
	if err := goRun(ctx, filepath.Join(root, "hack/image"), args...); err != nil {
		return "", fmt.Errorf("make the image %s: %w", i.Tag, err)
	}
	return archive, nil
}

// goRun runs the go command in dir; what it printed is part of the error.
func goRun(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if args[0] == "build" {
		cmd.Env = append(cmd.Env, "GOOS=linux")
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", args[0], err, bytes.TrimSpace(out.Bytes()))
	}
	return nil
}
