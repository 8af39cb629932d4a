package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// fromMessage takes the result from the termination message, and with a schema as a JSON object.
func (b *toolBuilder) fromMessage(outputSchema string) *toolBuilder {
	b.tool.Spec.Result.From = v1alpha1.ResultFromTerminationMessage
	if outputSchema != "" {
		b.tool.Spec.OutputSchema = &apiextensionsv1.JSON{Raw: []byte(outputSchema)}
	}
	return b
}

// logURI is the link to the log that a result has; empty: it has none.
func logURI(r *mcpclient.Result) string {
	for _, block := range r.Content {
		if block.Type == "resource_link" {
			return block.URI
		}
	}
	return ""
}

// readPage reads one page of a log, without its mark, and the URI of the next one.
func (x *tenant) readPage(c *mcpclient.Client, uri string) (text, next string, err error) {
	x.t.Helper()
	raw, err := c.Request(x.ctx, "resources/read", uri, map[string]any{"uri": uri})
	if err != nil {
		return "", "", err
	}
	var result struct {
		Contents []struct {
			URI, Text string
			Meta      map[string]string `json:"_meta"`
		}
	}
	x.must(json.Unmarshal(raw, &result))
	if len(result.Contents) != 1 || result.Contents[0].URI != uri {
		x.t.Fatalf("resources/read of %s: %.200s", uri, raw)
	}
	page := result.Contents[0]
	next = page.Meta["mcptasks.dev/next"]
	return strings.TrimSuffix(page.Text, "\n[The log goes on in "+next+"]"), next, nil
}

// readLog reads all pages of a log.
func (x *tenant) readLog(c *mcpclient.Client, uri string) string {
	x.t.Helper()
	var all strings.Builder
	for uri != "" {
		text, next, err := x.readPage(c, uri)
		x.must(err)
		all.WriteString(text)
		uri = next
	}
	return all.String()
}

// missing is the mark of a text that was cut.
var missing = regexp.MustCompile(`\[The first (\d+) of (\d+) bytes of the output are missing\.\]`)

// TestJob_B18_LogThatIsRotated prints 66 MB in half a minute, which the kubelet rotates at 10 MiB, and a last line. That line is
// in the result, with a mark before it and a link to all that the node still has.
func TestJob_B18_LogThatIsRotated(t *testing.T) {
	t.Parallel()
	const line = "0123456789 the quick brown fox jumps over the lazy dog\n"
	const printed = 1_200_000 * len(line)
	x := newTenant(t)
	x.offer(tool("spew", "spew", "--bytes="+strconv.Itoa(printed), "--seconds=30", "--pattern="+line, "--last=RESULT 42\n").
		resultLimit("16Ki"))
	c := x.replicas(1)[0]
	task := x.wait(c, x.call(c, "spew", nil))
	if task.Status != "completed" || task.Result == nil || task.Result.IsError {
		t.Fatalf("the task is %s (%s), result %+v", task.Status, task.StatusMessage, task.Result)
	}
	text := task.Result.Text()
	mark := missing.FindStringSubmatch(text)
	if mark == nil || !strings.HasSuffix(text, "\nRESULT 42") {
		t.Fatalf("the result begins with %.200q and ends with %q", text, text[max(0, len(text)-50):])
	}
	kept, err := strconv.Atoi(mark[2])
	x.must(err)
	if kept >= printed {
		t.Errorf("the node has all %d bytes: nothing was rotated, and nothing is tested", kept)
	}
	log := x.readLog(c, logURI(task.Result))
	if !strings.HasSuffix(log, "\nRESULT 42\n") || len(log) < kept-1 || len(log) > kept+1 {
		t.Errorf("the log has %d bytes and ends with %q, the mark says %d", len(log), log[max(0, len(log)-50):], kept)
	}
}

// TestJobLog reads the log of a task by the link in its result: all of it, byte for byte, by its owner alone, and only as long
// as the Job is there.
func TestJobLog(t *testing.T) {
	t.Parallel()
	x, other := newTenant(t), newTenant(t)
	const line = "0123456789 äöü\n"
	x.offer(tool("spew", "spew", "--bytes=600000", "--pattern="+line).resultLimit("1Ki"))
	x.offer(tool("greet", "greet", "--name=you"))
	c := x.replicas(1)[0]
	id := x.call(c, "spew", nil)
	task := x.wait(c, id)
	uri := logURI(task.Result)
	if uri != "mcptasks:///"+id+"/log" || !missing.MatchString(task.Result.Text()) {
		t.Fatalf("the result is %+v, want one with a mark and a link", task.Result)
	}
	want := strings.Repeat(line, 600000/len(line)+1)[:600000]
	if log := x.readLog(c, uri); log != want {
		t.Errorf("the log has %d bytes, or other ones, want %d", len(log), len(want))
	}

	foreign, theirs := (*mcpclient.Error)(nil), other.replicas(1)[0]
	if _, _, err := other.readPage(theirs, uri); !errors.As(err, &foreign) || foreign.Code != -32602 ||
		foreign.Message != "Resource not found" {
		t.Errorf("a foreign log: %v", err)
	}

	x.removeJob(id)
	gone := (*mcpclient.Error)(nil)
	if _, _, err := x.readPage(c, uri); !errors.As(err, &gone) || gone.Code != -32602 ||
		!strings.Contains(gone.Message, "The log is gone") {
		t.Errorf("a log whose Job is gone: %v", err)
	}
	if after, err := c.Get(x.ctx, id); err != nil || after.Result == nil || after.Result.Text() != task.Result.Text() {
		t.Errorf("without its Job the task is %+v (%v)", after, err)
	}

	if short := x.wait(c, x.call(c, "greet", nil)); logURI(short.Result) != "" {
		t.Errorf("a result that is all of the log links to it: %+v", short.Result)
	}
}

