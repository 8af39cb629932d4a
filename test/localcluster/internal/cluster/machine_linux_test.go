package cluster

import (
	"net/netip"
	"slices"
	"testing"
)

func TestRouteNumber(t *testing.T) {
	// /proc/net/route has 10.200.0.0 like this on the machines we know, all of them little-endian.
	if got := routeNumber("0000C80A"); got != 10<<24|200<<16 {
		t.Errorf("10.200.0.0 is read as %#x", got)
	}
	if got := routeNumber("Destination"); got != 0 {
		t.Errorf("a heading is read as %#x", got)
	}
}

func TestUsedNetworksHasTheMachinesOwn(t *testing.T) {
	used, err := usedNetworks()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(used, netip.MustParsePrefix("127.0.0.0/8")) {
		t.Errorf("the loopback interface's range isn't among %v", used)
	}
	if slices.ContainsFunc(used, func(p netip.Prefix) bool { return p.Bits() == 0 }) {
		t.Errorf("the default route leaves no range free: %v", used)
	}
}
