//go:build unix

package cluster

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func newTestCluster(t *testing.T, o Options) *Cluster {
	t.Helper()
	c := &Cluster{
		Layout: Layout{Home: t.TempDir(), Name: "test"},
		spec:   Spec{Options: o, Programs: "/programs", Network: blockNetwork(217)},
	}
	if err := c.create(); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNames(t *testing.T) {
	for name, good := range map[string]bool{
		"demo": true, "a": true, "tests-2": true, "": false, "-a": false, "a/b": false, "..": false, "Demo": false,
		strings.Repeat("a", 32): true, strings.Repeat("a", 33): false,
	} {
		if _, err := NewLayout(name); good != (err == nil) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestClustersOfTheSameNameAreTold(t *testing.T) {
	a, b := Layout{Home: "/home/a", Name: "demo"}, Layout{Home: "/home/b", Name: "demo"}
	if a.hostInterface() == b.hostInterface() || a.controlGroup() == b.controlGroup() {
		t.Error("two users' clusters share what the machine has one of")
	}
	// The kernel's limit for interface names.
	if n := a.hostInterface(); len(n) > 15 {
		t.Errorf("%s is too long for an interface", n)
	}
}

func TestExtraArguments(t *testing.T) {
	c := newTestCluster(t, Options{Mode: Full, ExtraArgs: map[string][]string{scheduler: {"--v=4"}, kubelet: {"--v=5"}}})
	for _, component := range c.plan().Components {
		want := map[string]string{scheduler: "--v=4", kubelet: "--v=5"}[component.Name]
		if got := component.Args[len(component.Args)-1]; want != "" && got != want {
			t.Errorf("%s ends with argument %s, want %s", component.Name, got, want)
		}
		if want == "" && slices.ContainsFunc(component.Args, func(a string) bool { return strings.HasPrefix(a, "--v=") }) {
			t.Errorf("%s got another component's argument: %v", component.Name, component.Args)
		}
	}
}

func TestEtcdIsDurableUnlessAskedOtherwise(t *testing.T) {
	for _, unsafe := range []bool{true, false} {
		c := newTestCluster(t, Options{Mode: ControlPlane, UnsafeNoFsync: unsafe})
		if got := slices.Contains(c.etcd().Args, "--unsafe-no-fsync"); got != unsafe {
			t.Errorf("unsafe wanted %t, got %t", unsafe, got)
		}
	}
}

func TestControlPlaneIsOnLoopbackOnly(t *testing.T) {
	n, err := loopbackNetwork(Ports{})
	if err != nil {
		t.Fatal(err)
	}
	c := newTestCluster(t, Options{Mode: ControlPlane})
	c.spec.Network = n
	plan := c.plan()
	if len(plan.Components) != 3 {
		t.Errorf("%d components, want 3", len(plan.Components))
	}
	if !slices.Contains(c.kubeAPIServer().Args, "--bind-address=127.0.0.1") {
		t.Error("the API server isn't bound to the loopback address")
	}
	for _, component := range plan.Components {
		if component.Lock == "" {
			t.Errorf("%s couldn't be found after its supervisor ended", component.Name)
		}
		for _, arg := range component.Args {
			if strings.Contains(arg, "0.0.0.0") {
				t.Errorf("%s has argument %s", component.Name, arg)
			}
		}
	}
}

func TestNodeConfigIsWellFormed(t *testing.T) {
	c := newTestCluster(t, Options{Mode: Full})
	if err := c.writeNodeConfig(overlay, "/cni"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubelet.yaml", "kube-proxy.yaml", "cni/10-pods.conflist"} {
		text, err := os.ReadFile(c.config(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(text, &map[string]any{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestManifests(t *testing.T) {
	var out bytes.Buffer
	c := newTestCluster(t, Options{Mode: Full})
	if err := c.renderObjects(&out); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for document := range strings.SplitSeq(out.String(), "\n---\n") {
		var o struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		if o.Kind != "" {
			kinds[o.Kind]++
		}
	}
	if kinds["PersistentVolume"] != volumeCount || kinds["StorageClass"] != 1 || kinds["Deployment"] != 1 || kinds["Service"] != 1 {
		t.Errorf("the manifests have %v", kinds)
	}
}

func TestKubeconfigHasAllItNeeds(t *testing.T) {
	c := newTestCluster(t, Options{Mode: Full})
	if err := c.writeCredentials(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(c.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server    string
				Authority []byte `json:"certificate-authority-data"`
			}
		}
		Users []struct {
			User struct {
				Certificate []byte `json:"client-certificate-data"`
				Key         []byte `json:"client-key-data"`
			}
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	if len(config.Clusters) != 1 || len(config.Users) != 1 {
		t.Fatalf("%d clusters and %d users", len(config.Clusters), len(config.Users))
	}
	if got, want := config.Clusters[0].Cluster.Server, c.spec.Network.APIServer(); got != want {
		t.Errorf("the server is %s, want %s", got, want)
	}
	for what, pem := range map[string][]byte{
		"authority":   config.Clusters[0].Cluster.Authority,
		"certificate": config.Users[0].User.Certificate,
		"key":         config.Users[0].User.Key,
	} {
		if !bytes.HasPrefix(pem, []byte("-----BEGIN ")) {
			t.Errorf("the %s is %q", what, pem)
		}
	}
	if info, err := os.Stat(c.Kubeconfig()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	if files, _ := filepath.Glob(c.config("*.kubeconfig")); len(files) != 4 {
		t.Errorf("components' kubeconfigs: %v", files)
	}
}

func TestSpecIsReadAsWritten(t *testing.T) {
	c := newTestCluster(t, Options{Mode: Full, ExtraArgs: map[string][]string{kubelet: {"--v=5"}}})
	if _, exists, err := readSpec(c.Layout); exists || err != nil {
		t.Fatalf("before it is written: %t, %v", exists, err)
	}
	if err := writeSpec(c.Layout, c.spec); err != nil {
		t.Fatal(err)
	}
	got, exists, err := readSpec(c.Layout)
	if err != nil || !exists || !got.equal(c.spec) {
		t.Errorf("read %+v, %t, %v; want %+v", got, exists, err, c.spec)
	}
	neighbour := Layout{Home: c.Home, Name: "other"}
	if others := otherSpecs(neighbour); len(others) != 1 || !others[0].equal(c.spec) {
		t.Errorf("a neighbour sees %+v", others)
	}
	if others := otherSpecs(c.Layout); len(others) != 0 {
		t.Errorf("the cluster sees itself as another: %+v", others)
	}
}
