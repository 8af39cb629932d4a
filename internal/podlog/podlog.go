// Package podlog reads what containers have written, through the API server: for the controller, which makes results of it, and
// for the endpoint, which hands it out. It holds no more of a log than it was asked for, however long that is.
//
// It knows pods, and nothing of tasks. What Kubernetes keeps of a log is what its node does: the part since the last rotation, by
// default up to about 10 MiB; nothing says whether there was more.
package podlog

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"

	"github.com/mcptasks/mcptasks/internal/job"
)

// Reader reads logs. Its errors are those of the API server: one that apierrors.IsNotFound tells apart means that the pod is
// gone, every other one that its log could not be read this time.
type Reader struct {
	// Pods are where the logs are.
	Pods corev1client.PodsGetter
}

// Tail reads the last limit bytes of the log of a container that has ended. It reads all of the log for that: the API server can
// count off lines from the end, but not bytes.
func (r Reader) Tail(ctx context.Context, pod types.NamespacedName, container string, limit int64) (job.Output, error) {
	data, total, err := r.tail(ctx, pod, &corev1.PodLogOptions{Container: container}, limit)
	return job.Output{Data: data, Total: total}, err
}

// Errors reads the last limit bytes of what a container that has ended wrote to stderr, and how many there were. It fails where
// the cluster keeps no streams apart, which is what Kubernetes does by default (feature gate PodLogsQuerySplitStreams).
func (r Reader) Errors(ctx context.Context, pod types.NamespacedName, container string, limit int64) ([]byte, int64, error) {
	return r.tail(ctx, pod, &corev1.PodLogOptions{Container: container, Stream: ptr.To(corev1.LogStreamStderr)}, limit)
}

func (r Reader) tail(
	ctx context.Context, pod types.NamespacedName, options *corev1.PodLogOptions, limit int64,
) (data []byte, total int64, err error) {
	end := &endKeeper{limit: int(limit)}
	err = r.stream(ctx, pod, options, func(stream io.Reader) (err error) {
		total, err = io.Copy(end, stream)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return end.bytes(), total, nil
}

// Page reads at most limit bytes of a log, beginning with the one at offset, and whether more follow. What lies before is read
// too: the API server cannot skip bytes.
func (r Reader) Page(
	ctx context.Context, pod types.NamespacedName, container string, offset, limit int64,
) (data []byte, more bool, err error) {
	// One byte more tells whether there is more.
	enough := offset + limit + 1
	err = r.stream(ctx, pod, &corev1.PodLogOptions{Container: container, LimitBytes: &enough}, func(stream io.Reader) error {
		if _, err := io.CopyN(io.Discard, stream, offset); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		data, err = io.ReadAll(io.LimitReader(stream, limit+1))
		return err
	})
	if err != nil {
		return nil, false, err
	}
	more = int64(len(data)) > limit
	return data[:min(int64(len(data)), limit)], more, nil
}

// stream lets read have a log, and does not take one that broke off for the whole.
func (r Reader) stream(
	ctx context.Context, pod types.NamespacedName, options *corev1.PodLogOptions, read func(io.Reader) error,
) error {
	stream, err := r.Pods.Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(ctx)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	if err = errors.Join(read(stream), stream.Close()); err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	return nil
}

// endKeeper is a writer that keeps the last limit bytes, and holds not much more than twice as many.
type endKeeper struct {
	limit int
	data  []byte
}

// Write never fails.
func (k *endKeeper) Write(p []byte) (int, error) {
	n := len(p)
	if n > k.limit {
		p = p[n-k.limit:]
	}
	if len(k.data)+len(p) > 2*k.limit {
		k.data = k.data[:copy(k.data, k.bytes())]
	}
	k.data = append(k.data, p...)
	return n, nil
}

func (k *endKeeper) bytes() []byte { return k.data[max(0, len(k.data)-k.limit):] }
