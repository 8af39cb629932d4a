package endpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/mcp/endpoint"
	"github.com/mcptasks/mcptasks/internal/store/storetest"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// podLogs are the logs of the pods of a test, by pod and container.
type podLogs struct {
	mu   sync.Mutex
	text map[string]string
	err  error
}

func (l *podLogs) set(pod, text string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text, l.err = map[string]string{pod: text}, err
}

// Page implements methods.Logs.
func (l *podLogs) Page(
	_ context.Context, pod types.NamespacedName, container string, offset, limit int64,
) (data []byte, more bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, ok := l.text[pod.String()+"/"+container]
	switch {
	case l.err != nil:
		return nil, false, l.err
	case !ok:
		return nil, false, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, pod.Name)
	}
	text = text[min(offset, int64(len(text))):]
	return []byte(text[:min(limit, int64(len(text)))]), int64(len(text)) > limit, nil
}

func servingLogs(o *endpoint.Options) { o.ServeLogs = true }

// withLog ends alice's task of the tool "slow" with a log, and returns its id.
func (f *fixture) withLog(t *testing.T, text string) string {
	t.Helper()
	call, err := f.client(alice).CallTool(t.Context(), "slow", nil)
	if err != nil {
		t.Fatal(err)
	}
	id := call.Task.TaskID
	f.cluster.SetStatus(t, "team-a", id, func(s *v1alpha1.MCPTaskStatus) {
		storetest.Completed(textResult("end"))(s)
		s.Log = &v1alpha1.LogReference{Pod: id + "-x", Container: "main"}
	})
	f.logs.set("team-a/"+id+"-x/main", text, nil)
	return id
}

// contents are those of resources/read.
type contents struct {
	URI, MIMEType, Text string
	Meta                map[string]string `json:"_meta"`
}

// readResource reads a resource that has one entry.
func readResource(t *testing.T, c *mcpclient.Client, uri string) (contents, error) {
	t.Helper()
	raw, err := c.Request(t.Context(), "resources/read", uri, map[string]any{"uri": uri})
	if err != nil {
		return contents{}, err
	}
	var result struct {
		ResultType, CacheScope string
		TTLMs                  int64
		Contents               []contents
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatal(err)
	}
	if result.ResultType != "complete" || result.CacheScope != "private" || result.TTLMs <= 0 || len(result.Contents) != 1 {
		t.Errorf("S-70, S-73: the result is %.300s", raw)
	}
	if got := result.Contents[0]; got.URI != uri || got.MIMEType != "text/plain" {
		t.Errorf("the contents are %.300s", raw)
	}
	return result.Contents[0], nil
}

