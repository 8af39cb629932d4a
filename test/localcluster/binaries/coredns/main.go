// Command coredns is the cluster's DNS server: CoreDNS with the few plugins that a cluster of one node needs.
package main

import (
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
)

func main() {
	// The order is that of the plugin chain, not of the Corefile.
	dnsserver.Directives = []string{"errors", "health", "ready", "cache", "kubernetes", "forward"}
	coremain.Run()
}
