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
	ring := make([]byte, 0, min(limit, 32<<10))
	var total int64
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		ring = keepEnd(ring, buf[:n], int(limit), total)
		total += int64(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return job.Output{}, err
		}
	}
	if total > limit { // The oldest byte is where the next one would have gone.
		at := int(total % limit)
		ring = append(append(make([]byte, 0, limit), ring[at:]...), ring[:at]...)
	}
	return job.Output{Data: ring, Total: total}, nil
}

// keepEnd writes data, which follows total bytes, into the ring of at most limit bytes.
func keepEnd(ring, data []byte, limit int, total int64) []byte {
	if skip := len(data) - limit; skip > 0 {
		data, total = data[skip:], total+int64(skip)
	}
	if room := limit - len(ring); room > 0 {
		n := min(room, len(data))
		ring, data, total = append(ring, data[:n]...), data[n:], total+int64(n)
	}
	for len(data) > 0 {
		n := copy(ring[int(total%int64(limit)):], data)
		data, total = data[n:], total+int64(n)
	}
	return ring
}
