//go:build unix

package cluster

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"
)

// dnsNamespace is where the manifest puts cluster DNS.
const dnsNamespace = "kube-system"

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
		return fmt.Errorf("no answer yet: %w", err)
	}
	if want := c.spec.Network.APIService().String(); !slices.Contains(addresses, want) {
		return fmt.Errorf("cluster DNS answers %v for the API server's service, not %s", addresses, want)
	}
	return nil
}
