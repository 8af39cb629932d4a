package images

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestLinker finds what a program of this machine is loaded with.
func TestLinker(t *testing.T) {
	const program = "/usr/bin/env"
	for _, file := range []string{program, path.Join(triplet, "libc.so.6")} {
		if _, err := os.Stat(file); err != nil {
			t.Skip("this is not a Debian machine: ", err)
		}
	}
	l := linker{root: "/", found: map[string]string{}}
	if err := l.add(program, program); err != nil {
		t.Fatal(err)
	}
	found := slices.Sorted(l.paths())
	isLoader := func(at string) bool { return strings.HasPrefix(path.Base(at), "ld-linux") }
	if !slices.Contains(found, path.Join(triplet, "libc.so.6")) || !slices.ContainsFunc(found, isLoader) {
		t.Errorf("found %s; want the loader and libc among it", found)
	}
	if err := l.add("/usr/lib/none", "/usr/lib/none"); err == nil {
		t.Error("a file that is not there was found")
	}
}

// TestImages: an image's files come from one place, and no two images have the same name.
func TestImages(t *testing.T) {
	tags := map[string]bool{}
	for _, i := range All {
		if tags[i.Tag] {
			t.Errorf("two images are called %s", i.Tag)
		}
		tags[i.Tag] = true
		if (i.debian == nil) != (i.module != "") {
			t.Errorf("%s has two origins, or none", i.Tag)
		}
	}
}
