package controller

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
				got, err := tail(reader(bytes.NewReader(text[:size])), limit)
				if err != nil {
					t.Fatal(err)
				}
				want := text[max(0, size-int(limit)):size]
				if !bytes.Equal(got.Data, want) || got.Total != int64(size) {
					t.Errorf("%d bytes, limit %d, %s: got %d bytes of %d, or the wrong ones", size, limit, how, len(got.Data), got.Total)
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
	got, err := tail(io.LimitReader(zeros{}, 50<<20), limit)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Data) != limit || cap(got.Data) > 4*limit || got.Total != 50<<20 {
		t.Errorf("%d bytes, room for %d, of %d", len(got.Data), cap(got.Data), got.Total)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// A log that breaks off is not taken for the whole one: it is read again.
func TestTailDoesNotPassOffHalfALog(t *testing.T) {
	broken := errors.New("stream reset")
	_, err := tail(io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken)), 100)
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

func TestPodLogs(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/namespaces/team-a/pods/good/log":
			if got := r.URL.Query(); got.Get("container") != "main" || got.Has("follow") {
				t.Errorf("asked with %v", got)
			}
			_, _ = io.WriteString(w, "0123456789")
		case "/api/v1/namespaces/team-a/pods/gone/log":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		default:
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer api.Close()
	clientset, err := kubernetes.NewForConfig(&rest.Config{Host: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	logs := podLogs{pods: clientset.CoreV1()}
	read := func(pod string) (string, error) {
		out, err := logs.Tail(t.Context(), types.NamespacedName{Namespace: "team-a", Name: pod}, "main", 4)
		return string(out.Data), err
	}
	if got, err := read("good"); got != "6789" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := read("gone"); !apierrors.IsNotFound(err) {
		t.Errorf("a pod that is gone: %v", err)
	}
	if _, err := read("unreachable"); err == nil || apierrors.IsNotFound(err) {
		t.Errorf("a node that does not answer: %v", err)
	}
}
