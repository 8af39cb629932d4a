package endpoint_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/mcptasks/mcptasks/internal/mcp/endpoint"
	"github.com/mcptasks/mcptasks/internal/store"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// BenchmarkGetTask is the chain of handlers alone, from a request's headers to the last byte of its answer: what a profile of
// polling needs. Ratios to what cannot be avoided are test/bench's.
func BenchmarkGetTask(b *testing.B) {
	cluster := storetest.New(b, tools()...)
	cluster.Review = believe
	health := store.NewHealth(nil)
	informers := cluster.NewCache(b, func(source toolscache.ListerWatcher, object runtime.Object) toolscache.SharedIndexInformer {
		return health.NewInformer(source, object, 0, toolscache.Indexers{})
	}, store.CacheOptions().Transform)
	handler, err := endpoint.NewHandler(context.Background(),
		endpoint.Cluster{Client: cluster.Live, Live: cluster.Live, Cache: informers, Health: health},
		endpoint.Options{CatalogNamespace: "mcptasks", Audience: "mcptasks", RequestsPerSecond: 1e9, Burst: 1e9, FailuresPerSecond: 50,
			FailureBurst: 500},
		prometheus.NewRegistry(), logr.FromSlogHandler(slog.NewJSONHandler(io.Discard, nil)))
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	client := &mcpclient.Client{URL: server.URL + endpoint.Path, Token: alice}
	call, err := client.CallTool(b.Context(), "slow", map[string]any{})
	if err != nil {
		b.Fatal(err)
	}
	cluster.SetStatus(b, "team-a", call.Task.TaskID, says("Running: 128 of 342 tests."))
	body, header, err := client.Encode("tasks/get", call.Task.TaskID, map[string]any{"taskId": call.Task.TaskID})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		request := httptest.NewRequest(http.MethodPost, endpoint.Path, bytes.NewReader(body))
		request.Header = header
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		if recorder.Code != http.StatusOK {
			b.Fatalf("HTTP %d: %s", recorder.Code, recorder.Body)
		}
	}
}
