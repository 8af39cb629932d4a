package podlog

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"testing"
	"testing/iotest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestTailKeepsTheEnd(t *testing.T) {
	text := make([]byte, 100_000)
	for i := range text {
		text[i] = byte('a' + i%26)
	}
	readers := map[string]func(io.Reader) io.Reader{
		"as it comes":       func(r io.Reader) io.Reader { return r },
		"byte by byte":      iotest.OneByteReader,
		"in halves":         iotest.HalfReader,
		"error with data":   iotest.DataErrReader,
		"in awkward pieces": func(r io.Reader) io.Reader { return pieces{r, 7919} },
	}
	for _, size := range []int{0, 1, 9, 10, 11, 19, 20, 21, 32 << 10, 100_000} {
		for _, limit := range []int64{1, 2, 10, 100, 32 << 10, 32<<10 + 1, 100_000, 512 << 10} {
			for how, reader := range readers {
				end := &endKeeper{limit: int(limit)}
				total, err := io.Copy(end, reader(bytes.NewReader(text[:size])))
				if err != nil {
					t.Fatal(err)
				}
				want := text[max(0, size-int(limit)):size]
				if got := end.bytes(); !bytes.Equal(got, want) || total != int64(size) {
					t.Errorf("%d bytes, limit %d, %s: got %d bytes of %d, or the wrong ones", size, limit, how, len(got), total)
				}
			}
		}
	}
}

// pieces reads at most n bytes at a time.
type pieces struct {
	r io.Reader
	n int
}

func (p pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.n)]) }

func TestTailHoldsNoMoreThanItKeeps(t *testing.T) {
	const limit = 4 << 10
	end := &endKeeper{limit: limit}
	total, err := io.Copy(end, io.LimitReader(zeros{}, 50<<20))
	if err != nil {
		t.Fatal(err)
	}
	if len(end.bytes()) != limit || cap(end.data) > 4*limit || total != 50<<20 {
		t.Errorf("%d bytes, room for %d, of %d", len(end.bytes()), cap(end.data), total)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// cluster is an API server with the logs of some pods.
func cluster(t *testing.T) Reader {
	t.Helper()
	refuse := func(w http.ResponseWriter, status int, reason metav1.StatusReason) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: reason, Code: int32(status),
		})
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Get("container") != "main" || query.Has("follow") || query.Has("tailLines") {
			t.Errorf("asked with %v", query)
		}
		text := "0123456789"
		switch path.Base(path.Dir(r.URL.Path)) {
		case "good":
		case "split":
			if query.Get("stream") == "Stderr" {
				text = "error"
			}
		case "broken":
			w.Header().Set("Content-Length", "100")
		case "gone":
			refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
			return
		default:
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if query.Has("stream") && text != "error" {
			refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid) // the feature gate is off
			return
		}
		if limit, err := strconv.Atoi(query.Get("limitBytes")); err == nil {
			text = text[:min(len(text), limit)]
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(api.Close)
	clientset, err := kubernetes.NewForConfig(&rest.Config{Host: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	return Reader{Pods: clientset.CoreV1()}
}

func named(pod string) types.NamespacedName {
	return types.NamespacedName{Namespace: "team-a", Name: pod}
}

func TestTail(t *testing.T) {
	logs := cluster(t)
	if got, err := logs.Tail(t.Context(), named("good"), "main", 4); string(got.Data) != "6789" || got.Total != 10 || err != nil {
		t.Errorf("got %q of %d, %v", got.Data, got.Total, err)
	}
	if _, err := logs.Tail(t.Context(), named("gone"), "main", 4); !apierrors.IsNotFound(err) {
		t.Errorf("a pod that is gone: %v", err)
	}
	for what, pod := range map[string]string{"a node that does not answer": "unreachable", "a log that breaks off": "broken"} {
		if got, err := logs.Tail(t.Context(), named(pod), "main", 4); err == nil || apierrors.IsNotFound(err) {
			t.Errorf("B18 %s: %q, %v", what, got.Data, err)
		}
	}
}

func TestErrors(t *testing.T) {
	logs := cluster(t)
	if got, total, err := logs.Errors(t.Context(), named("split"), "main", 3); string(got) != "ror" || total != 5 || err != nil {
		t.Errorf("got %q of %d, %v", got, total, err)
	}
	if got, _, err := logs.Errors(t.Context(), named("good"), "main", 3); err == nil {
		t.Errorf("a cluster that cannot tell stderr apart: got %q", got)
	}
}

func TestPage(t *testing.T) {
	logs := cluster(t)
	for _, c := range []struct {
		offset, limit int64
		want          string
		more          bool
	}{
		{0, 4, "0123", true}, {4, 4, "4567", true}, {8, 4, "89", false}, {6, 4, "6789", false}, {0, 10, "0123456789", false},
		{0, 100, "0123456789", false}, {10, 4, "", false}, {1 << 40, 4, "", false},
	} {
		got, more, err := logs.Page(t.Context(), named("good"), "main", c.offset, c.limit)
		if string(got) != c.want || more != c.more || err != nil {
			t.Errorf("%d bytes from %d: %q, more %t, %v; want %q, %t", c.limit, c.offset, got, more, err, c.want, c.more)
		}
	}
	if _, _, err := logs.Page(t.Context(), named("gone"), "main", 0, 4); !apierrors.IsNotFound(err) {
		t.Errorf("a pod that is gone: %v", err)
	}
	if got, _, err := logs.Page(t.Context(), named("broken"), "main", 2, 100); err == nil {
		t.Errorf("a log that breaks off: %q", got)
	}
}
