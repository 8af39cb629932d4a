package endpoint

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcptasks/mcptasks/test/integration/setup"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// nginxSilence is how long nginx lets an upstream be silent before it gives up on it. Its default is a minute; this is shorter,
// and still longer than the pause between two keep-alives.
const nginxSilence = 20 * time.Second

// nginx is the path of the program: that of the machine, or of Debian's package, which is unpacked for the test and not
// installed.
func nginx(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("nginx"); err == nil {
		return path
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		t.Skip("there is no nginx, and none of Debian's packages to be had: that takes apt-get and root")
	}
	dir := t.TempDir()
	run := func(name string, args ...string) error {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", name, err, out)
		}
		return nil
	}
	download := []string{"download", "-o", "APT::Sandbox::User=root", "nginx"}
	if err := run("apt-get", download...); err != nil {
		// The lists of packages may be missing, or older than the packages.
		if err := run("apt-get", "update"); err != nil {
			t.Fatal(err)
		}
		if err := run("apt-get", download...); err != nil {
			t.Fatal(err)
		}
	}
	packages, err := filepath.Glob(filepath.Join(dir, "nginx_*.deb"))
	if err != nil || len(packages) != 1 {
		t.Fatalf("apt-get downloaded %q, %v", packages, err)
	}
	if err := run("dpkg-deb", "--extract", packages[0], "."); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "usr", "sbin", "nginx")
}

// startNginx puts nginx before a replica, with all its defaults but one, until the test ends. It returns where the replica is
// reached through it.
func startNginx(t *testing.T, r *replica) string {
	t.Helper()
	program, dir, address := nginx(t), t.TempDir(), setup.FreeAddress(t)
	config := fmt.Sprintf(`
daemon off;
user root;
pid nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server {
    listen %s;
    location / {
      proxy_pass %s;
      proxy_read_timeout %ds;
    }
  }
}
`, address, strings.TrimSuffix(r.url, "/mcp"), int(nginxSilence.Seconds()))
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	said := &setup.Log{}
	cmd := exec.Command(program, "-p", dir, "-c", "nginx.conf", "-e", "stderr")
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("nginx said:\n%s", said)
		}
	})
	eventually(t, "nginx answers", func() bool {
		response, err := http.Get("http://" + address + "/mcp")
		if err != nil {
			return false
		}
		return response.Body.Close() == nil
	})
	return "http://" + address + "/mcp"
}

// rawStream opens a stream of subscriptions/listen, to be read line by line.
func rawStream(t *testing.T, c *mcpclient.Client, ids ...string) *bufio.Scanner {
	t.Helper()
	body, header, err := c.Encode("subscriptions/listen", "", map[string]any{"notifications": mcpclient.Filter{TaskIDs: ids}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), setup.Patience)
	t.Cleanup(cancel)
	response, err := c.Send(ctx, body, header)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return bufio.NewScanner(response.Body)
}

// A proxy that buffers what it passes on, and gives up on who is silent, neither holds events back nor cuts streams.
func TestListenThroughNginx_A22(t *testing.T) {
	r := startReplica(t)
	tool(t, "proxied")
	c := r.client(t, tenant, agent)
	awaitTool(t, c, "proxied")
	id := call(t, c, "proxied", nil)
	c.URL = startNginx(t, r)

	lines := rawStream(t, c, id)
	// readTo returns how many comments there were before an event that has these words.
	readTo := func(words string) (comments int) {
		t.Helper()
		for lines.Scan() {
			switch line := lines.Text(); {
			case strings.HasPrefix(line, ":"):
				comments++
			case strings.HasPrefix(line, "data:") && strings.Contains(line, words):
				return comments
			}
		}
		t.Fatalf("the stream ended before an event with %q: %v", words, lines.Err())
		return 0
	}
	readTo("notifications/subscriptions/acknowledged")
	readTo(`"status":"working"`)
	setStatus(t, id, says("Half of it."))
	readTo("Half of it.")
	// Nothing happens for longer than nginx would wait: two keep-alives are that far apart from what was before them.
	for comments := 0; comments < 3; {
		if !lines.Scan() {
			t.Fatalf("the stream was cut: %v", lines.Err())
		}
		if strings.HasPrefix(lines.Text(), ":") {
			comments++
		}
	}
	setStatus(t, id, completed(done))
	readTo(`"status":"completed"`)

	r.Terminate()
	var last string
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
			last = data
		}
	}
	var result struct{ Result json.RawMessage }
	if err := json.Unmarshal([]byte(last), &result); err != nil || result.Result == nil || lines.Err() != nil {
		t.Errorf("the stream ended with %q (%v) instead of its result", last, lines.Err())
	}
}