func TestResources_S70_S89(t *testing.T) {
	f := newFixture(t, servingLogs)
	c := f.client(alice)
	for method, want := range map[string][]string{
		"server/discover": {`"resources":{}`},
		"resources/list":  {`"resources":[]`, `"ttlMs":3600000`, `"cacheScope":"private"`, `"resultType":"complete"`},
		"resources/templates/list": {
			`"resourceTemplates":[{"uriTemplate":"mcptasks:///{taskId}/log{?offset}","name":"log"`, `"ttlMs":3600000`,
			`"cacheScope":"public"`, `"resultType":"complete"`,
		},
	} {
		raw, err := c.Request(t.Context(), method, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(string(raw), part) {
				t.Errorf("%s: %s in %s", method, part, raw)
			}
		}
	}
	t.Run("S-74 cursors", func(t *testing.T) {
		for _, method := range []string{"resources/list", "resources/templates/list"} {
			if _, err := c.Request(t.Context(), method, "", map[string]any{"cursor": ""}); err != nil {
				t.Errorf("%s, empty cursor: %v", method, err)
			}
			var e *mcpclient.Error
			_, err := c.Request(t.Context(), method, "", map[string]any{"cursor": "YWZ0ZXI6eA"})
			if !errors.As(err, &e) || e.Code != -32602 {
				t.Errorf("%s, another cursor: %v", method, err)
			}
		}
	})
	t.Run("a log", func(t *testing.T) {
		id := f.withLog(t, "one\n\x00two\xff\n")
		got, err := readResource(t, c, "mcptasks:///"+id+"/log")
		if err != nil || got.Text != "one\n\uFFFDtwo\uFFFD\n" || got.Meta != nil {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("an empty log", func(t *testing.T) {
		id := f.withLog(t, "")
		if got, err := readResource(t, c, "mcptasks:///"+id+"/log"); err != nil || got.Text != "" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("a log in pages", func(t *testing.T) {
		for name, line := range map[string]string{"lines": "0123456789\n", "a line": "äöü🐈", "no text": "\xff\xff\xff"} {
			text := strings.Repeat(line, 700<<10/len(line))
			id := f.withLog(t, text)
			uri, read, pages := "mcptasks:///"+id+"/log", "", 0
			for uri != "" {
				got, err := readResource(t, c, uri)
				if err != nil {
					t.Fatal(err)
				}
				next := got.Meta["mcptasks.dev/next"]
				page, marked := strings.CutSuffix(got.Text, "\n[The log goes on in "+next+"]")
				if marked != (next != "") || next != "" && name == "lines" && !strings.HasSuffix(page, "\n") {
					t.Errorf("%s: page %d ends with %q, the next is %q", name, pages, got.Text[len(got.Text)-80:], next)
				}
				read, uri, pages = read+page, next, pages+1
			}
			if want := strings.ReplaceAll(text, "\xff", "\uFFFD"); read != want || pages != 3 {
				t.Errorf("%s: %d pages, %d bytes of %d", name, pages, len(read), len(want))
			}
		}
	})
}

// TestResourcesThatCannotBeRead: what there is nothing of is an error with the URI and words, and never an empty list.
func TestResourcesThatCannotBeRead_S89(t *testing.T) {
	f := newFixture(t, servingLogs)
	c := f.client(alice)
	read := func(t *testing.T, c *mcpclient.Client, uri string) *mcpclient.Error {
		t.Helper()
		var e *mcpclient.Error
		if got, err := readResource(t, c, uri); !errors.As(err, &e) {
			t.Fatalf("%s: %+v, %v", uri, got, err)
		}
		return e
	}
	missing := func(t *testing.T, c *mcpclient.Client, uri, words string) {
		t.Helper()
		e := read(t, c, uri)
		data, err := json.Marshal(map[string]string{"uri": uri})
		if err != nil || e.Code != -32602 || e.HTTPStatus != http.StatusBadRequest || string(e.Data) != string(data) {
			t.Errorf("%s: %v with %s", uri, e, e.Data)
		}
		if !strings.Contains(e.Message, words) {
			t.Errorf("%s: %q does not say %q", uri, e.Message, words)
		}
	}
	id := f.withLog(t, "hello")
	uri := "mcptasks:///" + id + "/log"
	t.Run("unknown", func(t *testing.T) {
		for _, uri := range []string{"test://nothing", "mcptasks:///" + id, "mcptasks:///" + id + "/log/0", "mcptasks:///x/log", ""} {
			if uri == "" { // Mcp-Name cannot be left out, and is empty
				continue
			}
			missing(t, c, uri, "Resource not found")
		}
	})
	t.Run("A08 foreign", func(t *testing.T) {
		nobody := "mcptasks:///t-" + strings.Repeat("a", len(id)-2) + "/log"
		for _, token := range []string{bob, mallory} {
			var answers []string
			for _, uri := range []string{uri, nobody} {
				body, header, err := f.client(token).Encode("resources/read", uri, map[string]any{"uri": uri})
				if err != nil {
					t.Fatal(err)
				}
				got := f.do(t, http.MethodPost, f.url, string(body), header)
				answers = append(answers, http.StatusText(got.status)+strings.ReplaceAll(got.body, uri, "URI"))
			}
			if answers[0] != answers[1] || !strings.Contains(answers[0], "Resource not found") {
				t.Errorf("%s: a foreign log gets %s, an unknown one %s", token, answers[0], answers[1])
			}
		}
	})
	t.Run("behind its end", func(t *testing.T) { missing(t, c, uri+"?offset=5", "no more than 5 bytes") })
	t.Run("with its Job gone", func(t *testing.T) {
		f.logs.set("other", "", nil)
		missing(t, c, uri, "The log is gone")
	})
	t.Run("B18 of which the kubelet says that it is gone", func(t *testing.T) {
		f.logs.set("team-a/"+id+"-x/main", "unable to retrieve container logs for containerd://0af7", nil)
		missing(t, c, uri, "The log is gone")
	})
	t.Run("without right", func(t *testing.T) {
		f.logs.set("", "", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "x", errors.New("no")))
		if e := read(t, c, uri); e.Code != -32603 || !strings.Contains(e.Message, "no right to read logs") {
			t.Errorf("%v", e)
		}
	})
	t.Run("B18 of a node that does not answer", func(t *testing.T) {
		f.logs.set("", "", errors.New("dial tcp 10.0.0.1:10250: connection refused"))
		e := read(t, c, uri)
		if e.Code != -32603 || strings.Contains(e.Message, "10.0.0.1") || !strings.Contains(f.log.String(), "10.0.0.1") {
			t.Errorf("%v; the log says %s", e, f.log)
		}
	})
	t.Run("while the task is at work", func(t *testing.T) {
		call, err := c.CallTool(t.Context(), "slow", nil)
		if err != nil {
			t.Fatal(err)
		}
		missing(t, c, "mcptasks:///"+call.Task.TaskID+"/log", "still at work")
	})
	t.Run("of a task without one", func(t *testing.T) {
		call, err := c.CallTool(t.Context(), "slow", nil)
		if err != nil {
			t.Fatal(err)
		}
		f.cluster.SetStatus(t, "team-a", call.Task.TaskID, storetest.Completed(textResult("end")))
		missing(t, c, "mcptasks:///"+call.Task.TaskID+"/log", "no log of this task")
	})
}

func TestResourceHeaders_S25(t *testing.T) {
	f := newFixture(t, servingLogs)
	uri := "mcptasks:///" + f.withLog(t, "hello") + "/log"
	good := message("resources/read", plain, `"uri":"`+uri+`"`).with("Mcp-Name", uri)
	for name, test := range map[string]struct {
		request request
		status  int
		code    int
	}{
		"right":               {good, 200, 0},
		"S-28 encoded":        {good.with("Mcp-Name", "=?base64?bWNwdGFza3M6Ly8vPz8/?="), 400, -32020},
		"no name":             {good.with("Mcp-Name", ""), 400, -32020},
		"another name":        {good.with("Mcp-Name", uri+"x"), 400, -32020},
		"no URI":              {message("resources/read", plain), 400, -32602},
		"URI of another type": {message("resources/read", plain, `"uri":7`), 400, -32602},
	} {
		got := f.do(t, http.MethodPost, f.url, test.request.body, test.request.header)
		_, code, message, _ := got.rpc(t)
		if got.status != test.status || code != test.code {
			t.Errorf("%s: HTTP %d, %d %s", name, got.status, code, message)
		}
	}
}

func TestResourcesOfLegacyClients_S63(t *testing.T) {
	f := newFixture(t, servingLogs)
	uri := "mcptasks:///" + f.withLog(t, "hello") + "/log"
	request := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `}}`
	}
	for _, version := range []string{"2025-11-25", "2025-06-18", "2025-03-26", ""} {
		for body, want := range map[string]string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},
				"clientInfo":{"name":"old","version":"1"}}}`: `"capabilities":{"resources":{},"tools":{}}`,
			request("resources/list", ``):                        `"resources":[]`,
			`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`: `"resources":[]`,
			request("resources/list", `"cursor":"x"`):            `"code":-32602`,
			request("resources/templates/list", ``):              `"uriTemplate":"mcptasks:///{taskId}/log{?offset}"`,
			request("resources/read", `"uri":"`+uri+`"`):         `"text":"hello"`,
			request("resources/read", `"uri":"x://y"`):           `"code":-32602`,
			request("resources/subscribe", `"uri":"`+uri+`"`):    `"code":-32601`,
		} {
			if got := f.legacy(t, version, body); got.status != http.StatusOK || !strings.Contains(got.body, want) {
				t.Errorf("%q, %s: HTTP %d, %s", version, body, got.status, got.body)
			}
		}
	}
}

// TestLinksOfOldClients: content of type resource_link came with 2025-06-18; before, clients may refuse a result that has some.
func TestLinksOfOldClients(t *testing.T) {
	f := newFixture(t)
	const link = `{"type":"resource_link","uri":"mcptasks:///t-1/log","name":"log","title":"The log"}`
	f.play(t, func(id string) {
		f.cluster.SetStatus(t, "team-a", id, storetest.Completed(`{"resultType":"complete","content":[{"type":"text","text":"<1>"},`+
			link+`],"structuredContent":{"n":9007199254740993},"isError":false}`))
	})
	for version, want := range map[string]string{
		"2025-11-25": link, "2025-06-18": link,
		"2025-03-26": `{"text":"The log: mcptasks:///t-1/log","type":"text"}`,
		"":           `{"text":"The log: mcptasks:///t-1/log","type":"text"}`,
	} {
		got := f.legacy(t, version, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{}}}`)
		for _, part := range []string{want, `{"type":"text","text":"<1>"}`, `"n":9007199254740993`} {
			if !strings.Contains(got.body, part) {
				t.Errorf("%q: no %s in %s", version, part, got.body)
			}
		}
	}
}
