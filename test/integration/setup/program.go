//go:build unix

package setup

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience is how long anything may take in the tests of running programs, on a busy machine too.
const Patience = 2 * time.Minute

// Program is the product's program, built from this checkout.
type Program struct{ path string }

// Build builds the program into a directory. The working directory is that of a package two levels below test.
func Build(ctx context.Context, dir string) (Program, error) {
	p := Program{filepath.Join(dir, "mcptasks")}
	build := exec.CommandContext(ctx, "go", "build", "-o", p.path, "./cmd/mcptasks")
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return p, fmt.Errorf("build mcptasks: %w\n%s", err, out)
	}
	return p, nil
}

// Process is one run of the program.
type Process struct {
	// Log is what it says.
	Log *Log

	t               *testing.T
	cmd             *exec.Cmd
	health, metrics string
	ended           chan struct{}
	result          error
}

// Start starts the program with the cluster and the rights of a kubeconfig. It ends with the test, which fails if the program
// lacked a right.
func (p Program) Start(t *testing.T, kubeconfig, command string, args ...string) *Process {
	t.Helper()
	s := p.StartWithout(t, kubeconfig, command, args...)
	t.Cleanup(func() {
		// Whatever it has to do, its role allows.
		if log := s.Log.String(); strings.Contains(log, "forbidden: User") {
			t.Errorf("the %s lacks rights:\n%s", command, log)
		}
	})
	return s
}

// StartWithout is Start for a program that may lack rights.
func (p Program) StartWithout(t *testing.T, kubeconfig, command string, args ...string) *Process {
	t.Helper()
	s := &Process{Log: &Log{}, t: t, health: FreeAddress(t), metrics: FreeAddress(t), ended: make(chan struct{})}
	args = append([]string{
		command, "--health-address", s.health, "--metrics-address", s.metrics, "--log-format", "text",
	}, args...)
	s.cmd = exec.Command(p.path, args...)
	s.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	s.cmd.Stderr = s.Log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s.result = s.cmd.Wait()
		close(s.ended)
	}()
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			t.Logf("the %s (process %d) last said:\n%s", command, s.cmd.Process.Pid, s.Log.tail())
		}
	})
	return s
}

// AwaitReady waits until the program says that it is ready.
func (s *Process) AwaitReady() {
	s.t.Helper()
	Eventually(s.t, "the program is ready", func() bool {
		if s.HasEnded() {
			s.t.Fatalf("the program ended: %v", s.result)
		}
		return s.Ready()
	})
}

// Ready is what the program says of itself now.
func (s *Process) Ready() bool {
	response, err := http.Get("http://" + s.health + "/readyz")
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// Metric sums up a counter or gauge of the program over all its labels; 0 where there is none, or where the program does not
// answer.
func (s *Process) Metric(name string) (sum float64) {
	s.t.Helper()
	response, err := http.Get("http://" + s.metrics + "/metrics")
	if err != nil {
		return 0
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		series, value, _ := strings.Cut(lines.Text(), " ")
		if series, _, _ = strings.Cut(series, "{"); series != name {
			continue
		}
		// A label's value may have spaces: what counts is behind the last one.
		n, err := strconv.ParseFloat(value[strings.LastIndex(value, " ")+1:], 64)
		if err != nil {
			s.t.Fatalf("read the metrics: %v", err)
		}
		sum += n
	}
	if err := lines.Err(); err != nil {
		s.t.Fatalf("read the metrics: %v", err)
	}
	return sum
}

// HasEnded reports whether the program has ended.
func (s *Process) HasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// AwaitEnd waits until the program has ended, and returns how it did.
func (s *Process) AwaitEnd() error {
	s.t.Helper()
	select {
	case <-s.ended:
		return s.result
	case <-time.After(Patience):
		s.t.Fatal("the program does not end")
		return nil
	}
}

// Kill ends the program without warning and waits until it has ended.
func (s *Process) Kill() {
	_ = s.cmd.Process.Kill() // it may have ended already
	<-s.ended
}

// Terminate asks the program to end and waits until it has.
func (s *Process) Terminate() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	if err := s.AwaitEnd(); err != nil {
		s.t.Errorf("the program ended with %v", err)
	}
}

// Pause stops the program from doing anything until Resume, as a machine that is held up does.
func (s *Process) Pause() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
}

// Resume undoes Pause.
func (s *Process) Resume() {
	s.t.Helper()
	s.signal(syscall.SIGCONT)
}

func (s *Process) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("%s to process %d: %v", sig, s.cmd.Process.Pid, err)
	}
}

// Log collects what a program says.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String is all that was said so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// tail is the end of what was said.
func (l *Log) tail() string {
	const lines = 60
	said := strings.SplitAfter(l.String(), "\n")
	return strings.Join(said[max(0, len(said)-lines):], "")
}

// Eventually waits until ok.
func Eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// FreeAddress is an address that was free a moment ago.
func FreeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
