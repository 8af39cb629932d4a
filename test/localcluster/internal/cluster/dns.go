//go:build unix

package cluster

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"
)

// dnsNamespace is where the manifest puts cluster DNS.
const dnsNamespace = "kube-system"

//go:embed manifests/coredns.yaml
var dnsManifest string

var dnsTemplate = template.Must(template.New("coredns.yaml").Parse(dnsManifest))

// applyDNS makes the objects of the cluster's DNS.
func (c *Cluster) applyDNS(ctx context.Context) error {
	var manifest bytes.Buffer
	err := dnsTemplate.Execute(&manifest, map[string]string{
		"Image":   c.systemImage(coredns),
		"Domain":  clusterDomain,
		"Address": c.spec.Network.DNS().String(),
	})
	if err != nil {
		return err
	}
	if err := c.apply(ctx, &manifest); err != nil {
		return fmt.Errorf("apply cluster DNS: %w", err)
	}
	return nil
}

// apply makes the objects of a manifest.
func (c *Cluster) apply(ctx context.Context, manifest io.Reader) error {
	cmd := exec.CommandContext(ctx, filepath.Join(c.spec.Programs, "kubectl"), "--kubeconfig", c.Kubeconfig(),
		"apply", "--server-side", "--force-conflicts", "--filename", "-")
	cmd.Stdin = manifest
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// dnsAnswers looks the API server's service up as a pod would. The answer comes through everything a pod and a service need:
// kubelet, containerd, pod network, kube-proxy.
func (c *Cluster) dnsAnswers(ctx context.Context) error {
	server := net.JoinHostPort(c.spec.Network.DNS().String(), "53")
	resolver := &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server)
		},
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	addresses, err := resolver.LookupHost(ctx, "kubernetes.default.svc."+clusterDomain+".")
	if err != nil {
		return err
	}
	if want := c.spec.Network.APIService().String(); !slices.Contains(addresses, want) {
		return fmt.Errorf("cluster DNS answers %v for the API server's service, not %s", addresses, want)
	}
	return nil
}
