package methods

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/auth"
	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
	"github.com/mcptasks/mcptasks/internal/store"
)

// Logs read the logs of containers.
type Logs interface {
	// Page reads at most limit bytes of a log, beginning with the one at offset, and whether more follow. An error that
	// apierrors.IsNotFound tells apart means that the pod is gone.
	Page(ctx context.Context, pod types.NamespacedName, container string, offset, limit int64) (data []byte, more bool, err error)
}

const (
	// pageBytes is how much of a log one answer holds.
	pageBytes = 256 << 10
	// maxReading is how many logs are read at a time, so that they take neither our memory nor the nodes'; others wait.
	maxReading = 8
	// readTimeout is how long one of them may take, the wait included.
	readTimeout = 30 * time.Second
)

// HasResources reports whether resources are offered.
func (s *Service) HasResources() bool { return s.logs != nil }

// ListResources checks the cursor of a list of resources or templates. All of them have one page, and the one of resources is
// empty: a list of logs would be one of tasks, which the Tasks extension leaves out on purpose.
func (s *Service) ListResources(cursor json.RawMessage) error {
	if after, err := readCursor(cursor); err != nil || after != "" {
		return wire.InvalidParams("Invalid cursor: this list has one page, which needs none")
	}
	return nil
}

// ResourceTemplates are all resources there are: the logs of tasks.
func (s *Service) ResourceTemplates() []wire.ResourceTemplate {
	return []wire.ResourceTemplate{{
		URITemplate: job.LogURITemplate,
		Name:        "log",
		Title:       "Log of a task",
		Description: "All that the tool of a finished task has printed, in pages; there for as long as the task's Job is kept.",
		MIMEType:    job.LogMIMEType,
	}}
}

// ReadResource reads a page of the log of one of the caller's finished tasks. A log that is longer goes on behind it, where a
// mark at its end and the page's _meta say.
func (s *Service) ReadResource(ctx context.Context, caller auth.Caller, uri string) (wire.ResourceContents, error) {
	id, offset, ok := job.ParseLogURI(uri)
	if !ok {
		return wire.ResourceContents{}, wire.ResourceNotFound(uri, wire.NoSuchResource)
	}
	t, err := s.tasks.Look(ctx, scopeOf(caller), id)
	if err == nil && !t.Status.State.Terminal() {
		// Another replica may have shown the end already.
		t, err = s.tasks.LookLive(ctx, scopeOf(caller), id)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return wire.ResourceContents{}, wire.ResourceNotFound(uri, wire.NoSuchResource)
	case err != nil:
		return wire.ResourceContents{}, err
	case !t.Status.State.Terminal():
		return wire.ResourceContents{}, wire.ResourceNotFound(uri, "The task is still at work. Its log can be read when it has ended")
	case t.Status.Log == nil:
		return wire.ResourceContents{}, wire.ResourceNotFound(uri, "There is no log of this task that could be read")
	}
	data, more, err := s.readLog(ctx, t, offset)
	if err != nil {
		return wire.ResourceContents{}, err
	}
	switch {
	case data == nil, offset == 0 && job.NoLog(data):
		return wire.ResourceContents{}, wire.ResourceNotFound(uri,
			"The log is gone: Kubernetes removes a Job and its log some time after the end. The task still has its result")
	case offset > 0 && len(data) == 0:
		return wire.ResourceContents{}, wire.ResourceNotFound(uri, fmt.Sprintf("The log has no more than %d bytes", offset))
	}
	return page(uri, id, offset, data, more), nil
}

// readLog reads a page of a log; nil: it is gone.
func (s *Service) readLog(ctx context.Context, t *v1alpha1.MCPTask, offset int64) (data []byte, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return nil, false, fmt.Errorf("wait to read a log: %w", context.Cause(ctx))
	}
	pod := types.NamespacedName{Namespace: t.Namespace, Name: t.Status.Log.Pod}
	data, more, err = s.logs.Page(ctx, pod, t.Status.Log.Container, offset, pageBytes)
	switch {
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case apierrors.IsForbidden(err):
		return nil, false, wire.Internal("", "The endpoint has no right to read logs in this tenant; the platform team can give it")
	case err != nil:
		return nil, false, fmt.Errorf("log of task %s: %w", t.Name, err)
	case data == nil:
		data = []byte{}
	}
	return data, more, nil
}

// page is a piece of a log as contents. One that goes on ends with a line or at least a character.
func page(uri, id string, offset int64, data []byte, more bool) wire.ResourceContents {
	contents := wire.ResourceContents{URI: uri, MIMEType: job.LogMIMEType}
	if !more {
		contents.Text = job.Text(data)
		return contents
	}
	data = wholeLines(data)
	next := job.LogURI(id, offset+int64(len(data)))
	contents.Text = job.Text(data) + fmt.Sprintf("\n[The log goes on in %s]", next)
	contents.Meta = &wire.PageMeta{Next: next}
	return contents
}

// wholeLines is data up to its last line end, where not too much is lost by that, or else to its last whole character.
func wholeLines(data []byte) []byte {
	if end := bytes.LastIndexByte(data, '\n') + 1; end > len(data)/2 {
		return data[:end]
	}
	for n := 1; n < utf8.UTFMax && n < len(data); n++ {
		if last := data[len(data)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return data[:len(data)-n]
			}
			break
		}
	}
	return data
}
