//go:build unix

package cluster

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, t := range texts {
		all = append(all, netip.MustParsePrefix(t))
	}
	return all
}

func TestFreeNetwork(t *testing.T) {
	for name, test := range map[string]struct {
		used []netip.Prefix
		node string
	}{
		"an empty machine":              {nil, "10.200.255.2"},
		"beside another cluster":        {prefixes("10.200.0.0/16"), "10.201.255.2"},
		"beside an address in a range":  {prefixes("10.200.3.4/32", "10.201.128.0/24"), "10.202.255.2"},
		"with other private ranges":     {prefixes("192.168.0.0/16", "10.0.0.0/9", "172.17.0.0/16"), "10.200.255.2"},
		"with addresses of version 6":   {prefixes("fd00::/8"), "10.200.255.2"},
		"all but the last one are used": {prefixes("10.192.0.0/11", "10.224.0.0/12", "10.240.0.0/13", "10.248.0.0/16"), "10.249.255.2"},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := freeNetwork(test.used)
			if err != nil || n.Node.String() != test.node {
				t.Errorf("the node is %s, %v; want %s", n.Node, err, test.node)
			}
		})
	}
	if n, err := freeNetwork(prefixes("10.0.0.0/8")); err == nil {
		t.Errorf("where 10.0.0.0/8 is used: %+v", n)
	}
}

func TestAddressesOfANetwork(t *testing.T) {
	n := blockNetwork(217)
	for what, pair := range map[string][2]any{
		"API service": {n.APIService(), "10.217.128.1"},
		"DNS":         {n.DNS(), "10.217.128.10"},
		"link":        {n.link(), "10.217.255.0/30"},
		"API server":  {n.APIServer(), "https://10.217.255.2:6443"},
	} {
		if got := fmt.Sprint(pair[0]); got != pair[1] {
			t.Errorf("%s is %s, want %s", what, got, pair[1])
		}
	}
	ranges := []netip.Prefix{n.Pods, n.Services, n.link()}
	for i, a := range ranges {
		if !n.block().Contains(a.Addr()) || n.block().Bits() > a.Bits() {
			t.Errorf("%s isn't in %s", a, n.block())
		}
		for _, b := range ranges[i+1:] {
			if a.Overlaps(b) {
				t.Errorf("%s and %s overlap", a, b)
			}
		}
	}
}

func TestLoopbackPorts(t *testing.T) {
	first, err := loopbackNetwork(Ports{})
	if err != nil {
		t.Fatal(err)
	}
	p := first.Ports
	seen := map[int]bool{}
	for _, port := range []int{p.APIServer, p.Etcd, p.EtcdPeer, p.EtcdMetrics, p.ControllerManager} {
		if port == 0 || seen[port] {
			t.Errorf("the ports aren't five different ones: %+v", p)
		}
		seen[port] = true
	}

	// Clients keep what they know, except where somebody else has taken a port.
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p.Etcd))
	if err != nil {
		t.Skipf("the port was taken by somebody else: %v", err)
	}
	defer func() { _ = l.Close() }()
	second, err := loopbackNetwork(p)
	if err != nil {
		t.Fatal(err)
	}
	if second.Ports.Etcd == p.Etcd {
		t.Errorf("port %d, which is in use, was chosen", p.Etcd)
	}
	if second.Ports.APIServer != p.APIServer {
		t.Errorf("the API server moved from port %d, which is free, to %d", p.APIServer, second.Ports.APIServer)
	}
}
