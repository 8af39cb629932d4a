// Package image makes container images without a container engine.
package image

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// WriteProgram writes to a file an image, named ref, of one static program of this machine's architecture, in the format of
// docker save.
func WriteProgram(file, ref, program string) error {
	tag, err := name.NewTag(ref)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	entry := "/" + filepath.Base(program)
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		header := &tar.Header{Name: strings.TrimPrefix(entry, "/"), Mode: 0o755, Size: int64(len(content))}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
		return io.NopCloser(&b), w.Close()
	})
	if err != nil {
		return err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{Entrypoint: []string{entry}, WorkingDir: "/", User: "65535:65535"}
	img, err = mutate.ConfigFile(img, config)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(file, tag, img)
}
