package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// spec says what an image holds.
type spec struct {
	// base is an image archive to build upon; empty: nothing.
	base string
	// os and arch are the platform the files are for.
	os, arch string
	// files become the image's one new layer.
	files []entry
	// The rest replaces the base's configuration where it is set; env and labels are added to it.
	entrypoint, cmd []string
	user, workdir   string
	env, labels     []string // KEY=VALUE
}

// build makes the image in memory. Equal specs with equal files make images with an equal digest.
func build(s spec) (v1.Image, error) {
	img := empty.Image
	if s.base != "" {
		var err error
		if img, err = tarball.ImageFromPath(s.base, nil); err != nil {
			return nil, fmt.Errorf("base image %s: %w", s.base, err)
		}
	}
	if len(s.files) > 0 {
		layer, err := newLayer(s.files)
		if err != nil {
			return nil, err
		}
		img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{
			Created: v1.Time{Time: epoch}, CreatedBy: "hack/image",
		}})
		if err != nil {
			return nil, fmt.Errorf("append the layer: %w", err)
		}
	}
	return configure(img, s)
}

func newLayer(files []entry) (v1.Layer, error) {
	entries, err := complete(files)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) {
		r, w := io.Pipe()
		go func() { w.CloseWithError(writeTar(w, entries)) }()
		return r, nil
	}
	layer, err := tarball.LayerFromOpener(open, tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("make the layer: %w", err)
	}
	return layer, nil
}

func configure(img v1.Image, s spec) (v1.Image, error) {
	cf, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	cf = cf.DeepCopy()
	cf.OS, cf.Architecture, cf.Created = s.os, s.arch, v1.Time{Time: epoch}
	c := &cf.Config
	if s.entrypoint != nil {
		c.Entrypoint, c.Cmd = s.entrypoint, nil
	}
	if s.cmd != nil {
		c.Cmd = s.cmd
	}
	if s.user != "" {
		c.User = s.user
	}
	if s.workdir != "" {
		c.WorkingDir = s.workdir
	}
	for _, kv := range s.env {
		if c.Env, err = setEnv(c.Env, kv); err != nil {
			return nil, err
		}
	}
	for _, kv := range s.labels {
		key, value, ok := strings.Cut(kv, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("label %q is not KEY=VALUE", kv)
		}
		if c.Labels == nil {
			c.Labels = map[string]string{}
		}
		c.Labels[key] = value
	}
	img, err = mutate.ConfigFile(img, cf)
	if err != nil {
		return nil, fmt.Errorf("set the configuration: %w", err)
	}
	return img, nil
}

// setEnv sets KEY=VALUE in env, in place of an earlier value of KEY.
func setEnv(env []string, kv string) ([]string, error) {
	key, _, ok := strings.Cut(kv, "=")
	if !ok || key == "" {
		return nil, fmt.Errorf("environment %q is not KEY=VALUE", kv)
	}
	for i, old := range env {
		if strings.HasPrefix(old, key+"=") {
			env[i] = kv
			return env, nil
		}
	}
	return append(env, kv), nil
}

// write stores the image under its tag as an archive that docker load, ctr images import and crane push read.
func write(file, tag string, img v1.Image) error {
	if tag == "" {
		return errors.New("--tag is missing")
	}
	ref, err := name.NewTag(tag)
	if err != nil {
		return fmt.Errorf("tag: %w", err)
	}
	if err := tarball.WriteToFile(file, ref, img); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
