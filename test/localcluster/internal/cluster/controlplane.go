//go:build unix

package cluster

import (
	"fmt"
	"path/filepath"
	"reflect"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/supervise"
)

// Names of components: those of their programs.
const (
	etcd              = "etcd"
	kubeAPIServer     = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	containerd        = "containerd"
	kubelet           = "kubelet"
	proxy             = "kube-proxy"
)

const clusterDomain = "cluster.local"

// plan lists what the cluster runs.
func (c *Cluster) plan() supervise.Plan {
	p := supervise.Plan{
		StateFile:  c.stateFile(),
		HoldDir:    c.holdDir(),
		Components: []supervise.Component{c.etcd(), c.kubeAPIServer(), c.controllerManager()},
	}
	if c.spec.Mode == Full {
		p.Components = append(p.Components, c.scheduler(), c.containerd(), c.kubelet(), c.proxy())
	}
	return p
}

// planned says whether the cluster was started with the plan that it would be started with now.
func (c *Cluster) planned() bool {
	p, err := supervise.ReadPlan(c.planFile())
	return err == nil && reflect.DeepEqual(p, c.plan())
}

// component completes what all components have in common.
func (c *Cluster) component(name string, ready supervise.Probe, gate bool, args ...string) supervise.Component {
	s := supervise.Component{
		Name:  name,
		Path:  filepath.Join(c.spec.Programs, name),
		Args:  append(args, c.spec.ExtraArgs[name]...),
		Log:   c.log(name),
		Ready: ready,
		Gate:  gate,
	}
	if c.spec.Mode == ControlPlane {
		s.Lock = c.componentLock(name)
	} else {
		// Containerd looks for its shim, and all of them for the distribution's tools.
		s.Env = []string{"PATH=" + c.spec.Programs + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	}
	return s
}

func loopback(scheme string, port int, path string) string {
	return fmt.Sprintf("%s://127.0.0.1:%d%s", scheme, port, path)
}

func (c *Cluster) etcd() supervise.Component {
	p := c.spec.Network.Ports
	server, authority := c.pair(etcdServer), c.pair(etcdAuthority).Cert
	client, peer := loopback("https", p.Etcd, ""), loopback("https", p.EtcdPeer, "")
	args := []string{
		"--name=" + c.Name,
		"--data-dir=" + c.path("etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + c.Name + "=" + peer,
		"--listen-metrics-urls=" + loopback("http", p.EtcdMetrics, ""),
		"--client-cert-auth",
		"--trusted-ca-file=" + authority,
		"--cert-file=" + server.Cert,
		"--key-file=" + server.Key,
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file=" + authority,
		"--peer-cert-file=" + server.Cert,
		"--peer-key-file=" + server.Key,
		"--log-level=warn",
	}
	if c.spec.UnsafeNoFsync {
		args = append(args, "--unsafe-no-fsync")
	}
	return c.component(etcd, supervise.Probe{URL: loopback("http", p.EtcdMetrics, "/readyz")}, true, args...)
}

// splitStreams is the feature gate by which stderr can be read apart from stdout. It is off by default; where it is, nothing else
// changes by it.
const splitStreams = "PodLogsQuerySplitStreams"

func (c *Cluster) kubeAPIServer() supervise.Component {
	n := c.spec.Network
	signing, verifying := c.signingKey()
	authority := c.pair(clusterAuthority).Cert
	args := []string{
		fmt.Sprintf("--secure-port=%d", n.Ports.APIServer),
		"--advertise-address=" + n.Node.String(),
		"--tls-cert-file=" + c.pair(apiServer).Cert,
		"--tls-private-key-file=" + c.pair(apiServer).Key,
		"--client-ca-file=" + authority,
		"--etcd-servers=" + loopback("https", n.Ports.Etcd, ""),
		"--etcd-cafile=" + c.pair(etcdAuthority).Cert,
		"--etcd-certfile=" + c.pair(etcdClient).Cert,
		"--etcd-keyfile=" + c.pair(etcdClient).Key,
		"--service-cluster-ip-range=" + n.Services.String(),
		"--service-account-issuer=https://kubernetes.default.svc." + clusterDomain,
		"--service-account-signing-key-file=" + signing,
		"--service-account-key-file=" + verifying,
		"--requestheader-client-ca-file=" + c.pair(proxyAuthority).Cert,
		"--requestheader-allowed-names=" + proxyClient,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + c.pair(proxyClient).Cert,
		"--proxy-client-key-file=" + c.pair(proxyClient).Key,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--feature-gates=" + splitStreams + "=true",
	}
	switch c.spec.Mode {
	case ControlPlane:
		// The endpoints of the service "kubernetes" can't be loopback addresses; without pods nobody misses them.
		args = append(args, "--bind-address=127.0.0.1", "--endpoint-reconciler-type=none")
	case Full:
		args = append(args,
			"--bind-address=0.0.0.0",
			"--kubelet-preferred-address-types=InternalIP",
			"--kubelet-certificate-authority="+authority,
			"--kubelet-client-certificate="+c.pair(apiServerKubelet).Cert,
			"--kubelet-client-key="+c.pair(apiServerKubelet).Key,
		)
	}
	ready := supervise.Probe{URL: loopback("https", n.Ports.APIServer, "/readyz"), CA: authority}
	return c.component(kubeAPIServer, ready, true, args...)
}

func (c *Cluster) controllerManager() supervise.Component {
	port := c.spec.Network.Ports.ControllerManager
	config := c.kubeconfigOf(controllerManager)
	ca := c.pair(clusterAuthority)
	signing, _ := c.signingKey()
	args := []string{
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--kubeconfig=" + config,
		"--authentication-kubeconfig=" + config,
		"--authorization-kubeconfig=" + config,
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + signing,
		"--root-ca-file=" + ca.Cert,
		"--cluster-signing-cert-file=" + ca.Cert,
		"--cluster-signing-key-file=" + ca.Key,
	}
	return c.component(controllerManager, supervise.Probe{URL: loopback("https", port, "/healthz")}, false, args...)
}
