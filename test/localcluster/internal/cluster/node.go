//go:build unix

package cluster

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"

	"github.com/mcptasks/mcptasks/test/localcluster/internal/supervise"
)

// Paths inside a full cluster's own view of the file system.
const (
	containerdSocket = "/run/containerd/containerd.sock"
	addressLeases    = "/run/cni/leases"
	podLogs          = "/var/log/pods"
)

// The snapshotters that containerd is used with.
const (
	overlay = "overlayfs"
	// native copies each layer.
	native = "native"
)

// maxPods is high enough for tests with hundreds of Jobs; the range of pod addresses has room for many more.
const maxPods = 500

func (c *Cluster) scheduler() supervise.Component {
	port := c.spec.Network.Ports.Scheduler
	config := c.kubeconfigOf(scheduler)
	return c.component(scheduler, supervise.Probe{URL: loopback("https", port, "/healthz")}, false,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--kubeconfig="+config,
		"--authentication-kubeconfig="+config,
		"--authorization-kubeconfig="+config,
		"--leader-elect=false",
	)
}

func (c *Cluster) containerd() supervise.Component {
	return c.component(containerd, supervise.Probe{Socket: containerdSocket}, true, "--config="+c.config("containerd.toml"))
}

func (c *Cluster) kubelet() supervise.Component {
	ready := supervise.Probe{URL: loopback("http", c.spec.Network.Ports.KubeletHealth, "/healthz")}
	return c.component(kubelet, ready, false,
		"--config="+c.config("kubelet.yaml"),
		"--kubeconfig="+c.kubeconfigOf(kubelet),
		"--hostname-override="+c.Name,
		"--node-ip="+c.spec.Network.Node.String(),
		"--root-dir="+c.path("kubelet"),
		"--cert-dir="+c.path("kubelet", "pki"),
	)
}

func (c *Cluster) proxy() supervise.Component {
	ready := supervise.Probe{URL: loopback("http", c.spec.Network.Ports.ProxyHealth, "/healthz")}
	return c.component(proxy, ready, false, "--config="+c.config("kube-proxy.yaml"))
}

// writeNodeConfig writes the configuration files of what makes the node.
func (c *Cluster) writeNodeConfig(snapshotter, cniPlugins string) error {
	if err := os.MkdirAll(c.config("cni"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(c.config("containerd.toml"), []byte(c.containerdConfig(snapshotter, cniPlugins)), 0o600); err != nil {
		return err
	}
	// Pods with dnsPolicy Default get this; no name server outside can be reached anyway.
	if err := os.WriteFile(c.config("resolv.conf"), []byte("nameserver "+c.spec.Network.DNS().String()+"\n"), 0o644); err != nil {
		return err
	}
	for name, config := range map[string]object{
		"cni/10-pods.conflist": c.cniConfig(),
		"kubelet.yaml":         c.kubeletConfig(snapshotter == overlay),
		"kube-proxy.yaml":      c.proxyConfig(),
	} {
		text, err := yaml.Marshal(config)
		if err == nil && name == "cni/10-pods.conflist" {
			text, err = yaml.YAMLToJSON(text)
		}
		if err == nil {
			err = os.WriteFile(c.config(name), text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

type object = map[string]any

func (c *Cluster) containerdConfig(snapshotter, cniPlugins string) string {
	return fmt.Sprintf(`version = 3
root = %q
state = "/run/containerd"

[grpc]
  address = %q

[plugins.'io.containerd.internal.v1.opt']
  path = "/run/containerd/opt"

[plugins.'io.containerd.nri.v1.nri']
  disable = true

[plugins.'io.containerd.cri.v1.images']
  snapshotter = %q
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = %q

[plugins.'io.containerd.cri.v1.runtime']
  # Root need not have the right to lower a score of the out-of-memory killer, in a CI container for example.
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = [%q]
    conf_dir = %q
`, c.path("containerd"), containerdSocket, snapshotter, c.pauseImage(), cniPlugins, c.config("cni"))
}

// cniConfig connects each pod by a pair of interfaces and a route. No bridge: traffic between pods passes the node's packet
// filter, where services are translated, whatever the kernel's bridge settings are.
func (c *Cluster) cniConfig() object {
	return object{
		"cniVersion": "1.0.0",
		"name":       "pods",
		"plugins": []object{{
			"type": "ptp",
			"ipam": object{
				"type": "host-local",
				// Not kept: after a start none of the pods' interfaces are left.
				"dataDir": addressLeases,
				"ranges":  [][]object{{{"subnet": c.spec.Network.Pods.String()}}},
				"routes":  []object{{"dst": "0.0.0.0/0"}},
			},
		}},
	}
}

// kubeletConfig configures the kubelet. Without a real file system of its own, as inside a container, it can't account for what
// pods store on it.
func (c *Cluster) kubeletConfig(accountStorage bool) object {
	p := c.spec.Network.Ports
	return object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",
		"authentication": object{
			"anonymous": object{"enabled": false},
			"webhook":   object{"enabled": true},
			"x509":      object{"clientCAFile": c.pair(clusterAuthority).Cert},
		},
		"authorization":            object{"mode": "Webhook"},
		"tlsCertFile":              c.pair(kubeletServer).Cert,
		"tlsPrivateKeyFile":        c.pair(kubeletServer).Key,
		"port":                     p.Kubelet,
		"healthzPort":              p.KubeletHealth,
		"clusterDomain":            clusterDomain,
		"clusterDNS":               []string{c.spec.Network.DNS().String()},
		"resolvConf":               c.config("resolv.conf"),
		"containerRuntimeEndpoint": "unix://" + containerdSocket,
		"podLogsDir":               podLogs,
		"volumePluginDir":          c.path("kubelet", "volume-plugins"),
		"maxPods":                  maxPods,
		// The node's machine is somebody's workstation: it isn't tuned for the kubelet, and the kubelet doesn't rule it.
		"cgroupDriver":                  "cgroupfs",
		"cgroupRoot":                    c.controlGroup(),
		"failCgroupV1":                  false,
		"featureGates":                  map[string]bool{splitStreams: true},
		"failSwapOn":                    false,
		"enforceNodeAllocatable":        []string{},
		"localStorageCapacityIsolation": accountStorage,
		"makeIPTablesUtilChains":        false,
		"oomScoreAdj":                   0,
		// Images can't be pulled again, so none is removed, however full the disk is.
		"imageGCHighThresholdPercent": 100,
		"imageGCLowThresholdPercent":  99,
		"evictionHard": map[string]string{
			"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%",
			"imagefs.available": "0%", "imagefs.inodesFree": "0%", "pid.available": "0%",
		},
	}
}

func (c *Cluster) proxyConfig() object {
	p := c.spec.Network.Ports
	return object{
		"apiVersion":         "kubeproxy.config.k8s.io/v1alpha1",
		"kind":               "KubeProxyConfiguration",
		"mode":               "nftables",
		"hostnameOverride":   c.Name,
		"clientConnection":   object{"kubeconfig": c.kubeconfigOf(proxy)},
		"clusterCIDR":        c.spec.Network.Pods.String(),
		"healthzBindAddress": fmt.Sprintf("127.0.0.1:%d", p.ProxyHealth),
		"metricsBindAddress": fmt.Sprintf("127.0.0.1:%d", p.ProxyMetrics),
		"oomScoreAdj":        0,
		// Limits of the whole machine, which are left alone.
		"conntrack": object{"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
	}
}
