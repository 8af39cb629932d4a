package controller

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/mcptasks/mcptasks/internal/job"
)

// LogReader reads the logs of containers.
type LogReader interface {
	// Tail reads the last limit bytes of the log of a container that has ended. An error means that it could not be read
	// this time; one that apierrors.IsNotFound tells apart, that it never will be.
	Tail(ctx context.Context, pod types.NamespacedName, container string, limit int64) (job.Output, error)
}

// podLogs reads logs through the API server.
type podLogs struct {
	pods corev1client.PodsGetter
}

// Tail reads all of the log and keeps its end: the API server can count off lines from the end, but not bytes.
func (l podLogs) Tail(ctx context.Context, pod types.NamespacedName, container string, limit int64) (job.Output, error) {
	stream, err := l.pods.Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container}).Stream(ctx)
	if err != nil {
		return job.Output{}, fmt.Errorf("open the log: %w", err)
	}
	output, err := tail(stream, limit)
	if err = errors.Join(err, stream.Close()); err != nil {
		return job.Output{}, fmt.Errorf("read the log: %w", err)
	}
	return output, nil
}

// tail reads r to its end and keeps the last limit bytes.
func tail(r io.Reader, limit int64) (job.Output, error) {
	end := &endKeeper{limit: int(limit)}
	total, err := io.Copy(end, r)
	if err != nil {
		return job.Output{}, err
	}
	return job.Output{Data: end.bytes(), Total: total}, nil
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
