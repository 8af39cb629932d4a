//go:build unix

package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// Network has a cluster's addresses and ports.
type Network struct {
	// Node is the address of the API server, the kubelet and node ports.
	Node netip.Addr `json:"node"`
	// Host is the machine's own address on its link to a full cluster.
	Host netip.Addr `json:"host,omitzero"`
	// Pods and Services are the ranges of their addresses. The machine reaches both in a full cluster.
	Pods     netip.Prefix `json:"pods,omitzero"`
	Services netip.Prefix `json:"services"`
	Ports    Ports        `json:"ports"`
}

// Ports are those of the components. In a full cluster, whose network is its own, they are always the same.
type Ports struct {
	APIServer         int `json:"apiServer"`
	Etcd              int `json:"etcd"`
	EtcdPeer          int `json:"etcdPeer"`
	EtcdMetrics       int `json:"etcdMetrics"`
	ControllerManager int `json:"controllerManager"`
	Scheduler         int `json:"scheduler,omitempty"`
	Kubelet           int `json:"kubelet,omitempty"`
	KubeletHealth     int `json:"kubeletHealth,omitempty"`
	ProxyHealth       int `json:"proxyHealth,omitempty"`
	ProxyMetrics      int `json:"proxyMetrics,omitempty"`
}

var usualPorts = Ports{
	APIServer: 6443, Etcd: 2379, EtcdPeer: 2380, EtcdMetrics: 2381, ControllerManager: 10257, Scheduler: 10259,
	Kubelet: 10250, KubeletHealth: 10248, ProxyHealth: 10256, ProxyMetrics: 10249,
}

// APIServer is the address that clients use.
func (n Network) APIServer() string {
	return "https://" + netip.AddrPortFrom(n.Node, uint16(n.Ports.APIServer)).String()
}

// DNS is the address of the cluster's DNS service: by custom the tenth.
func (n Network) DNS() netip.Addr { return nth(n.Services, 10) }

// APIService is the address of the service "kubernetes".
func (n Network) APIService() netip.Addr { return nth(n.Services, 1) }

func nth(p netip.Prefix, n int) netip.Addr {
	a := p.Masked().Addr()
	for range n {
		a = a.Next()
	}
	return a
}

// loopbackNetwork is the network of a control plane alone. Ports of an earlier start are used again if they are free.
func loopbackNetwork(earlier Ports) (Network, error) {
	n := Network{
		Node:     netip.AddrFrom4([4]byte{127, 0, 0, 1}),
		Services: netip.MustParsePrefix("10.96.0.0/16"),
		Ports:    earlier,
	}
	p := &n.Ports
	// All are held open until the last is found, so that none is found twice.
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	for _, port := range []*int{&p.APIServer, &p.Etcd, &p.EtcdPeer, &p.EtcdMetrics, &p.ControllerManager} {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
		if err != nil {
			l, err = net.Listen("tcp", "127.0.0.1:0")
		}
		if err != nil {
			return n, fmt.Errorf("find a free port: %w", err)
		}
		listeners = append(listeners, l)
		address, err := netip.ParseAddrPort(l.Addr().String())
		if err != nil {
			return n, fmt.Errorf("find a free port: %w", err)
		}
		*port = int(address.Port())
	}
	return n, nil
}

// blocks are the second bytes of the ranges 10.X.0.0/16 that clusters are made in: one each.
const firstBlock, lastBlock = 200, 249

// freeNetwork finds addresses for a full cluster beside those in use.
func freeNetwork(used []netip.Prefix) (Network, error) {
	for b := firstBlock; b <= lastBlock; b++ {
		n := blockNetwork(byte(b))
		if !n.collides(used) {
			return n, nil
		}
	}
	return Network{}, errors.New("no range 10.200.0.0/16 to 10.249.0.0/16 is free on this machine: remove clusters with down")
}

func blockNetwork(b byte) Network {
	return Network{
		Pods:     netip.PrefixFrom(netip.AddrFrom4([4]byte{10, b, 0, 0}), 17),
		Services: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, b, 128, 0}), 18),
		Host:     netip.AddrFrom4([4]byte{10, b, 255, 1}),
		Node:     netip.AddrFrom4([4]byte{10, b, 255, 2}),
		Ports:    usualPorts,
	}
}

// link is the range of the link between machine and cluster.
func (n Network) link() netip.Prefix { return netip.PrefixFrom(n.Host, 30).Masked() }

// block is the range that all addresses of a full cluster are in.
func (n Network) block() netip.Prefix { return netip.PrefixFrom(n.Host, 16).Masked() }

func (n Network) collides(used []netip.Prefix) bool {
	return slices.ContainsFunc(used, n.block().Overlaps)
}