// TestJobErrorOutput fails with a reason on stderr and a megabyte on stdout after it: both are in the text, the reason because
// the cluster keeps the streams apart.
func TestJobErrorOutput(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("spew", "spew", "--first=no such table\n", "--bytes=1048576").properties("code integer").resultLimit("2Ki"))
	c := x.replicas(1)[0]
	text := x.wait(c, x.call(c, "spew", map[string]any{"code": 3})).Result.Text()
	const head = "The tool exited with code 3. Its error output:\n\nno such table\n\nIts output:\n\n[The first "
	if !strings.HasPrefix(text, head) || !strings.Contains(text, "lazy dog.") {
		t.Errorf("the result is %q", text)
	}
	good := x.wait(c, x.call(c, "spew", map[string]any{"code": 0})).Result
	if good.IsError || strings.Contains(good.Text(), "no such table") {
		t.Errorf("of a tool that succeeded: %+v", good)
	}
}

// TestJob_B19_TerminationMessages are of about the size that the kubelet keeps: whole, or said to be too large.
func TestJob_B19_TerminationMessages(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	const head, tail = `{"text":"`, `"}`
	const schema = `{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}`
	x.offer(tool("object", "spew", "--channel=/dev/termination-log").
		properties("bytes integer", "pattern string").fromMessage(schema))
	x.offer(tool("text", "spew", "--channel=/dev/termination-log").properties("bytes integer", "pattern string").fromMessage(""))
	c := x.replicas(1)[0]
	for _, size := range []int{4095, 4096, 4097, 20000} {
		object := head + strings.Repeat("x", size-len(head)-len(tail)) + tail
		task := x.wait(c, x.call(c, "object", map[string]any{"bytes": size, "pattern": object}))
		switch r := task.Result; {
		case size <= 4096 && (r.IsError || string(r.StructuredContent) != object):
			t.Errorf("%d bytes: the result is %.300q", size, r.Text())
		case size > 4096 && (!r.IsError || !strings.Contains(r.Text(), "Kubernetes keeps only 4096 bytes")):
			t.Errorf("%d bytes: the result is %.300q", size, r.Text())
		}
	}
	// A character of two bytes lies across the limit.
	text := x.wait(c, x.call(c, "text", map[string]any{"bytes": 5001, "pattern": "é"})).Result.Text()
	if !strings.Contains(text, "all of the 4096 bytes") || strings.Count(text, "é") < 2046 {
		t.Errorf("the result is %.200q", text)
	}
}

// TestJobOutputOfAnyKind: whatever a program prints, the result is valid and has what can be shown.
func TestJobOutputOfAnyKind(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.offer(tool("spew", "spew").properties("bytes integer", "pattern string"))
	x.offer(tool("binary", "spew", "--bytes=4096", "--hex=fffe011b5b33316d"))
	c := x.replicas(1)[0]
	for name, test := range map[string]struct {
		tool      string
		arguments any
		want      string
	}{
		"nothing at all":              {"spew", map[string]any{"bytes": 0}, "It wrote no output."},
		"a megabyte without line end": {"spew", map[string]any{"bytes": 1 << 20, "pattern": "x"}, strings.Repeat("x", 256<<10)},
		"quotes and escapes":          {"spew", map[string]any{"bytes": 400, "pattern": `"\\<`}, strings.Repeat(`"\\<`, 100)},
		"not UTF-8":                   {"binary", nil, "\uFFFD\uFFFD\x01\x1b[31m"},
	} {
		t.Run(name, func(t *testing.T) {
			y := *x
			y.t = t
			task := y.wait(c, y.call(c, test.tool, test.arguments))
			if task.Status != "completed" || task.Result == nil || task.Result.IsError ||
				!strings.Contains(task.Result.Text(), test.want) {
				t.Errorf("the task is %s (%s), result %.200s", task.Status, task.StatusMessage, fmt.Sprint(task.Result))
			}
		})
	}
}
