// Command image puts static files into a container image, without Docker, a registry or a network: it writes an archive
// that "docker load", "ctr images import" and "crane push" read. The same files always make the same digest.
//
// It knows nothing of this project: make image, the demo and the tests say what goes in. It is a module of its own so that
// its dependencies stay out of the product's go.mod. Run as "go -C hack/image run .", it resolves relative paths from hack/image;
// give it absolute ones.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	s := spec{os: "linux"}
	var out, tag string
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&out, "out", "", "archive to write")
	flags.StringVar(&tag, "tag", "", "name of the image, e.g. example.org/app:v1")
	flags.StringVar(&s.base, "base", "", "archive of the image to build upon (default: an empty image)")
	flags.StringVar(&s.arch, "arch", runtime.GOARCH, "architecture that the files are for")
	flags.StringVar(&s.user, "user", "", "user[:group] that the container runs as")
	flags.StringVar(&s.workdir, "workdir", "", "working directory")
	flags.Func("file", "`SRC:DST`: a file, or a directory with all below it; repeatable", func(v string) error {
		src, dst, err := pair(v)
		if err != nil {
			return err
		}
		entries, err := filesFrom(src, dst)
		s.files = append(s.files, entries...)
		return err
	})
	flags.Func("symlink", "`TARGET:PATH`: a symbolic link at PATH; repeatable", func(v string) error {
		target, at, err := pair(v)
		s.files = append(s.files, entry{path: clean(at), mode: fs.ModeSymlink | 0o777, target: target})
		return err
	})
	flags.Func("dir", "`PATH:MODE`: an empty directory, e.g. /tmp:1777; repeatable", func(v string) error {
		at, octal, err := pair(v)
		if err != nil {
			return err
		}
		mode, err := strconv.ParseUint(octal, 8, 12)
		if err != nil || mode&^0o1777 != 0 {
			return fmt.Errorf("%q is no mode like 755 or 1777", octal)
		}
		m := fs.ModeDir | fs.FileMode(mode).Perm()
		if mode&0o1000 != 0 {
			m |= fs.ModeSticky
		}
		s.files = append(s.files, entry{path: clean(at), mode: m})
		return nil
	})
	flags.Func("entrypoint", "one `WORD` of the entrypoint; repeatable", appendTo(&s.entrypoint))
	flags.Func("cmd", "one `WORD` of the default arguments; repeatable", appendTo(&s.cmd))
	flags.Func("env", "`KEY=VALUE` in the environment; repeatable", appendTo(&s.env))
	flags.Func("label", "`KEY=VALUE` as a label; repeatable", appendTo(&s.labels))
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if out == "" {
		return errors.New("--out is missing")
	}

	img, err := build(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	if err := write(out, tag, img); err != nil {
		return err
	}
	digest, err := img.Digest()
	if err != nil {
		return fmt.Errorf("digest: %w", err)
	}
	_, err = fmt.Fprintf(stdout, "%s %s@%s\n", out, tag, digest)
	return err
}

func appendTo(list *[]string) func(string) error {
	return func(v string) error {
		*list = append(*list, v)
		return nil
	}
}

func pair(v string) (string, string, error) {
	a, b, ok := strings.Cut(v, ":")
	if !ok || a == "" || b == "" {
		return "", "", fmt.Errorf("%q is not of the form A:B", v)
	}
	return a, b, nil
}
