package main

import (
	"archive/tar"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// epoch is the modification time of everything in a layer, so that equal content makes an equal digest.
var epoch = time.Unix(0, 0).UTC()

// entry is one path of a layer. Its zero owner is root.
type entry struct {
	path string // in the image, without the leading slash
	mode fs.FileMode
	// source is the file on this machine that the content comes from; empty for directories and links.
	source string
	// target is what a symbolic link points to.
	target string
}

// filesFrom lists src, a file or a directory with all that is below it, as entries at dst.
func filesFrom(src, dst string) ([]entry, error) {
	var entries []entry
	err := filepath.WalkDir(src, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, name)
		if err != nil {
			return err
		}
		e := entry{path: clean(path.Join(dst, filepath.ToSlash(rel)))}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case info.IsDir():
			e.mode = fs.ModeDir | 0o755
		case info.Mode()&fs.ModeSymlink != 0:
			if e.target, err = os.Readlink(name); err != nil {
				return err
			}
			e.mode = fs.ModeSymlink | 0o777
		case info.Mode().IsRegular():
			e.source, e.mode = name, normalMode(info.Mode())
		default:
			return fmt.Errorf("%s is neither a file, a directory nor a symbolic link", name)
		}
		entries = append(entries, e)
		return nil
	})
	return entries, err
}

// normalMode drops what differs between checkouts and umasks: a file is executable for everybody or for nobody.
func normalMode(m fs.FileMode) fs.FileMode {
	if m&0o111 != 0 {
		return 0o755
	}
	return 0o644
}

func clean(p string) string { return strings.TrimPrefix(path.Clean("/"+p), "/") }

// complete adds the directories above each entry and sorts all of them, so that parents come first.
func complete(entries []entry) ([]entry, error) {
	byPath := map[string]entry{}
	for _, e := range entries {
		if before, ok := byPath[e.path]; ok && (!before.mode.IsDir() || !e.mode.IsDir()) {
			return nil, fmt.Errorf("/%s is given twice", e.path)
		}
		byPath[e.path] = e
	}
	for _, e := range entries {
		for dir := path.Dir(e.path); dir != "."; dir = path.Dir(dir) {
			above, ok := byPath[dir]
			if ok && !above.mode.IsDir() {
				return nil, fmt.Errorf("/%s is inside of /%s, which is not a directory", e.path, dir)
			}
			if !ok {
				byPath[dir] = entry{path: dir, mode: fs.ModeDir | 0o755}
			}
		}
	}
	delete(byPath, "")
	all := make([]entry, 0, len(byPath))
	for _, e := range byPath {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	return all, nil
}

// writeTar writes the entries, in the given order, as an uncompressed tar archive.
func writeTar(w io.Writer, entries []entry) error {
	tw := tar.NewWriter(w)
	for _, e := range entries {
		if err := writeEntry(tw, e); err != nil {
			return fmt.Errorf("/%s: %w", e.path, err)
		}
	}
	return tw.Close()
}

func writeEntry(tw *tar.Writer, e entry) (err error) {
	h := &tar.Header{Name: e.path, Mode: int64(e.mode.Perm()), ModTime: epoch, Format: tar.FormatPAX}
	if e.mode&fs.ModeSticky != 0 {
		h.Mode |= 0o1000
	}
	switch {
	case e.mode.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, e.path+"/"
	case e.mode&fs.ModeSymlink != 0:
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.target
	default:
		f, err := os.Open(e.source)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		h.Typeflag, h.Size = tar.TypeReg, info.Size()
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		_, err = io.Copy(tw, f)
		return err
	}
	return tw.WriteHeader(h)
}
